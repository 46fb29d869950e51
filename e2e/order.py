"""The order of the stories, in which workers that run them side by side wait little for each other."""

from __future__ import annotations

import pytest


def ordered(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Each worker begins with what takes long: with ``--dist worksteal`` it gets an equal part of the list at first.

    The first part begins with stories that start a cluster of their own, and the second with those that want the shared
    one alone: both leave processors idle, so they shall run at the same time.
    """
    own, alone, long, rest = _sorted(items)
    parts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    parts[0] += own
    parts[1 % workers] += alone
    for number, item in enumerate(long):
        parts[-1 - number % workers].append(item)
    for number, part in enumerate(parts):
        size = (len(items) + number) // workers
        taken = max(0, size - len(part)) if number < workers - 1 else len(rest)
        part += rest[:taken]
        del rest[:taken]
    return [item for part in parts for item in part]


def _sorted(items: list[pytest.Item]) -> tuple[list[pytest.Item], ...]:
    own: list[pytest.Item] = []
    alone: list[pytest.Item] = []
    long: list[pytest.Item] = []
    rest: list[pytest.Item] = []
    for item in items:
        if {"start_cluster", "cluster"} & fixtures_of(item) == {"start_cluster"}:
            own.append(item)
        elif item.get_closest_marker("alone"):
            alone.append(item)
        elif item.get_closest_marker("long"):
            long.append(item)
        else:
            rest.append(item)
    return own, alone, long, rest


def fixtures_of(item: pytest.Item) -> set[str]:
    """The names of all fixtures that a test uses, by itself or through others."""
    return set(getattr(item, "fixturenames", ()))
