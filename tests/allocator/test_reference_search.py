"""A slow, obviously right search and ours agree on random small problems: devices, their order, the kind of failure."""

from __future__ import annotations

import sys

import pytest
from hypothesis import HealthCheck, given, settings

from drakit_allocator.problems import answer
from drakit_allocator.search.first_solution import FirstSolution
from tests.allocator.problem_strategies import Json, problem_of, problems
from tests.allocator.reference_search import Reference, TooLong, picks_of

_STEPS = 1500  # of the reference; few problems need more


def _agree(problem: Json, limit: int = 32) -> bool:
    try:
        return Reference(problem, limit=limit, steps=_STEPS).answer() == picks_of(answer(problem))
    except TooLong:
        return True


def _limit_to(devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("drakit_allocator.") and hasattr(module, "MAX_RESULTS"):
            monkeypatch.setattr(module, "MAX_RESULTS", devices)


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("start", range(0, 2000, 500))
def test_answers_are_those_of_the_naive_search(start: int, asks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if asks:  # what comes first is rarely wrong in small problems; here it is never tried
        monkeypatch.setattr(FirstSolution, "_fill", lambda *_: False)
    assert not [seed for seed in range(start, start + 500) if not _agree(problem_of(seed))]


@pytest.mark.parametrize("limit", [3, 4, 5])
def test_a_claim_that_may_become_too_large_gets_what_the_naive_search_gives_it(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a limit of 32 devices nothing small comes near it."""
    _limit_to(limit, monkeypatch)
    monkeypatch.setattr(FirstSolution, "_fill", lambda *_: False)
    assert not [seed for seed in range(1000) if not _agree(problem_of(seed), limit)]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems)
def test_any_problem_is_answered_as_by_the_naive_search(problem: Json) -> None:
    assert _agree(problem)
