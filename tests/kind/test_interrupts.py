"""Whoever is interrupted knows what it has started by then, and is interrupted once."""

from __future__ import annotations

import asyncio
import selectors
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from drakit_client.processes.ending_signals import run_until_told
from drakit_kind.interrupts import end_in_order_on_signals, held_back

_SECONDS = 20.0
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


@pytest.mark.parametrize("number", _ENDING)
def test_a_signal_in_the_middle_of_a_loops_step_lets_the_step_end(number: signal.Signals) -> None:
    """As asyncio's own steps do: between looking at a future and ending it, nobody else may end it."""
    problems: list[object] = []
    ended: list[str] = []

    async def work() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: problems.append(context))
        connected = loop.create_future()

        def connect() -> None:
            assert not connected.done()
            signal.raise_signal(number)
            connected.set_result(None)

        loop.call_soon(connect)
        try:
            await connected
            await asyncio.sleep(_SECONDS)
        finally:
            signal.raise_signal(number)  # who is impatient does not cut this off
            await asyncio.sleep(0.01)
            ended.append("in order")

    end_in_order_on_signals()
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        run_until_told(work())
    assert (problems, ended) == ([], ["in order"])
    assert signal.getsignal(number) is before
    signal.raise_signal(number)  # heard already: nothing cuts the rest of the clean-up off


def test_a_signal_just_before_a_loop_waits_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python hears it before the next line of Python, which is after the wait."""
    select = selectors.DefaultSelector.select

    def told_in_another_thread(self: selectors.DefaultSelector, timeout: float | None = None) -> object:
        # The wait itself is not woken, as by a signal that came just before it.
        if timeout is None or timeout > 1:
            threading.Thread(target=signal.raise_signal, args=(signal.SIGINT,)).start()
        return select(self, timeout)

    monkeypatch.setattr(selectors.DefaultSelector, "select", told_in_another_thread)

    async def work() -> None:
        await asyncio.sleep(_SECONDS)

    end_in_order_on_signals()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_until_told(work())
    assert time.monotonic() - began < _SECONDS / 2


def test_work_that_nobody_interrupts_has_its_result_and_its_errors() -> None:
    async def work(result: int) -> int:
        if not result:
            raise asyncio.CancelledError("its own")
        return result

    assert run_until_told(work(7)) == 7
    with pytest.raises(asyncio.CancelledError, match="its own"):
        run_until_told(work(0))
