"""What takes long begins early, with each worker of pytest-xdist, and no story is lost."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest

from e2e.order import ordered


class Story:
    """As much of a pytest item as the order looks at."""

    def __init__(self, name: str, *marks: str, fixtures: tuple[str, ...] = ("cluster", "start_cluster")) -> None:
        self.name = name
        self.fixturenames = fixtures
        self._marks = marks

    def get_closest_marker(self, name: str) -> object:
        return name if name in self._marks else None


def _order(stories: list[Story], workers: int) -> list[str]:
    return [item.name for item in ordered(cast(Any, stories), workers)]


OWN = Story("own", fixtures=("start_cluster",))
ALONE = [Story("alone-1", "alone"), Story("alone-2", "alone")]
LONG = [Story(f"long-{number}", "long") for number in range(5)]
BOTH = [Story("alone-and-long", "alone", "long"), Story("own-and-long", "long", fixtures=("start_cluster",))]
SHORT = [Story(f"short-{number}") for number in range(12)]


def test_each_worker_begins_with_what_takes_long() -> None:
    order = _order([*SHORT, *LONG, *ALONE, OWN], 4)  # five for each
    assert order[0] == "own"
    assert order[5:7] == ["alone-1", "alone-2"]
    assert order[10] == "long-1"
    assert order[15:17] == ["long-0", "long-4"]
    assert order[1:5] == ["long-3", "short-0", "short-1", "short-2"]


def test_one_worker_begins_with_them_too() -> None:
    assert _order([*SHORT, LONG[0], ALONE[0]], 1)[:2] == ["alone-1", "long-0"]


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("stories", [[], SHORT[:1], LONG, [*LONG, *SHORT, *ALONE, OWN, *BOTH]])
def test_no_story_is_lost_and_none_comes_twice(stories: list[Story], workers: int) -> None:
    assert Counter(_order(stories, workers)) == Counter(story.name for story in stories)
