"""A slow, obviously right search and ours agree on random small problems: devices, their order, the kind of failure."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings

from drakit_allocator.inputs.problems import answer
from drakit_allocator.search.first_solution import FirstSolution
from drakit_api.kubernetes_objects import Object
from tests.allocator.problem_strategies import problem_of, problems
from tests.allocator.reference_search import Answer, Reference, TooLong, picks_of

pytestmark = pytest.mark.slow

_STEPS = 1500  # of the reference; few problems need more


def _agree(problem: Object, *ways: Callable[[Object], Answer], limit: int = 32) -> bool:
    try:
        expected = Reference(problem, limit=limit, steps=_STEPS).answer()
    except TooLong:
        return True
    return all(way(problem) == expected for way in ways)


def _ours(problem: Object) -> Answer:
    return picks_of(answer(problem))


def _asking(problem: Object) -> Answer:
    """What comes first is rarely wrong in small problems; here it is never tried."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(FirstSolution, "_fill", lambda *_: False)
        return _ours(problem)


def _limit_to(devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("drakit_allocator.") and hasattr(module, "MAX_RESULTS"):
            monkeypatch.setattr(module, "MAX_RESULTS", devices)


@pytest.mark.parametrize("start", range(0, 2000, 250))
def test_answers_are_those_of_the_naive_search(start: int) -> None:
    assert not [seed for seed in range(start, start + 250) if not _agree(problem_of(seed), _ours, _asking)]


@pytest.mark.parametrize("limit", [3, 4, 5])
def test_a_claim_that_may_become_too_large_gets_what_the_naive_search_gives_it(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a limit of 32 devices nothing small comes near it."""
    _limit_to(limit, monkeypatch)
    assert not [seed for seed in range(1000) if not _agree(problem_of(seed), _asking, limit=limit)]


# Asked for one of two halves of a request's devices, one of which can be shared, it once took that for both halves.
@example(problem_of(31_141_831_915))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems)
def test_any_problem_is_answered_as_by_the_naive_search(problem: Object) -> None:
    assert _agree(problem, _ours, _asking)
