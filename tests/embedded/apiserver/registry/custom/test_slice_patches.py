"""ResourceSlicePatches behind HTTP: fields of disabled features are dropped, but not what is stored already."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.slice_patches.definition import manifest
from drakit_client.connection import Connection
from drakit_client.errors import Invalid, NotFound
from drakit_client.resources import CUSTOM_RESOURCE_DEFINITIONS, RESOURCE_SLICE_PATCHES
from drakit_embedded.apiserver import Server, ServerConfig

_ALL = {
    "DRAAdminControlledDeviceAttributes": True,
    "DRAConsumableCapacity": True,
    "DRADeviceTaintRules": False,
    "DRADeviceTaints": True,
    "DRAFractionalCapacityRange": False,
    "DRAListTypeAttributes": True,
}
_TAINTS = [{"key": "k", "effect": "NoSchedule"}]
_POLICY = {"default": "1", "validValues": ["1", "2"]}
_FULL: Object = {
    "filter": {"driver": "gpu.example.com"},
    "attributes": {"a.b/one": {"int": 1}, "a.b/many": {"ints": [1, 2]}},
    "capacity": {"a.b/memory": {"value": "2", "requestPolicy": _POLICY}},
    "taints": _TAINTS,
}


@asynccontextmanager
async def _api(**config: Any) -> AsyncIterator[Connection]:
    async with Server(ServerConfig(**config)) as server, Connection(server.url, token=server.token) as api:
        yield api


def _without(name: str) -> FeatureGates:
    return FeatureGates(overrides={**_ALL, name: False})


def _patch(devices: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"devices": devices}}


async def _define(api: Connection) -> None:
    """Define the kind where no gate has done so, and wait until it is served."""
    await api.create(CUSTOM_RESOURCE_DEFINITIONS, manifest()[0])
    async with asyncio.timeout(30):
        while not await _is_served(api):
            pass


async def _is_served(api: Connection) -> bool:
    try:
        await api.json("GET", RESOURCE_SLICE_PATCHES.path())
    except NotFound:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gate", "left"),
    [
        ("DRADeviceTaints", {key: _FULL[key] for key in ("filter", "attributes", "capacity")}),
        ("DRAConsumableCapacity", {**_FULL, "capacity": {"a.b/memory": {"value": "2"}}}),
    ],
)
async def test_fields_of_a_disabled_feature_are_dropped(gate: str, left: Object) -> None:
    async with _api(gates=_without(gate)) as api:
        made = await api.create(RESOURCE_SLICE_PATCHES, _patch(_FULL))
        assert made["spec"]["devices"] == left
        changed = await api.patch(RESOURCE_SLICE_PATCHES, "p", {"spec": {"devices": {**_FULL, "priority": 1}}})
        assert changed["spec"]["devices"] == {**left, "priority": 1}


@pytest.mark.slow
async def test_a_list_without_its_gate_is_no_value() -> None:
    async with _api(gates=_without("DRAListTypeAttributes")) as api:
        with pytest.raises(Invalid, match="must have exactly one of bool"):
            await api.create(RESOURCE_SLICE_PATCHES, _patch({"attributes": {"a.b/many": {"ints": [1]}}}))


@pytest.mark.slow
async def test_without_the_gate_of_patches_attributes_and_capacity_are_dropped() -> None:
    async with _api(gates=_without("DRAAdminControlledDeviceAttributes")) as api:
        await _define(api)
        made = await api.create(RESOURCE_SLICE_PATCHES, _patch(_FULL))
        assert made["spec"]["devices"] == {"filter": _FULL["filter"], "taints": _TAINTS}
        # A patch that says no more is no change.
        again = await api.patch(RESOURCE_SLICE_PATCHES, "p", {"spec": {"devices": _FULL}})
        assert again["metadata"]["generation"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("gate", ["DRAAdminControlledDeviceAttributes", "DRADeviceTaints", "DRAConsumableCapacity"])
async def test_what_is_stored_stays_and_may_be_changed(tmp_path: Path, gate: str) -> None:
    data = tmp_path / "data.sqlite"
    async with _api(data_file=data, gates=FeatureGates(overrides=_ALL)) as api:
        await api.create(RESOURCE_SLICE_PATCHES, _patch(_FULL))
    async with _api(data_file=data, gates=_without(gate)) as api:
        changes: Object = {"attributes": {"a.b/one": {"int": 2}}, "taints": [*_TAINTS, *_TAINTS], "priority": 3}
        changed = await api.patch(RESOURCE_SLICE_PATCHES, "p", {"spec": {"devices": changes}})
        attributes = {**_FULL["attributes"], "a.b/one": {"int": 2}}
        assert changed["spec"]["devices"] == {**_FULL, **changes, "attributes": attributes}


@pytest.mark.slow
@pytest.mark.parametrize("devices", [None, [], "x", {"attributes": [{}]}, {"attributes": {"a.b/c": []}}, {"taints": 1}])
async def test_a_malformed_patch_is_refused_whatever_is_dropped(devices: Any) -> None:
    gates = FeatureGates(overrides={"DRAAdminControlledDeviceAttributes": True, "DRAListTypeAttributes": False})
    async with _api(gates=gates) as api:
        with pytest.raises(Invalid, match="spec"):
            await api.create(RESOURCE_SLICE_PATCHES, _patch(devices))
