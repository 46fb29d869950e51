"""Admission of custom resources that a program converts: webhooks see the version that they ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, NotFound
from tests.embedded.apiserver.admission.conftest import ALLOW, Webhooks, patch
from tests.vectors import converter
from tests.vectors.converter import Converter

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v2/namespaces/default/things"
THING: Object = {
    "apiVersion": "example.com/v2",
    "kind": "Thing",
    "metadata": {"name": "a"},
    "spec": {"host": "h", "port": "1"},
}


@pytest.fixture
async def program(connection: Connection) -> AsyncIterator[Converter]:
    """A program that converts Things, whose definition is in force."""
    async with converter.running() as made:
        config = {"url": f"{made.url}/things", "caBundle": made.ca}
        names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
        conversion = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]},
        }
        open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        versions = [
            {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": open_schema}}
            for name in ("v1", "v2")
        ]
        spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
        kind = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}
        definition = {**kind, "metadata": {"name": "things.example.com"}, "spec": {**spec, "conversion": conversion}}
        await connection.json("POST", CRDS, definition)
        while not await _is_there(connection):
            pass
        yield made


async def _is_there(connection: Connection) -> bool:
    try:
        await connection.json("GET", THINGS)
    except NotFound:
        return False
    return True


def rules(version: str) -> list[Object]:
    return [{"apiGroups": ["example.com"], "apiVersions": [version], "operations": ["*"], "resources": ["things"]}]


async def test_a_webhook_of_another_version_sees_and_changes_the_object_in_it(
    connection: Connection, webhooks: Webhooks, program: Converter
) -> None:
    change = patch({"op": "replace", "path": "/spec/hostPort", "value": "changed:2"})
    await webhooks.add(lambda _: change, name="mutating", mutating=True, rules=rules("v1"))
    await webhooks.add(lambda _: ALLOW, name="validating", rules=rules("v1"))
    made = await connection.json("POST", THINGS, THING)
    assert made["spec"] == {"host": "changed", "port": "2"}
    (seen,), (judged,) = webhooks.server.asked("mutating"), webhooks.server.asked("validating")
    assert (seen["object"]["apiVersion"], seen["object"]["spec"]) == ("example.com/v1", {"hostPort": "h:1"})
    assert judged["object"]["spec"] == {"hostPort": "changed:2"}
    assert (seen["kind"]["version"], seen["requestKind"]["version"]) == ("v1", "v2")


async def test_a_write_that_cannot_be_shown_to_a_webhook_is_refused(
    connection: Connection, webhooks: Webhooks, program: Converter
) -> None:
    await webhooks.add(lambda _: ALLOW, rules=rules("v1"), failurePolicy="Ignore")
    program.ways["things"] = "failing"
    why = "^Internal error occurred: conversion webhook for example.com/v2, Kind=Thing failed: I cannot do that$"
    with pytest.raises(ApiError, match=why):
        await connection.json("POST", THINGS, THING)
    assert webhooks.server.calls == []
