"""An interrupted run of the suite: what ends it at once, and what does not."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from drakit_kind.conformance import runs
from drakit_kind.interrupts import end_in_order_on_signals

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _ENDING}
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("first", _ENDING)
@pytest.mark.parametrize(
    ("second", "sent"),
    [
        (signal.SIGINT, [signal.SIGINT, signal.SIGKILL]),
        (signal.SIGTERM, [signal.SIGINT]),
        (signal.SIGHUP, [signal.SIGINT]),
    ],
)
def test_a_suite_that_takes_away_what_it_made_is_ended_at_once_by_Ctrl_C_alone(
    first: signal.Signals, second: signal.Signals, sent: list[signal.Signals], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed terminal says so twice, and a CI system goes on from SIGINT to SIGTERM within seconds."""
    said: list[signal.Signals] = []
    arriving = [first, second]

    class Suite:
        pid = 1

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def wait(self, timeout: float | None = None) -> int:
            if arriving:
                signal.raise_signal(arriving.pop(0))
            return 0

    def send(_: int, number: signal.Signals) -> None:
        said.append(number)

    fake: Any = Suite
    monkeypatch.setattr(subprocess, "Popen", fake)
    monkeypatch.setattr(os, "killpg", send)
    end_in_order_on_signals()
    with pytest.raises(KeyboardInterrupt):
        runs._ended(["pytest"])
    assert said == sent
    for number in _ENDING:
        signal.raise_signal(number)  # what was seen is still to be written
