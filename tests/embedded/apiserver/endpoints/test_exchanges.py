"""Every recorded exchange with a kube-apiserver 1.37.1, over HTTP, with the embedded server in its place.

``tests/api`` replays most of them without a server, to find the rule that is wrong; what is asked here is the answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest

from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors.exchanges import FILES, GATES, Vector, recorded, without_times
from tests.vectors.replay import RUNTIME_CONFIG, Replay, comparable

TOKEN = "of-the-tests"
# Answers that are known to differ: (server and name of the exchange, what of the answer) and why.
KNOWN: dict[tuple[str, str], str] = {}
_WHOLE = ("object", "body", "contentType", "warning")
_SHARES = ("code", "reason", "causes", "message")


async def replayed() -> AsyncIterator[tuple[Vector, Vector]]:
    """Each exchange, and the answer of a server that is set up as the recorded one was."""
    for name, gates in GATES.items():
        config = ServerConfig(token=TOKEN, gates=gates, runtime_config=RUNTIME_CONFIG)
        async with Server(config) as server, aiohttp.ClientSession(server.url) as session:
            replay = Replay(session, TOKEN)
            await replay.prepare()
            for vector in (vector for file in FILES for vector in recorded(file) if vector["server"] == name):
                yield vector, await replay.response(vector)


def parts(answer: Vector) -> dict[str, Any]:
    """What is compared of an answer, one by one; objects also in the order of their fields."""
    found = comparable(answer["response"])
    status = found.get("body", found)
    details = status.get("details") or {}
    return {
        "code": found["code"],
        "reason": status.get("reason"),
        "causes": sorted(map(str, status.get("causes") or details.get("causes") or ())),
        "message": status.get("message"),
        "object": json.dumps({name: value for name, value in found.items() if name in _WHOLE}),
        "reads": json.dumps(without_times(answer.get("reads"))),
    }


@pytest.mark.slow
async def test_all_recorded_exchanges(record_property: Callable[[str, object], None]) -> None:
    """Prints which share of codes, reasons, causes and messages is the same; what is not must be in ``KNOWN``."""
    compared, same, different = 0, Counter[str](), {}
    async for vector, answer in replayed():
        expected, found = parts(vector), parts(answer)
        compared += 1
        for part in expected:
            if expected[part] == found[part]:
                same[part] += 1
            else:
                different[f"{vector['server']} | {vector['name']}", part] = (expected[part], found[part])
    listed = ", ".join(f"{part} {same[part] / compared:.2%}" for part in _SHARES)
    summary = f"{compared} recorded exchanges with kube-apiserver 1.37.1, the same: {listed}"
    print("\n".join([summary, *(f"{name}, {part}: {reason}" for (name, part), reason in KNOWN.items())]))
    record_property("summary", summary)
    assert {key: answers for key, answers in different.items() if key not in KNOWN} == {}
    assert [key for key in KNOWN if key not in different] == [], "known to differ, but the same"
