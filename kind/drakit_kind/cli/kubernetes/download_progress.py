"""How a download looks while it runs: a line for each file, and a bar on a terminal, else a line now and then."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

from drakit_kind.cli.kubernetes.live_progress import LiveProgress, mib

_LINE_SECONDS = 10.0  # between two lines where there is no terminal


class DownloadProgress(LiveProgress):
    """Tells a user how a download goes on; to be used in a ``with`` block."""

    def __init__(self, console: Console | None = None) -> None:
        received = DownloadColumn(binary_units=True)
        super().__init__(console, TextColumn("{task.description}"), BarColumn(), received, TimeRemainingColumn())
        self._name = ""
        self._line_at = 0.0

    def waiting(self, process: int) -> None:
        """Another process works on the same; this one waits for it."""
        self._say(f"process {process} is building or downloading this already; waiting for it")

    def started(self, name: str, number: int, of: int) -> None:
        """Show which file is being downloaded: the ``number``-th ``of`` those that are missing."""
        if not self._console.is_terminal:
            self._say(f"downloading {name} ({number} of {of})")
        self._show(f"{name} ({number} of {of})")
        self._name, self._line_at = name, time.monotonic()

    def received(self, size: int, of: int | None) -> None:
        """So many bytes of it have come, ``of`` so many."""
        if self._task is not None:
            self._live.update(self._task, completed=size, total=of)
        now = time.monotonic()
        if not self._console.is_terminal and now - self._line_at >= _LINE_SECONDS:
            self._line_at = now
            self._say(f"  {self._name}: {mib(size)}" + (f" of {mib(of)}" if of else ""))

    def finished(self, name: str, seconds: float, size: int) -> None:
        """Its programs are there; ``size`` of the file in bytes."""
        self._say(f"{name:<44} {seconds:6.1f} s {mib(size):>11}")
