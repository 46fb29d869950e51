"""What a command tells while it works for longer than people like to wait in silence."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

_SILENCE = 2.0


class Waiting:
    """Writes how far the work is to stderr, every two seconds and not before."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._told = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        """Show that ``done`` of so many are done."""
        if done < of and time.monotonic() - self._told > _SILENCE:
            self._told = time.monotonic()
            click.echo(f"{self._what}: {done} of {of}", err=True)


@contextmanager
def told_if_long(what: str) -> Iterator[None]:
    """Write ``what`` to stderr if the block takes longer than two seconds."""
    timer = threading.Timer(_SILENCE, click.echo, (what,), {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
