"""Programs that a test starts and then interrupts, whatever its own run was told to ignore."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

_NUMBERS = (signal.SIGINT, signal.SIGHUP)


@pytest.fixture
def signals_heard() -> Iterator[None]:
    """Programs that the test starts hear the signals that this run was told to ignore.

    A script's background job ignores SIGINT and what runs under nohup ignores SIGHUP; programs inherit that, and ours
    respect it. A signal that is handled here, if only by nothing, has its default in a program that is started.
    """
    ignored = [number for number in _NUMBERS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, _nothing)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def _nothing(number: int, frame: FrameType | None) -> None:
    pass
