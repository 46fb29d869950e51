"""How a download looks while it runs: a line for each file, and a bar on a terminal, else a line now and then."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from drakit_kind.cli.kubernetes.build_progress import mib

_LINE_SECONDS = 10.0  # between two lines where there is no terminal


class DownloadProgress:
    """Tells a user how a download goes on; to be used in a ``with`` block."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(soft_wrap=True, highlight=False)
        self._live = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None
        self._name = ""
        self._line_at = 0.0

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def waiting(self, process: int) -> None:
        """Another process works on the same; this one waits for it."""
        self._say(f"process {process} is building or downloading this already; waiting for it")

    def started(self, name: str, number: int, of: int) -> None:
        """Show which file is being downloaded: the ``number``-th ``of`` those that are missing."""
        if not self._console.is_terminal:
            self._say(f"downloading {name} ({number} of {of})")
        if self._task is not None:
            self._live.remove_task(self._task)
        self._task = self._live.add_task(f"{name} ({number} of {of})", total=None)
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

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False)
