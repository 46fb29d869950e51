"""A body full of expressions is judged as one with a few is, and keeps nobody waiting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from drakit_api.features import FeatureGates
from drakit_api.validation import selectors
from drakit_api.validation.claims.resourceclaim import on_create
from drakit_client.connection import Connection
from drakit_client.errors import Invalid
from drakit_embedded.apiserver import Server, ServerConfig

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
# Takes a tenth of a second to compile.
LONG = "[" + "1," * 4900 + "{}].size() > 0"
EXPRESSIONS = ("true", "1", "device.driver ==", "unknown", LONG.format(1), LONG.format("a"), "'a'.matches('[')", LONG)


def claim(*expressions: str) -> dict[str, Any]:
    """A claim with a request for each."""
    requests = [
        {
            "name": f"r{number}",
            "exactly": {
                "deviceClassName": "c",
                "allocationMode": "ExactCount",
                "count": 1,
                "selectors": [{"cel": {"expression": expression}}],
            },
        }
        for number, expression in enumerate(expressions)
    ]
    return {"metadata": {"name": "full", "namespace": "default"}, "spec": {"devices": {"requests": requests}}}


@pytest.mark.slow
def test_what_is_known_ahead_is_what_validation_finds() -> None:
    gates, obj = FeatureGates("1.37"), claim(*EXPRESSIONS)
    found = list(on_create(obj, gates, admin_namespace=False))
    assert len(found) > len(EXPRESSIONS) // 2
    with selectors.with_known(selectors.checked(selectors.expressions(obj), gates)):
        assert list(on_create(obj, gates, admin_namespace=False)) == found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (claim("a", "b"), {(True, "a"), (True, "b")}),
        ({"derivedAttributes": [{"name": "n", "expression": "a"}]}, {(False, "a")}),
        ([{"op": "add", "path": "/spec/selectors/0/cel/expression", "value": "a"}], {(True, "a")}),
        ([{"op": "add", "path": "/spec/selectors/-", "value": {"cel": {"expression": "a"}}}], {(True, "a")}),
        ({"cel": "a", "path": 1, "value": ["expression"], "expression": 1}, set()),
    ],
)
def test_expressions_are_found_in_objects_and_patches(body: Any, found: set[tuple[bool, str]]) -> None:
    assert set(selectors.expressions(body)) == found


@pytest.mark.slow
async def test_others_are_answered_while_expressions_are_compiled() -> None:
    async with Server(ServerConfig(token="t")) as server, Connection(server.url, token="t") as connection:
        full = asyncio.create_task(
            connection.json("POST", CLAIMS, claim(*(LONG.format(number) for number in range(20)), "a"))
        )
        answered = 0
        while not full.done():
            await connection.json("GET", "/api/v1/namespaces/default")
            answered += 1
        with pytest.raises(Invalid, match="undeclared reference to 'a'"):
            await full
        # They were 0 or 1, which may come first, as long as the event loop compiled.
        assert answered > 5
