"""Stories of writes that are seldom made end here as they do with a kube-apiserver 1.37.1."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors import writes

TOKEN = "of-the-tests"
MATTERS = sorted({story["name"].partition(":")[0] for story in writes.recorded()})


def parting(recorded: Object, ours: Object) -> list[object]:
    """Where two tellings of a story part: steps with both answers, or the events."""
    steps = zip(recorded["steps"], ours["steps"], strict=True)
    found: list[object] = [(one, other["answer"]) for one, other in steps if one != other]
    events, seen = recorded.get("events"), ours.get("events")
    return found if events == seen else [*found, (events, seen)]


@pytest.mark.slow
@pytest.mark.parametrize("matter", MATTERS)
async def test_recorded_stories(matter: str) -> None:
    stories = [story for story in writes.recorded() if story["name"].partition(":")[0] == matter]
    async with Server(ServerConfig(token=TOKEN)) as server, aiohttp.ClientSession(server.url) as session:
        stage = writes.Stage(session, TOKEN)
        told = await asyncio.gather(*map(stage.told, stories))
    different = {one["name"]: parting(one, other) for one, other in zip(stories, told, strict=True)}
    assert {name: parts for name, parts in different.items() if parts} == {}
