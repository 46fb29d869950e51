"""A long spec that stays is neither validated again, but by another server than found it valid, nor stored again."""

from __future__ import annotations

from pathlib import Path

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.storage.store import Store

TOKEN = "of-the-tests"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
VALID, TWICE = [{"name": "a"}, {"name": "b"}], [{"name": "a"}, {"name": "a"}]


def slice_of(labels: Object, devices: list[Object]) -> Object:
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example.com", "nodeName": "n", "pool": pool, "devices": devices}
    return {"metadata": {"name": "s", "labels": labels}, "spec": spec}


async def put(connection: Connection, labels: Object, devices: list[Object]) -> str:
    """Why the slice was refused, or nothing."""
    try:
        await connection.json("PUT", f"{SLICES}/s", slice_of(labels, devices))
    except ApiError as error:
        return error.message
    return ""


async def test_metadata_are_checked_with_a_spec_that_stays() -> None:
    async with Server(ServerConfig(token=TOKEN)) as server, Connection(server.url, token=TOKEN) as connection:
        await connection.create(resources.RESOURCE_SLICES, slice_of({}, VALID))
        assert await put(connection, {"a": "1"}, VALID) == ""
        assert 'metadata.labels: Invalid value: "b c"' in await put(connection, {"a": "b c"}, VALID)
        assert "spec.devices[1]: Duplicate value" in await put(connection, {}, TWICE)


async def test_what_is_stored_as_it_was_is_no_change() -> None:
    """Nothing is left of what is empty."""
    empty: Object = {"attributes": {}, "capacity": {}, "consumesCounters": [], "taints": []}
    async with Server(ServerConfig(token=TOKEN)) as server, Connection(server.url, token=TOKEN) as connection:
        created = await connection.create(resources.RESOURCE_SLICES, slice_of({}, VALID))
        for devices in (VALID, [{**device, **empty} for device in VALID]):
            assert await put(connection, {}, devices) == ""
            stored = await connection.json("GET", f"{SLICES}/s")
            assert stored["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


@pytest.mark.slow
async def test_what_another_server_has_stored_is_validated_until_it_is_valid(tmp_path: Path) -> None:
    """It had other rules, or other gates."""
    config = ServerConfig(token=TOKEN, data_file=tmp_path / "store.db")
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        await connection.create(resources.RESOURCE_SLICES, slice_of({}, VALID))
    _store_devices(tmp_path / "store.db", TWICE)
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        for number in ("1", "2"):
            assert "spec.devices[1]: Duplicate value" in await put(connection, {"n": number}, TWICE)
        assert [await put(connection, {"n": number}, VALID) for number in ("1", "2")] == ["", ""]


def _store_devices(file: Path, devices: list[Object]) -> None:
    store = Store(file)
    slices = store.collection("resourceslices.resource.k8s.io", lambda _: {})
    store.load()
    stored = slices.records["", "s"].object()
    stored["spec"]["devices"] = devices
    store.put(slices, ("", "s"), stored)
    store.close()
