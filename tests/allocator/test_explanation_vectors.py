"""Explanations of the problems that Kubernetes' own allocator was asked: they agree with the answer, and say why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from drakit_allocator.explanation import Inventory, explain, explanation_json, explanation_text
from drakit_allocator.inputs.problems import features_of
from tests.vectors import recordings

_VECTORS = Path(__file__).parent.parent / "vectors" / "allocator"
# Of the random ones; answering the problems takes most of the time.
_EVERY = 12


def _problems(name: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in recordings.lines(f"allocator/{name}")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "every", "part"), [("quirks", 1, 0), *(("random", _EVERY * 3, n) for n in range(3))])
def test_an_explanation_agrees_with_the_answer_and_is_not_empty(name: str, every: int, part: int) -> None:
    for problem in _problems(name)[part * _EVERY :: every]:
        if "allocatedState" in problem:
            continue
        inventory = Inventory.of(
            features_of(problem),
            slices=problem.get("slices") or (),
            classes=problem.get("classes") or (),
            taint_rules=problem.get("taintRules") or (),
            claims=problem.get("allocated") or (),
        )
        explanation = explain(problem["claims"], [problem["node"]], inventory, seconds=60.0)
        assert explanation_text(explanation).strip()
        said = explanation_json(explanation)
        # Where upstream's answer depends on the order of a Go map, either is right.
        if "alternatives" not in problem["answer"]:
            assert said["fits"] is (problem["answer"].get("allocation") is not None), problem["name"]
        if not said["fits"]:
            node = said["nodes"][0] if said.get("nodes") else {}
            assert said.get("errors") or node.get("conflicts") or node.get("limits") or node["message"], problem["name"]
