"""Right and wrong pods, changes of them and of their statuses, are answered as a real kube-apiserver 1.37.1 did."""

from __future__ import annotations

from collections.abc import Callable

import aiohttp
import pytest

from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors.exchanges import GATES, Vector, recorded
from tests.vectors.replay import RUNTIME_CONFIG, Replay, comparable

TOKEN = "of-the-tests"
# Answers that are known to differ, by name, and why (docs/clusters.md).
KNOWN = {
    "spec: overhead": "there is no admission by runtime classes",
    "spec: a wrong class of runtimes": "there is no admission by runtime classes",
    "volume: a projection of nothing": "there are no warnings of volumes",
}


@pytest.mark.slow
@pytest.mark.parametrize("server", sorted({vector["server"] for vector in recorded("pods")}))
async def test_pods_are_answered_as_recorded(server: str, record_property: Callable[[str, object], None]) -> None:
    vectors = [vector for vector in recorded("pods") if vector["server"] == server]
    config = ServerConfig(token=TOKEN, gates=GATES[server], runtime_config=RUNTIME_CONFIG)
    different: dict[str, tuple[Vector, Vector]] = {}
    async with Server(config) as running, aiohttp.ClientSession(running.url) as session:
        replay = Replay(session, TOKEN)
        await replay.prepare()
        for vector in vectors:
            expected, found = vector["response"], (await replay.response(vector))["response"]
            if comparable(found) != comparable(expected) and vector["name"] not in KNOWN:
                different[vector["name"]] = expected, found
    record_property("summary", f"{len(vectors)} recorded exchanges about pods, {len(different)} answered differently")
    assert different == {}


def test_what_is_known_to_differ_is_still_asked() -> None:
    assert KNOWN.keys() <= {vector["name"] for vector in recorded("pods")}
