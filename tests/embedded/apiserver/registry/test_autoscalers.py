"""HorizontalPodAutoscalers are read and written in both versions as by a kube-apiserver 1.37.1."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.registry.autoscalers import versions
from tests.vectors import autoscalers

TOKEN = "of-the-tests"
PARTS = ("metadata", "spec")
MATTERS = sorted({story["name"].partition(":")[0] for story in autoscalers.recorded()})


# Each as it was read in v2, without what it is of and its status.
MADE = {
    story["name"]: {key: story["steps"][1 if "in v1" in story["name"] else 2]["answer"]["body"][key] for key in PARTS}
    for story in autoscalers.recorded()
    if story["name"].startswith("made in ")
}
# Of two percentages of processors v1 has the first.
TWICE = {"made in v1: metrics: several, and a percentage", "made in v2: metrics: processors twice"}


@pytest.mark.parametrize("name", MADE)
def test_what_is_wanted_is_the_same_after_a_way_through_v1(name: str) -> None:
    obj = MADE[name]
    assert (versions.to_v2(versions.from_v2(obj)) == obj) == (name not in TWICE)


def parting(recorded: Object, ours: Object) -> list[object]:
    """Where two tellings of a story part: steps with both answers."""
    steps = zip(recorded["steps"], ours["steps"], strict=True)
    return [(one, other["answer"]) for one, other in steps if one != other]


@pytest.mark.slow
@pytest.mark.parametrize("matter", MATTERS)
async def test_recorded_stories(matter: str) -> None:
    stories = [story for story in autoscalers.recorded() if story["name"].partition(":")[0] == matter]
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        stage = autoscalers.Stage(session, TOKEN)
        told = await asyncio.gather(*map(stage.told, stories))
    different = {one["name"]: parting(one, other) for one, other in zip(stories, told, strict=True)}
    assert {name: parts for name, parts in different.items() if parts} == {}
