"""Whoever is interrupted knows what it has started by then, and is interrupted once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from drakit_kind.interrupts import end_in_order_on_signals, held_back

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _raised() -> Iterator[None]:
    """SIGINT raises here and the others are as in a program that was just started, whatever this run was told."""
    before = {number: signal.getsignal(number) for number in _ENDING}
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("first", _ENDING)
def test_what_comes_after_the_first_signal_cuts_no_clean_up_off(first: signal.Signals) -> None:
    """A closed terminal says so twice, and so does who is impatient."""
    end_in_order_on_signals()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(first)
    for number in _ENDING:
        signal.raise_signal(number)
    with held_back():
        signal.raise_signal(signal.SIGINT)
    # Handled, not ignored: programs that the clean-up starts would inherit that.
    assert all(callable(signal.getsignal(number)) for number in _ENDING)


def test_signals_that_come_while_something_starts_interrupt_once() -> None:
    end_in_order_on_signals()

    def start() -> None:
        with held_back():
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGHUP)

    with pytest.raises(KeyboardInterrupt):
        start()
    signal.raise_signal(signal.SIGHUP)


@pytest.mark.parametrize("number", _ENDING)
def test_what_this_program_was_told_to_ignore_does_not_end_it(number: signal.Signals) -> None:
    """nohup ignores SIGHUP, and a script's background job SIGINT."""
    signal.signal(number, signal.SIG_IGN)
    end_in_order_on_signals()
    signal.raise_signal(number)
    assert signal.getsignal(number) is signal.SIG_IGN


def test_an_interrupt_is_raised_at_the_end_of_the_block_and_as_ever_after_it() -> None:
    done = []

    def start() -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")
        done.append("more")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["the rest of the block"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_error_of_the_block_is_not_lost_in_an_interrupt() -> None:
    def start() -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            raise FileNotFoundError("no such program")

    with pytest.raises(KeyboardInterrupt) as caught:
        start()
    assert isinstance(caught.value.__context__, FileNotFoundError)


def test_what_was_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held_back():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_thread_that_gets_no_signals_holds_none_back() -> None:
    done = []

    def work() -> None:
        with held_back():
            done.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert done == [signal.default_int_handler]
