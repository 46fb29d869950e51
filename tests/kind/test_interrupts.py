"""Whoever is interrupted while it starts something knows afterwards what it has started."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from drakit_kind.interrupts import held_back


@pytest.fixture(autouse=True)
def _raised() -> Iterator[None]:
    """SIGINT raises here, whatever this run was told."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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
