"""Milliseconds for problems whose search blows up upstream, family by family, beside what upstream took for them.

Each problem is answered once, from its objects to the results, as ``drakit allocate --problems`` does it: slices are
read, selectors evaluated, devices searched. Upstream's figures are CPU time, too, of its allocator alone.
"""

from __future__ import annotations

import functools
import gc
import gzip
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from bench.recorded import VECTORS, decoded, timed
from bench.report import Report, Step, ratio
from drakit_allocator.inputs.problems import answer
from drakit_api.kubernetes_objects import Object

TARGET = 200.0  # milliseconds, for each problem

_PROBLEMS, _TIMINGS = VECTORS / "adversarial.jsonl.gz", VECTORS / "adversarial-upstream-timings.jsonl"
_COLUMNS = ["family", "problems", "equal", "median", "at most", "Kubernetes", "timeouts", "ratio"]
_NOTES = (
    "CPU milliseconds, each problem once; Kubernetes: the most for one. equal: upstream's answer without a time limit.",
    "Ours include reading the slices (26 devices a GPU), which a scheduler does once. timeouts: upstream's, of 30 s.",
)
_QUICK_FAMILIES = 1


class _Timing(msgspec.Struct):
    """What upstream took for one problem."""

    family: str
    n: int
    cpuSeconds: float
    kind: str


@dataclass(frozen=True, slots=True)
class _Family:
    """Problems of one shape and growing size, which are named ``family/size``."""

    name: str
    problems: Sequence[Object]
    timings: Sequence[_Timing]


@dataclass(frozen=True, slots=True)
class _Answered:
    """Milliseconds for each problem of a family, and which were answered otherwise than by upstream."""

    milliseconds: Sequence[float]
    different: Sequence[str]


def run(step: Step, *, quick: bool = False) -> Report:
    """A row for each family, and an error for each problem with another answer than upstream's."""
    report = Report("Allocator alone: problems that blow up", _COLUMNS, [*_NOTES])
    most = 0.0
    with report.kept():
        for family in _families(quick):
            answered = _answer(family, step)
            most = max(most, *answered.milliseconds)
            report.rows.append(_row(family, answered))
            report.errors.extend(f"{name}: the answer differs from upstream's" for name in answered.different)
    report.notes.append(f"Target: less than {TARGET:g} ms for each: {'met' if most < TARGET else 'missed'}.")
    return report


def _families(quick: bool) -> Iterator[_Family]:
    """In the order of their names."""
    timings: dict[str, list[_Timing]] = {}
    for line in _TIMINGS.read_bytes().splitlines():
        timing = msgspec.json.decode(line, type=_Timing)
        timings.setdefault(timing.family, []).append(timing)
    problems: dict[str, list[Object]] = {}
    for line in gzip.decompress(_PROBLEMS.read_bytes()).splitlines():
        problem = decoded(msgspec.Raw(line))
        problems.setdefault(problem["name"].rpartition("/")[0], []).append(problem)
    for name in sorted(problems)[: _QUICK_FAMILIES if quick else None]:
        yield _Family(name, problems[name], timings[name])


def _answer(family: _Family, step: Step) -> _Answered:
    milliseconds, different = [], []
    for number, problem in enumerate(family.problems):
        step(f"{family.name}, problem {number + 1} of {len(family.problems)}")
        gc.collect()  # of the problem before
        answered, seconds = timed(functools.partial(answer, problem))
        milliseconds.append(1000 * seconds)
        if not _are_equal(answered, problem["answer"]):
            different.append(problem["name"])
    return _Answered(milliseconds, different)


def _are_equal(answered: Object, recorded: Object) -> bool:
    """Results and the kind of failure; what a failure is called is not compared."""
    return all(answered.get(key) == recorded.get(key) for key in ("allocation", "onNode")) and bool(
        answered.get("error")
    ) == bool(recorded.get("error"))


def _row(family: _Family, answered: _Answered) -> list[str]:
    problems, most = len(family.problems), max(answered.milliseconds)
    upstream = 1000 * max(timing.cpuSeconds for timing in family.timings)
    timeouts = sum(timing.kind == "timeout" for timing in family.timings)
    return [
        family.name,
        f"{problems}",
        f"{problems - len(answered.different)}",
        f"{statistics.median(answered.milliseconds):.2f}",
        f"{most:.2f}",
        f"{upstream:,.2f}",
        f"{timeouts or '-'}",
        ratio(most, upstream, less_is_better=True),
    ]
