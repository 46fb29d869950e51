"""ResourceSlicePatches: every recorded story, with the embedded server in the real one's place."""

from __future__ import annotations

import aiohttp
import pytest

from drakit_api.features import PATCHES_GATE, FeatureGates
from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors import slice_patches
from tests.vectors.stories import hooks
from tests.vectors.stories.playing import Player, families

_PATIENCE = 30.0
# With these nothing is dropped, as on a real server; and the definition is there from the start.
_GATES = FeatureGates(overrides={PATCHES_GATE: True, "DRAListTypeAttributes": True})


@pytest.mark.slow
@pytest.mark.parametrize("family", families(slice_patches.FILE))
async def test_stories_of_patches(family: str) -> None:
    connector = aiohttp.TCPConnector(force_close=True)
    async with (
        Server(ServerConfig(gates=_GATES)) as server,
        hooks.running() as reached,
        aiohttp.ClientSession(server.url, connector=connector) as session,
    ):
        player = Player(session, server.token, reached, _PATIENCE)
        found = [each for story in families(slice_patches.FILE)[family] for each in await player.play(story)]
    assert [str(difference) for difference in found] == []
