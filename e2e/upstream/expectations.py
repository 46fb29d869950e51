"""The list of tests that are known to fail, and what a run is by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from drakit_kind.cluster import ClusterError
from e2e.upstream.runs import Outcome

Expectation = Literal["fails", "unstable"]
_EXPECTATIONS: tuple[Expectation, ...] = ("fails", "unstable")


@dataclass(frozen=True)
class Known:
    """Why a test does not just pass: it ``fails``, or it is ``unstable``, which is neither good nor bad."""

    expectation: Expectation
    reason: str


def read(path: Path, columns: Sequence[str]) -> dict[str, dict[str, Known]]:
    """The list as column -> name of a test -> what is known of it. Raises ``ClusterError`` for a list that is wrong.

    A column is a combination of components, e.g. ``embedded``.
    """
    known: dict[str, dict[str, Known]] = {column: {} for column in columns}
    for number, entry in enumerate(yaml.safe_load(path.read_text()) or [], start=1):
        where = f"{path.name}, entry {number}"
        _check(entry, where, columns)
        reason = " ".join(entry["reason"].split())
        for expectation in _EXPECTATIONS:
            for column in entry.get(expectation, ()):
                listed = dict.fromkeys(entry["tests"], Known(expectation, reason))
                if twice := sorted(known[column].keys() & listed.keys()):
                    raise ClusterError(f"{where}: {twice[0]!r} is listed for {column} already")
                known[column] |= listed
    return known


def _check(entry: Any, where: str, columns: Sequence[str]) -> None:
    if not isinstance(entry, dict) or not entry.get("reason") or not entry.get("tests"):
        raise ClusterError(f"{where}: an entry has a reason, tests, and columns in which they are fails or unstable")
    if unknown := sorted(set(entry) - {"reason", "tests", *_EXPECTATIONS}):
        raise ClusterError(f"{where}: {unknown[0]} is none of reason, tests, {', '.join(_EXPECTATIONS)}")
    named = [column for expectation in _EXPECTATIONS for column in entry.get(expectation, ())]
    if wrong := [column for column in named if column not in columns]:
        raise ClusterError(f"{where}: column {wrong[0]!r} is none of {', '.join(columns)}")
    if not named:
        raise ClusterError(f"{where}: it is of no column; name some of {', '.join(columns)} in fails or unstable")
    counts: Counter[str] = Counter(entry["tests"])
    if twice := [test for test, count in counts.items() if count > 1]:
        raise ClusterError(f"{where}: {twice[0]!r} stands there twice")


@dataclass(frozen=True)
class Judgement:
    """A run by the list; what is in one of the first three is an error."""

    surprising_failures: list[Outcome]
    surprising_passes: list[tuple[Outcome, Known]]
    unknown_names: list[str]
    passed: list[Outcome]
    known_failures: list[tuple[Outcome, Known]]
    unstable: list[tuple[Outcome, Known]]

    @property
    def is_good(self) -> bool:
        """Whether the list is right."""
        return not (self.surprising_failures or self.surprising_passes or self.unknown_names)


def judge(outcomes: Iterable[Outcome], known: Mapping[str, Known], names: Iterable[str]) -> Judgement:
    """Compare outcomes with what is known; ``names`` are those of all tests that there are.

    A test that skips itself has not passed.
    """
    judgement = Judgement([], [], sorted(set(known) - set(names)), [], [], [])
    for outcome in outcomes:
        listed = known.get(outcome.spec.name)
        if listed is not None and listed.expectation == "unstable":
            judgement.unstable.append((outcome, listed))
        elif outcome.state == "passed" and listed is None:
            judgement.passed.append(outcome)
        elif outcome.state == "passed" and listed is not None:
            judgement.surprising_passes.append((outcome, listed))
        elif listed is None:
            judgement.surprising_failures.append(outcome)
        else:
            judgement.known_failures.append((outcome, listed))
    return judgement
