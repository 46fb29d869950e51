"""The HTML page of a conformance run: what works where, and for each failure all that one needs to understand it."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from drakit_kind.conformance.records import NAMES, Record
from drakit_kind.conformance.runs import Run
from drakit_kind.conformance.verdict import Verdict, duration, groups, one_line

_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[.=/_-])(?=[A-Za-z])")
_KEP = re.compile(r"KEP-(\d+)")
_KEP_LINK = Markup('<a href="https://kep.k8s.io/{0}">KEP-{0}</a>')
_SEEDS = re.compile(r" \(seeds? [^)]*\)")
_TEMPLATE = Path(__file__).parent / "page.html.jinja"


@dataclass(frozen=True)
class Cell:
    """One capability in one configuration."""

    passed: int
    failed: int
    skipped: int
    unrun: int = 0

    @property
    def verdict(self) -> str:
        """The class of the cell: ``failed``, ``passed``, ``skipped`` or ``unrun`` (nothing was run), or ``absent``."""
        if self.failed:
            return "failed"
        return "passed" if self.passed else "unrun" if self.unrun else "skipped" if self.skipped else "absent"

    @property
    def text(self) -> str:
        """As ``11 of 12``; how many of them were not run is said too."""
        done = self.passed + self.failed
        shown = f"{self.passed} of {done}" if done else ""
        left = f"{self.skipped} left out" if self.skipped else ""
        unrun = f"{self.unrun} not run" if self.unrun else ""
        return ", ".join(part for part in (shown, left, unrun) if part)


@dataclass(frozen=True)
class Column:
    """One configuration: a run, or those stories of it that have a cluster of these ``versions``."""

    versions: str
    records: list[Record]


@dataclass(frozen=True)
class Row:
    """One capability with the KEP that it comes from and the feature gates that it is about."""

    capability: str
    sources: list[str]
    gates: list[str]
    cells: list[Cell]


def write(file: Path, runs: Sequence[Run], *, title: str, command: str, when: datetime) -> None:
    """Write the runs as one self-contained HTML page."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {"breakable": _breakable, "linked": _linked, "one_line": one_line, "duration": duration}
    template = environment.from_string(_TEMPLATE.read_text())
    heads = [[column.versions for column in columns(run)] for run in runs]
    table = {"heads": heads, "deep": any(map(any, heads)), "rows": rows(runs), "names": NAMES}
    made = {"title": title, "command": command, "when": when, "version": importlib.metadata.version("drakit")}
    file.write_text(template.render(table, **made, runs=runs, verdict=Verdict(runs), groups=groups))


def _breakable(text: str) -> Markup:
    """Allow line breaks in long words where their parts begin: ``DRADevice|Taints``, ``gpu.|example.|com``."""
    return Markup("<wbr>").join(_PARTS.split(text))


def _linked(source: str) -> Markup:
    """Write where a capability comes from: each KEP as a link, without the numbers of drakit's own seeds."""
    parts = _KEP.split(_SEEDS.sub("", source))  # text, number, text, number, ...
    texts = (escape(part) if number % 2 == 0 else _KEP_LINK.format(part) for number, part in enumerate(parts))
    return Markup("").join(texts)


def columns(run: Run) -> list[Column]:
    """Return a run's one column, or one for each ``versions`` that its stories say of clusters of their own."""
    return [
        Column(versions, [record for record in run.records if record.versions == versions])
        for versions in sorted({record.versions for record in run.records}) or [""]
    ]


def rows(runs: Sequence[Run]) -> list[Row]:
    """Return a row for each capability, by name, with a cell for each column."""
    every = [record for run in runs for record in run.records]
    return [_row(name, runs) for name in sorted({record.capability for record in every})]


def _row(capability: str, runs: Sequence[Run]) -> Row:
    of_column = [
        [record for record in column.records if record.capability == capability]
        for run in runs
        for column in columns(run)
    ]
    every = [record for records in of_column for record in records]
    return Row(
        capability,
        sorted({record.source for record in every if record.source}),
        sorted({gate for record in every for gate in record.gates}),
        [_cell(records) for records in of_column],
    )


def _cell(records: Sequence[Record]) -> Cell:
    outcomes = [record.outcome for record in records]
    return Cell(*(outcomes.count(each) for each in NAMES))
