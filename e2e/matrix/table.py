"""What runs of the matrix showed, as a page: JUnit XML of pytest in, ``docs/compatibility.md`` out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from e2e.matrix.row import Row

Verdict = Literal["passed", "failed", "not yet", "not run"]
COMMAND = "make e2e-matrix"
_INTRODUCTION = """\
# Compatibility

What drakit's own components (*embedded*) and those of Kubernetes (*binaries*) do alike while feature gates are
switched, older versions are emulated, and components of different versions work together. Each row is a cluster of its
own that is changed from phase to phase while pods run; what is expected in each phase is written once, and holds for
both. Rows and stories are in [e2e/matrix](../e2e/matrix).

- Of *embedded*, a version means: ours, behaving like that minor version, but for some
  [words](clusters.md#what-it-does-not-imitate).
- In every phase all pods that ran before must still run, without a restart but where a story wants one, on the same
  devices; at the end everything is given back.
- That the components are of the version that a phase asks for is checked in every phase, by what they say of
  themselves. Our scheduler and controllers say nothing; in the rows named after them, they show it by what they do.
- *not yet*: drakit's own components lack the feature, and the row must fail on them, in the phase and with the message
  that it names; when it fails otherwise, or passes, that is an error.
- With a *real kubelet*, for which the run has to be root's, pods run in containers, by containerd.
- *Seeds* are the documents that drakit comes from, by their numbers: [the list](architecture.md#seeds).
"""
_ADDED_UP = "Minutes are those of the rows, added up; by default two run at once."


@dataclass(frozen=True)
class Outcome:
    """How one test of a run ended; ``kubelet`` is "real" where its pods ran in containers."""

    verdict: Verdict
    seconds: float
    reason: str = ""
    kubelet: str = ""

    def __str__(self) -> str:
        match self.verdict:
            case "passed":
                return f"passed, {self.seconds:.0f} s" + f", {self.kubelet} kubelet" * bool(self.kubelet)
            case "failed":
                return "**failed**"
            case "not yet":
                return self.reason
        return self.reason or "not run"


NOT_RUN = Outcome("not run", 0)
Outcomes = Mapping[str, Outcome]


def read(path: Path) -> dict[str, Outcome]:
    """By the id of each test's parameter, e.g. ``prioritized-list-1.36.3``; empty if there is no such file."""
    if not path.exists():
        return {}
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return {case.attrib["name"].partition("[")[2].removesuffix("]"): _outcome(case) for case in cases}


def _outcome(case: ElementTree.Element) -> Outcome:
    seconds = float(case.attrib["time"])
    # First, as what failed as expected may still fail at its end, of which pytest tells in the same case.
    if case.find("failure") is not None or case.find("error") is not None:
        return Outcome("failed", seconds)
    skipped = case.find("skipped")
    if skipped is not None:
        expected = skipped.attrib["type"] == "pytest.xfail"
        return Outcome("not yet" if expected else "not run", seconds, skipped.attrib.get("message", ""))
    properties = {each.attrib["name"]: each.attrib["value"] for each in case.iter("property")}
    return Outcome("passed", seconds, kubelet=properties.get("kubelet", ""))


@dataclass(frozen=True, kw_only=True)
class Making:
    """When a page was made, how many seconds its runs took by the clock, and of which revision, if that is known."""

    day: date
    seconds: float
    revision: str | None


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the runs of a page showed.

    ``rows`` are the outcomes by backend, ``in_kind`` those of some rows, ``combinations`` those of fake and real parts,
    and ``judged`` how Kubernetes' driver was judged, by cluster.
    """

    rows: Mapping[str, Outcomes] = field(default_factory=dict)
    in_kind: Outcomes = field(default_factory=dict)
    combinations: Outcomes = field(default_factory=dict)
    judged: Outcomes = field(default_factory=dict)


def page(rows: Sequence[Row], shown: Shown, making: Making) -> str:
    """The whole page."""
    parts = [_INTRODUCTION, _made_by(shown, making)]
    for feature, of_feature in groupby(rows, key=lambda row: row.feature):
        parts.append(f"## {feature}\n")
        for (source, phases), group in groupby(of_feature, key=_alike):
            parts.append(f"Phases: {phases}\n\nSource: {source}\n\n{_rows(list(group), shown.rows)}")
    parts += [
        _in_kind([row for row in rows if row.name in shown.in_kind], shown.in_kind),
        _combinations(shown.combinations),
        _judged(shown.judged),
    ]
    return "\n".join(parts)


def summary(outcomes: Outcomes) -> str:
    """``32 passed, 5 not yet in 3 min``."""
    counts = Counter(outcome.verdict for outcome in outcomes.values())
    order: Sequence[Verdict] = ("passed", "failed", "not yet", "not run")
    minutes = sum(outcome.seconds for outcome in outcomes.values()) / 60
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in order if counts[verdict]) + f", {minutes:.0f} min"


def _made_by(shown: Shown, making: Making) -> str:
    runs = {
        **shown.rows,
        "some in kind": shown.in_kind,
        "combinations of both": shown.combinations,
        "judgements of Kubernetes' driver": shown.judged,
    }
    lines = [f"- {name}: {summary(outcomes)}" for name, outcomes in runs.items()]
    again = f'{COMMAND} ARGS="-k prioritized-list-1.36.3"'
    of = f" of {making.revision}" if making.revision else ""
    took = f"{making.seconds / 60:.1f} minutes"
    made = f"Made by `{COMMAND}`{of} on {making.day.isoformat()} in {took}; one row alone: `{again}`."
    return "\n".join([made, _ADDED_UP, "", *lines, ""])


def _alike(row: Row) -> tuple[str, str]:
    return row.source, " → ".join(phase.name for phase in row.phases)


def _rows(rows: Iterable[Row], runs: Mapping[str, Outcomes]) -> str:
    lines = [("row", "components", *runs)]
    for row in rows:
        outcomes = [str(each.get(row.name, NOT_RUN)) for each in runs.values()]
        lines.append((row.name, _components(row), *outcomes))
    return _table(lines)


def _components(row: Row) -> str:
    emulated = f" emulating {row.emulated_version}" if row.emulated_version else ""
    others = [f"{component} {version}" for component, version in row.versions.items()]
    ours = [f"{component} always drakit's" for component in sorted(row.ours)]
    return ", ".join([f"{row.version}{emulated}", *others, *ours])


def _in_kind(rows: Sequence[Row], outcomes: Outcomes) -> str:
    lines = [("row", "components", "kind"), *((row.name, _components(row), str(outcomes[row.name])) for row in rows)]
    return (
        "## In kind\n\n"
        "The same rows with nodes in containers and drivers in pods. Each waits half a minute and more for a cluster, "
        "so these stand for the others.\n\n" + _table(lines)
    )


def _combinations(outcomes: Outcomes) -> str:
    lines: list[tuple[str, ...]] = [("API server and controllers", "scheduler", "kubelet", "driver", "outcome")]
    lines += [(*name.split(", "), str(outcome)) for name, outcome in outcomes.items()]
    return (
        "## Every fake part beside every real one\n\n"
        "Seed 004's claim of four partitions, told by each combination. "
        "Source: KEP-4815, KEP-4381; [e2e/interchange](../e2e/interchange).\n\n" + _table(lines)
    )


def _judged(outcomes: Outcomes) -> str:
    lines = [("cluster", "outcome"), *((cluster, str(outcome)) for cluster, outcome in outcomes.items())]
    return (
        "## Kubernetes' driver, judged by ours\n\n"
        "`drakit conformance --driver` of the test driver, with nothing of Kubernetes and with all of it. "
        "Source: KEP-4381.\n\n" + _table(lines)
    )


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *body = lines
    ruled = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in ruled)
