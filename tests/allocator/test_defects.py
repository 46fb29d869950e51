"""Without the defects of upstream: what each of them changes, and that nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from drakit_allocator.defects import Defect
from drakit_allocator.inputs.problems import answer
from drakit_allocator.search.first_solution import FirstSolution
from drakit_api.kubernetes_objects import Object
from tests.allocator.defect_problems import defective_of, defective_problems
from tests.allocator.problem_strategies import problem_of
from tests.allocator.reference_search import Reference, TooLong, picks_of
from tests.vectors import recordings

_STEPS = 1500  # of the reference; few problems need more
_ALL = [one.value for one in Defect]
_QUIRKS = Path(__file__).parent.parent / "vectors" / "allocator" / "quirks.jsonl.gz"


def _agrees(problem: Object, *, safe: bool) -> bool:
    try:
        expected = Reference(problem, steps=_STEPS, without=_ALL if safe else ()).answer()
    except TooLong:
        return True
    return expected == picks_of(answer(problem, compat="safe" if safe else "upstream"))


@pytest.mark.slow
@pytest.mark.parametrize(("safe", "asks"), [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize("start", range(0, 600, 300))
def test_answers_are_those_of_the_naive_search(
    start: int, safe: bool, asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if asks:  # what comes first is rarely wrong in small problems; here it is never tried
        monkeypatch.setattr(FirstSolution, "_fill", lambda *_: False)
    assert not [seed for seed in range(start, start + 300) if not _agrees(defective_of(seed), safe=safe)]


@pytest.mark.slow
def test_problems_of_the_usual_kind_are_answered_as_by_the_naive_search() -> None:
    assert not [seed for seed in range(400) if not _agrees(problem_of(seed), safe=True)]


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(defective_problems)
def test_any_problem_is_answered_as_by_the_naive_search(problem: Object) -> None:
    assert _agrees(problem, safe=True)
    assert _agrees(problem, safe=False)


@pytest.mark.slow
def test_the_problems_are_such_that_the_defects_matter() -> None:
    differing = [seed for seed in range(300) if answer(defective_of(seed)) != answer(defective_of(seed), compat="safe")]
    assert len(differing) > 30


def test_only_the_recorded_problems_about_defects_get_another_answer() -> None:
    problems = recordings.recorded("allocator/quirks")
    differing = {one["name"] for one in problems if picks_of(answer(one)) != picks_of(answer(one, compat="safe"))}
    assert differing == {
        "admin-on-inuse-partition",
        "other-set-negative-blocks-all",
        "shared-then-dedicated-nocap",
    }
