"""What a benchmark hands back, and how it says that it is still at work: the same for all, so that they read alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.status import Status
from rich.table import Table

Step = Callable[[str], None]

_SECONDS_BETWEEN_LINES = 2.0


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a benchmark; ``report`` has what was measured until then."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report


@dataclass(frozen=True)
class Report:
    """One table. ``notes`` say what its figures hold for; any of ``errors`` makes the benchmark fail."""

    title: str
    columns: Sequence[str]
    notes: list[str] = field(default_factory=list)
    rows: list[Sequence[str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Rows that the block has added by the time of Ctrl-C are not lost: they go with the exception."""
        try:
            yield
        except KeyboardInterrupt:
            self.notes.append("Interrupted: this is what was measured until then.")
            raise Interrupted(self) from None

    def print(self, console: Console) -> None:
        """The first column is text and the others are figures, so these are aligned to the right."""
        console.print(self.title, style="bold", highlight=False)
        table = Table()
        for index, column in enumerate(self.columns):
            table.add_column(column, justify="right" if index else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        for note in self.notes:
            console.print(note, style="dim", highlight=False)
        for error in self.errors:
            console.print(f"WRONG: {error}", style="red", highlight=False, markup=False)


def ratio(ours: float, upstream: float | None, *, less_is_better: bool = False) -> str:
    """How many times as fast as upstream, e.g. ``2.5x``; a dash where nothing was recorded."""
    if not upstream or not ours:
        return "-"
    return f"{upstream / ours if less_is_better else ours / upstream:.2f}x"


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many percent of all values do not exceed; of at least one value."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * percent / 100))]


class Progress:
    """A line that changes on a terminal; elsewhere, such as in a log, at most one new line in two seconds."""

    def __init__(self, console: Console, name: str) -> None:
        self._console = console
        self._name = name
        self._status = Status(name, console=console) if console.is_terminal else None
        self._next_line = 0.0

    def __enter__(self) -> Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._status is not None:
            self._status.stop()

    def step(self, text: str) -> None:
        """Say what is being done now."""
        line = f"{self._name}: {text}"
        if self._status is not None:
            self._status.update(line)
        elif time.monotonic() >= self._next_line:
            self._console.print(line, highlight=False, markup=False)
            self._next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
