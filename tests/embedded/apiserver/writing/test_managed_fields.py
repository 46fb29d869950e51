"""Who set which field: every recorded story of managed fields, with the embedded server in the real one's place."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from unittest.mock import Mock

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.managedfields import fieldsets
from drakit_embedded.apiserver.managedfields.fieldsets import Tree
from drakit_embedded.apiserver.scheme import metadata
from tests.vectors.managed_fields import Stage, recorded
from tests.vectors.replay import RUNTIME_CONFIG

TOKEN = "of-the-tests"
STORIES = recorded()


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """All steps of a story in one second, as they were recorded: entries are sorted, and given up, by their times."""
    monkeypatch.setattr(metadata, "time", Mock(wraps=time, time=Mock(return_value=time.time())))
    config = ServerConfig(token=TOKEN, runtime_config=RUNTIME_CONFIG)
    async with Server(config) as server, aiohttp.ClientSession(server.url) as session:
        stage = Stage(session, TOKEN)
        await stage.prepare()
        yield stage


def by_name(chance: bool) -> list[Object]:
    return [story for story in STORIES if story["name"].startswith("by chance") == chance]


@pytest.mark.slow
async def test_stories_by_chance(stage: Stage) -> None:
    for story in by_name(chance=True):
        expected = [step["answer"] for step in story["steps"]]
        assert await stage.answers(story) == expected, story["name"]


@pytest.mark.parametrize("story", [pytest.param(story, id=story["name"]) for story in by_name(chance=False)])
async def test_stories(stage: Stage, story: Object) -> None:
    for step, answer in zip(story["steps"], await stage.answers(story), strict=True):
        assert answer == step["answer"], (step["method"], step["path"], step.get("query"), step.get("body"))


LEAF: Tree = {}
CHILD: Tree = {"f:b": {}}
BOTH: Tree = {".": {}, "f:b": {}}
# One set, another, what is in either, in the first only, in both, and in the first but not at or below the other.
SETS = [
    pytest.param({"f:a": {}}, {"f:b": {}}, {"f:a": {}, "f:b": {}}, {"f:a": {}}, LEAF, {"f:a": {}}, id="apart"),
    pytest.param({"f:a": {}}, {"f:a": {}}, {"f:a": {}}, LEAF, {"f:a": {}}, LEAF, id="the same"),
    pytest.param({"f:a": BOTH}, {"f:a": {}}, {"f:a": BOTH}, {"f:a": CHILD}, {"f:a": {}}, LEAF, id="parent gone"),
    pytest.param({"f:a": {}}, {"f:a": CHILD}, {"f:a": BOTH}, {"f:a": {}}, LEAF, {"f:a": {}}, id="child gone"),
    pytest.param(
        {"f:a": BOTH},
        {"f:a": CHILD},
        {"f:a": BOTH},
        {"f:a": {}},
        {"f:a": CHILD},
        {"f:a": {}},
        id="last child",
    ),
    pytest.param({"f:a": {}}, LEAF, {"f:a": {}}, {"f:a": {}}, LEAF, {"f:a": {}}, id="nothing"),
]


@pytest.mark.parametrize(("one", "other", "union", "difference", "intersection", "above"), SETS)
def test_sets_of_fields(one: Tree, other: Tree, union: Tree, difference: Tree, intersection: Tree, above: Tree) -> None:
    assert fieldsets.union(one, other) == fieldsets.union(other, one) == union
    assert fieldsets.difference(one, other) == difference
    assert fieldsets.intersection(one, other) == fieldsets.intersection(other, one) == intersection
    assert fieldsets.without_below(one, other) == above


def test_fields_are_written_in_the_order_of_their_values() -> None:
    items = ['k:{"port":10}', 'k:{"port":9}', 'v:"b"', "f:z", ".", 'v:"a"', "v:2"]
    assert list(fieldsets.sorted_tree(dict.fromkeys(items, LEAF))) == [
        ".",
        "f:z",
        'k:{"port":9}',
        'k:{"port":10}',
        "v:2",
        'v:"a"',
        'v:"b"',
    ]
