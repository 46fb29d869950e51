"""How often a driver repeats what stays wrong."""

from __future__ import annotations

from drakit_driver.reports import Reminders


def test_a_problem_that_stays_is_told_again_after_a_while() -> None:
    times = (0.0, 10.0, 29.0, 30.0, 45.0, 61.0)
    clock = iter(times)
    reminders = Reminders(30.0, clock=lambda: next(clock))
    assert [now for now in times if reminders.due("pool", "no node")] == [0.0, 30.0, 61.0]


def test_another_problem_and_one_that_comes_again_are_told_at_once() -> None:
    reminders = Reminders(30.0, clock=lambda: 0.0)
    assert reminders.due("pool", "no node")
    assert reminders.due("other pool", "no node")
    assert reminders.due("pool", "forbidden")
    assert not reminders.due("pool", "forbidden")
    reminders.over("pool")
    assert reminders.due("pool", "forbidden")
