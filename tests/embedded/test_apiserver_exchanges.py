"""Every recorded exchange with a kube-apiserver 1.37.1, over HTTP, with the embedded server in its place.

``tests/api`` replays most of them without a server, to find the rule that is wrong; what is asked here is the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp

from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors.exchanges import FILES, GATES, Vector, recorded, without_times
from tests.vectors.replay import RUNTIME_CONFIG, Replay, comparable

TOKEN = "of-the-tests"
# Answers that are known to differ, by name, and why; nothing but the text of a message may.
KNOWN: dict[str, str] = {}
LEAST_MESSAGES = 0.98
_WHOLE = ("object", "body", "contentType", "warning")


async def replayed() -> AsyncIterator[tuple[Vector, Vector]]:
    """Each exchange, and the answer of a server that is set up as the recorded one was."""
    for name, gates in GATES.items():
        config = ServerConfig(token=TOKEN, gates=gates, runtime_config=RUNTIME_CONFIG)
        async with Server(config) as server, aiohttp.ClientSession(server.url) as session:
            replay = Replay(session, TOKEN)
            await replay.prepare()
            for vector in (vector for file in FILES for vector in recorded(file) if vector["server"] == name):
                yield vector, await replay.response(vector)


def parts(response: Vector) -> dict[str, Any]:
    """What is compared of an answer, one by one."""
    found = comparable(response)
    status = found.get("body", found)
    details = status.get("details") or {}
    return {
        "code": found["code"],
        "reason": status.get("reason"),
        "causes": sorted(map(str, status.get("causes") or details.get("causes") or ())),
        "message": status.get("message"),
        "object": {name: value for name, value in found.items() if name in _WHOLE},
    }


async def test_all_recorded_exchanges(record_property: Callable[[str, object], None]) -> None:
    compared, same, different = 0, Counter[str](), []
    async for vector, answer in replayed():
        expected, found = parts(vector["response"]), parts(answer["response"])
        equal = {part for part in expected if expected[part] == found[part]}
        if without_times(vector.get("reads")) == without_times(answer.get("reads")):
            equal.add("reads")
        compared += 1
        same.update(equal)
        if missing := {*expected, "reads"} - equal:
            different.append((f"{vector['server']} | {vector['name']}", missing))
    shares = {part: same[part] / compared for part in ("code", "reason", "causes", "message")}
    listed = ", ".join(f"{part} {share:.2%}" for part, share in shares.items())
    record_property("summary", f"{compared} recorded exchanges with kube-apiserver 1.37.1, the same: {listed}")
    unknown = [(name, missing) for name, missing in different if name not in KNOWN or missing != {"message"}]
    assert unknown == []
    assert compared == sum(len(recorded(file)) for file in FILES)
    assert shares["message"] >= LEAST_MESSAGES
