"""HorizontalPodAutoscalers are read and written in both versions as by a kube-apiserver 1.37.1."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors import autoscalers

TOKEN = "of-the-tests"
MATTERS = sorted({story["name"].partition(":")[0] for story in autoscalers.recorded()})


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
