"""Custom resources, policies and webhooks: every recorded story, with the embedded server in the real one's place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from drakit_client.connection import Connection
from drakit_embedded import controllers
from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors.replay import RUNTIME_CONFIG
from tests.vectors.stories import hooks
from tests.vectors.stories.playing import Difference, Player, families

CORNERS = "extensions/corners"
TOKEN = "of-the-tests"
# Stories that are played at the same time; most of their time is spent in waiting.
TOGETHER = 8
PATIENCE = 30.0
# What is answered otherwise; nothing else may differ.
# - kube-apiserver finds a new kind of parameters after up to 30 s, as its mapper of kinds is made anew every 30 s
#   (k8s.io/apiserver pkg/admission/plugin/policy/generic/plugin.go); ours knows it at once.
OTHERWISE = {"vap:params-cr": {"code", "causes", "message", "object"}}


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server(ServerConfig(token=TOKEN, runtime_config=RUNTIME_CONFIG)) as server:
        yield server


@pytest.fixture
async def player(server: Server) -> AsyncIterator[Player]:
    """Plays with a server on which there are no controllers."""
    # Each request has a connection of its own: one that is kept may be closed while a POST goes out on it.
    connector = aiohttp.TCPConnector(force_close=True)
    async with hooks.running() as reached, aiohttp.ClientSession(server.url, connector=connector) as session:
        yield Player(session, TOKEN, reached, PATIENCE)


@pytest.fixture
async def controlled(server: Server) -> AsyncIterator[None]:
    """Controllers run on the server."""
    async with Connection(server.url, token=TOKEN) as connection:
        running = asyncio.create_task(controllers.run(connection))
        yield
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("controlled")
@pytest.mark.parametrize("family", families())
async def test_stories(family: str, player: Player) -> None:
    await told_as_recorded(families()[family], player)


@pytest.mark.slow
@pytest.mark.parametrize("family", families(CORNERS))
async def test_corners(family: str, player: Player) -> None:
    await told_as_recorded(families(CORNERS)[family], player)


async def told_as_recorded(stories: list[dict[str, Any]], player: Player) -> None:
    limit = asyncio.Semaphore(TOGETHER)

    async def played(story: dict[str, Any]) -> list[Difference]:
        async with limit:
            return await player.play(story)

    found = await asyncio.gather(*(played(story) for story in stories))
    differences = [difference for each in found for difference in each if not _is_known(difference)]
    assert [str(difference) for difference in differences] == []


def _is_known(difference: Difference) -> bool:
    return set(difference.parts) <= OTHERWISE.get(difference.story.rpartition(":")[0], set())
