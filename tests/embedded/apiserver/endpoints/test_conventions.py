"""What holds for every kind is answered as kube-apiserver 1.37.1 answers it.

``tests.vectors.conventions`` has its answers to odd paths, options of lists and watches, selectors, media types, bodies
and patches. ``DIFFERENCES`` has all that we answer otherwise.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors.conventions import Stage, recorded
from tests.vectors.replay import RUNTIME_CONFIG


class Difference(NamedTuple):
    """Exchanges whose names match a pattern are answered otherwise: how many of them, and why."""

    pattern: str
    number: int
    reason: str


DIFFERENCES = (
    Difference(r"/(proxy|resize)(\?| |$)", 20, "subresources that are not served"),
    Difference(
        r"^paths: \w+ /api/v1/namespaces//", 2, "an empty namespace is none, and only reads are of all namespaces"
    ),
    Difference(r"^paths: POST /\S+/bindings", 1, "bindings are checked in another order"),
    Difference(r"^paths: GET /api/v1/componentstatuses/x", 1, "the resource is called componentstatuses"),
    Difference(r'^patches: .*"op":"copy","from":"/metadata"', 4, "a refusal shows what was copied in another order"),
    Difference(r"^patches: .*setElementOrder/labels", 1, "an order of no list, of a field that is missing"),
    Difference(r"^media types: .*vnd.kubernetes.protobuf", 33, "only single objects are written as protobuf"),
    Difference(r"^media types: .*PartialObjectMetadataList", 5, "a list of metadata is asked for where there is none"),
)


@pytest.mark.slow
async def test_recorded_requests_are_answered_as_the_real_server_did() -> None:
    vectors = recorded()
    config = ServerConfig(token="t", runtime_config=RUNTIME_CONFIG)
    async with Server(config) as server, aiohttp.ClientSession(server.url) as session:
        stage = Stage(session, "t")
        await stage.prepare()
        answers = await stage.answers(vectors)
    different = {
        vector["name"]: (vector["response"], answer)
        for vector, answer in zip(vectors, answers, strict=True)
        if answer != vector["response"]
    }
    for pattern, number, reason in DIFFERENCES:
        known = [name for name in different if re.search(pattern, name)]
        assert len(known) == number, f"{pattern} ({reason}): {len(known)} differ\n{_shown(different, known)}"
        for name in known:
            del different[name]
    assert not different, f"{len(different)} differ\n{_shown(different, list(different))}"


def _shown(different: dict[str, tuple[Object, Object]], names: list[str]) -> str:
    return "\n".join(f"{name}\n  {different[name][0]}\n  {different[name][1]}" for name in names[:10])
