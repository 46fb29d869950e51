"""What a build and a download share in how they look: lines that stay, and on a terminal a live one below them."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import Progress, ProgressColumn, TaskID

_MIB = 1 << 20


def mib(size: int) -> str:
    """Bytes as a reader wants them."""
    return f"{size / _MIB:.1f} MiB"


class LiveProgress:
    """Shows the one thing that is under way; to be used in a ``with`` block."""

    def __init__(self, console: Console | None, *columns: ProgressColumn) -> None:
        self._console = console or Console(soft_wrap=True, highlight=False)
        self._live = Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal)
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False)

    def _show(self, description: str) -> None:
        """Show another thing in place of the one before."""
        if self._task is not None:
            self._live.remove_task(self._task)
        self._task = self._live.add_task(description, total=None, said="")
