"""Families of problems that are hard to search (bench/families): answered right, and in few steps.

The answers were found by Kubernetes' own allocator where it ends, and otherwise by an integer program that looks for
the lexicographically first solution; where both were asked they agreed.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.families import FAMILIES
from drakit_allocator.inputs.problems import answer
from drakit_allocator.search import Limits
from drakit_api.kubernetes_objects import Object
from tests.vectors import recordings

pytestmark = pytest.mark.slow


_VECTORS = Path(__file__).parent.parent / "vectors" / "allocator" / "families.jsonl.gz"
_STEPS = 12_000  # of the search; without pruning nearly all of them take billions


@functools.cache
def _themes() -> dict[str, list[Object]]:
    themes: dict[str, list[Object]] = {}
    for line in recordings.lines("allocator/families"):
        problem = msgspec.json.decode(line)
        themes.setdefault(problem["name"].partition("-")[0], []).append(problem)
    return themes


def _picks(answered: Object) -> Any:
    """What is recorded: for each claim request, driver, pool and device of each result; or none, or an error."""
    if answered.get("error"):
        return "error"
    if answered["allocation"] is None:
        return None
    return [
        [[one["request"], one["driver"], one["pool"], one["device"]] for one in claim["devices"].get("results", ())]
        for claim in answered["allocation"]
    ]


@pytest.mark.parametrize("theme", sorted({name.partition("-")[0] for name in FAMILIES}))
def test_hard_families_are_answered_right_in_few_steps(theme: str) -> None:
    wrong = []
    for problem in _themes()[theme]:
        answered = answer(problem, Limits(steps=_STEPS))
        if _picks(answered) != problem["picks"]:
            wrong.append((problem["name"], answered.get("error", "another answer")))
    assert not wrong


def test_problems_are_those_that_the_families_make() -> None:
    for problem in (one for of_theme in _themes().values() for one in of_theme):
        family, _, size = problem["name"].rpartition("/")
        assert FAMILIES[family].problem(int(size)) == {key: problem[key] for key in problem if key != "picks"}
