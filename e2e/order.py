"""The order of the stories, in which workers that run them side by side wait little for each other."""

from __future__ import annotations

import pytest


def ordered(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """At first, pytest-xdist gives each worker an equal part of the list: here each begins with what takes long.

    One brings a cluster, and another wants the shared one alone: both leave processors idle, so they go together; and
    before others are at work in a cluster, nobody has to leave it.
    """
    own = [item for item in items if {"start_cluster", "cluster"} & fixtures_of(item) == {"start_cluster"}]
    alone = [item for item in items if item.get_closest_marker("alone")]
    long = [item for item in items if item.get_closest_marker("long")]
    rest = [item for item in items if item not in {*own, *alone, *long}]
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


def fixtures_of(item: pytest.Item) -> set[str]:
    """The names of all fixtures that a test uses, by itself or through others."""
    return set(getattr(item, "fixturenames", ()))
