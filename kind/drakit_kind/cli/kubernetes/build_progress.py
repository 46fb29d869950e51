"""How a build looks while it runs: a line for each binary, and on a terminal a live one below for the current one."""

from __future__ import annotations

from rich.console import Console
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

from drakit_kind.cli.kubernetes.live_progress import LiveProgress, mib


class BuildProgress(LiveProgress):
    """Tells a user how a build goes on; to be used in a ``with`` block."""

    def __init__(self, console: Console | None = None) -> None:
        said = TextColumn("{task.fields[said]}", style="dim")
        super().__init__(console, SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), said)

    def waiting(self, process: int) -> None:
        """Another process builds the same; this one waits for it."""
        self._say(f"process {process} is building this already; waiting for it")
        self._show(f"waiting for process {process}")

    def started(self, name: str, number: int, of: int) -> None:
        """Show which binary is being built: the ``number``-th ``of`` those that are missing."""
        if not self._console.is_terminal:
            self._say(f"building {name} ({number} of {of})")
        self._show(f"{name} ({number} of {of})")

    def said(self, line: str) -> None:
        """Show a line of Go's output if it is about a download; the log has the others."""
        if self._task is not None:
            self._live.update(self._task, said=line if line.startswith("go: downloading") else "")

    def finished(self, name: str, seconds: float, size: int) -> None:
        """Show that a binary is complete; ``size`` is in bytes."""
        self._say(f"{name:<24} {seconds:6.1f} s {mib(size):>11}")
