"""Answers of Kubernetes' own allocator (1.37.1) to some 4,000 problems: ours are the same, result by result.

``random`` and ``quirks`` are made up, ``upstream-table`` are the tables of upstream's own tests for each variant,
``found`` are small problems on which a comparison of the two once differed, and on ``adversarial`` ones upstream's
search blows up. How to record: tests/vectors/record.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from drakit_allocator.inputs.problems import answer
from drakit_allocator.search import NO_LIMITS, Limits
from tests.vectors import recordings

_VECTORS = Path(__file__).parent.parent / "vectors" / "allocator"
_CHUNK = 150
_COUNTS = {"random": 3000, "quirks": 53, "upstream-table": 667, "found": 29, "adversarial": 216}
# Upstream takes up to 30 million steps for an adversarial problem. Ours are few for any; the most today is 215.
_LIMITS = {"adversarial": Limits(steps=1000)}


@functools.cache
def _problems(name: str) -> list[bytes]:
    return recordings.lines(f"allocator/{name}")


def _comparable(answered: dict[str, Any]) -> Any:
    """The allocation, or the kind of failure: does not fit, error on this node, fatal error. Texts are not compared."""
    if answered.get("error"):
        return "error on node" if answered.get("onNode") else "error"
    return answered["allocation"]


def _is_right(recorded: dict[str, Any], ours: dict[str, Any]) -> bool:
    # Where upstream's answer depends on the order of a Go map, each of the answers seen is right.
    accepted = [recorded, *map(json.loads, recorded.get("alternatives", ()))]
    return _comparable(ours) in [_comparable(one) for one in accepted]


def _is_said_alike(recorded: dict[str, Any], ours: dict[str, Any]) -> bool:
    # Upstream dies of a constant map whose keys cannot be hashed.
    return not recorded.get("error") or "PANIC" in recorded["error"] or ours.get("error") == recorded["error"]


def _chunks() -> list[Any]:
    return [
        pytest.param(name, start, id=f"{name}-{start}")
        for name, count in _COUNTS.items()
        for start in range(0, count, _CHUNK)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), _chunks())
def test_answers_are_those_of_upstream(name: str, start: int) -> None:
    wrong, otherwise_said = [], []
    for problem in map(msgspec.json.decode, _problems(name)[start : start + _CHUNK]):
        recorded, ours = problem["answer"], answer(problem, _LIMITS.get(name, NO_LIMITS))
        if not _is_right(recorded, ours):
            wrong.append(problem["name"])
        if not _is_said_alike(recorded, ours):
            otherwise_said.append(problem["name"])
    assert not wrong, "answers differ from upstream's, or take too many steps"
    assert not otherwise_said, "refusals do not use the words of upstream"


def test_all_recorded_problems_are_asked() -> None:
    assert {name: len(_problems(name)) for name in _COUNTS} == _COUNTS
