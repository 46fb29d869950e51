"""The publisher against a small API server: what it writes, in which order, and what it repairs."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.pools import Pool
from drakit_client.connection import Connection
from drakit_driver.publishing.publisher import Publisher
from drakit_driver.reports import Problem

DRIVER = "gpu.example.com"
NODE = "node-1"


def partitions(count: int, *, node: str | None = NODE, name: str = "node-1", value: str = "40Gi") -> Pool:
    """Two slices: one counter set, and ``count`` devices that draw on it."""
    consumes = [{"counterSet": "gpu-0", "counters": {"memory": {"value": "5Gi"}}}]
    return Pool(
        driver=DRIVER,
        name=name,
        node_name=node,
        all_nodes=node is None,
        shared_counters=[{"name": "gpu-0", "counters": {"memory": {"value": value}}}],
        devices=[{"name": f"part-{index}", "consumesCounters": consumes} for index in range(count)],
    )


def plain(count: int, name: str) -> Pool:
    return Pool(driver=DRIVER, name=name, node_name=NODE, devices=[{"name": f"dev-{i}"} for i in range(count)])


@asynccontextmanager
async def publishing(
    connection: Connection, pools: list[Pool], *, node: str | None = NODE, **options: Any
) -> AsyncIterator[tuple[Publisher, list[str]]]:
    lines: list[str] = []
    options = {"repair_seconds": 0.01, "probe_seconds": 0.05, "gates": FeatureGates(), **options}
    publisher = Publisher(connection, DRIVER, pools, node_name=node, report=lines.append, **options)
    task = asyncio.create_task(publisher.run())
    try:
        yield publisher, lines
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def node(api: Any) -> Object:
    created: Object = await api.put("nodes", {"metadata": {"name": NODE}})
    return created


def complete(api: Any, pool: str, generation: int | None = None) -> bool:
    """Whether the pool's slices are consistent, as a consumer sees it."""
    slices = [item for item in api.slices() if item["spec"]["pool"]["name"] == pool]
    if not slices:
        return False
    newest = max(item["spec"]["pool"]["generation"] for item in slices)
    current = [item for item in slices if item["spec"]["pool"]["generation"] == newest]
    whole = len(current) == current[0]["spec"]["pool"]["resourceSliceCount"]
    return whole and generation in (None, newest)


async def test_new_pool_is_created_for_its_node(api: Any, connection: Connection, node: Object) -> None:
    async with publishing(connection, [partitions(3)]) as (publisher, lines):
        await publisher.published(5)
    counters, devices = api.slices()
    assert counters["metadata"]["name"].startswith("00000-gpu.example.com-node-1-")
    assert devices["metadata"]["name"].startswith("00001-gpu.example.com-node-1-")
    assert counters["spec"]["pool"] == {"name": "node-1", "generation": 1, "resourceSliceCount": 2}
    assert counters["spec"]["nodeName"] == NODE
    assert [device["name"] for device in devices["spec"]["devices"]] == ["part-0", "part-1", "part-2"]
    assert counters["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": node["metadata"]["uid"], "controller": True}
    ]
    assert lines == ["pool node-1: published with generation 1, 2 slices (2 created)"]


@pytest.mark.slow
async def test_a_node_that_does_not_exist_is_told_again_and_again(api: Any, connection: Connection) -> None:
    async with publishing(connection, [partitions(1)], remind_seconds=0.2) as (publisher, lines):
        async with asyncio.timeout(10):
            while len(lines) < 3:  # noqa: ASYNC110 a publisher reports to a plain list
                await asyncio.sleep(0.01)
        assert all(isinstance(line, Problem) and f"there is no node {NODE}, or not yet" in line for line in lines)
        await api.put("nodes", {"metadata": {"name": NODE}})
        await publisher.published(5)
    assert not isinstance(lines[-1], Problem)


async def test_network_pool_has_no_owner(api: Any, connection: Connection) -> None:
    async with publishing(connection, [partitions(1, node=None, name="fabric")], node=None) as (publisher, _):
        await publisher.published(5)
    assert all("ownerReferences" not in item["metadata"] for item in api.slices())
    assert all(item["spec"]["allNodes"] is True for item in api.slices())


async def test_same_pools_after_a_restart_are_not_written_again(api: Any, connection: Connection, node: Object) -> None:
    async with publishing(connection, [partitions(3)]) as (publisher, _):
        await publisher.published(5)
    for item in api.slices():
        # What a real server changes on its own: canonical quantities, stamped taints.
        if "sharedCounters" in item["spec"]:
            item["spec"]["sharedCounters"][0]["counters"]["memory"]["value"] = "40960Mi"
    writes = len(api.writes)
    async with publishing(connection, [partitions(3)]) as (publisher, lines):
        await publisher.published(5)
    assert api.writes[writes:] == []
    assert lines == []


async def test_change_of_one_slice_is_one_update_in_the_same_generation(
    api: Any, connection: Connection, node: Object
) -> None:
    async with publishing(connection, [partitions(3)]) as (publisher, _):
        await publisher.published(5)
        writes = len(api.writes)
        publisher.update([partitions(2)])
        await publisher.published(5)
    assert [(verb, obj["spec"]["pool"]["generation"]) for verb, _, obj in api.writes[writes:]] == [("update", 1)]


async def test_change_of_two_slices_is_a_new_generation_of_all(api: Any, connection: Connection, node: Object) -> None:
    other = [plain(1, "other")]
    async with publishing(connection, [partitions(3), *other]) as (publisher, _):
        await publisher.published(5)
        writes = len(api.writes)
        publisher.update([partitions(2, value="80Gi"), *other])
        await publisher.published(5)
    touched = [
        (verb, obj["spec"]["pool"]["name"], obj["spec"]["pool"]["generation"]) for verb, _, obj in api.writes[writes:]
    ]
    assert touched == [("update", "node-1", 2), ("update", "node-1", 2)]


async def test_growing_and_shrinking_keeps_the_pool_from_being_complete_and_wrong(
    api: Any, connection: Connection, node: Object
) -> None:
    """After every single write the newest complete generation, if any, is the old or the new pool."""
    seen: list[list[str]] = []

    def look(_: Object) -> None:
        if complete(api, "node-1"):
            newest = max(item["spec"]["pool"]["generation"] for item in api.slices())
            current = [item for item in api.slices() if item["spec"]["pool"]["generation"] == newest]
            seen.append([device["name"] for item in current for device in item["spec"].get("devices", [])])

    api.admit = look
    many = Pool(driver=DRIVER, name="node-1", node_name=NODE, devices=[{"name": f"d-{i}"} for i in range(300)])
    few = Pool(driver=DRIVER, name="node-1", node_name=NODE, devices=[{"name": f"e-{i}"} for i in range(130)])
    async with publishing(connection, [many]) as (publisher, _):
        await publisher.published(5)
        publisher.update([few])
        await publisher.published(5)
        publisher.update([many])
        await publisher.published(5)
    assert {(len(names), names[0]) for names in seen} <= {(300, "d-0"), (130, "e-0")}
    assert complete(api, "node-1")


def delete_all(items: list[Object]) -> list[Object]:
    return []


def edit_device(items: list[Object]) -> list[Object]:
    items[1]["spec"]["devices"][0]["name"] = "somebody-elses"
    return items


def older_generation(items: list[Object]) -> list[Object]:
    items[0]["spec"]["pool"]["generation"] = 0
    return items


def foreign_slice(items: list[Object]) -> list[Object]:
    extra = copy.deepcopy(items[1])
    extra["metadata"] = {"name": "by-hand"}
    return [*items, extra]


@pytest.mark.parametrize("damage", [delete_all, edit_device, older_generation, foreign_slice])
async def test_damage_by_others_is_repaired(
    api: Any, connection: Connection, node: Object, damage: Callable[[list[Object]], list[Object]]
) -> None:
    """``delete_all`` is what the kubelet does when it restarts."""
    async with publishing(connection, [partitions(3)]) as (publisher, _):
        await publisher.published(5)
        wanted = [without_pool(item) for item in api.slices()]
        damaged = damage(copy.deepcopy(api.slices()))
        for item in api.slices():
            if item["metadata"]["name"] not in {each["metadata"]["name"] for each in damaged}:
                await api.remove("resourceslices", item["metadata"]["name"])
        for item in damaged:
            await api.put("resourceslices", item)
        await api.wait(lambda: complete(api, "node-1") and [without_pool(item) for item in api.slices()] == wanted)


def without_pool(item: Object) -> Object:
    return {key: value for key, value in item["spec"].items() if key != "pool"}


async def test_slices_of_pools_that_are_gone_are_removed(api: Any, connection: Connection, node: Object) -> None:
    async with publishing(connection, [partitions(1), plain(1, "old")]) as (publisher, _):
        await publisher.published(5)
    async with publishing(connection, [partitions(1)]) as (publisher, _):
        await publisher.published(5)
        await api.wait(lambda: {item["spec"]["pool"]["name"] for item in api.slices()} == {"node-1"})


async def test_other_drivers_nodes_and_network_pools_are_left_alone(
    api: Any, connection: Connection, node: Object
) -> None:
    foreign: list[tuple[str, Object]] = [
        ("a", {"driver": "other.example.com", "nodeName": NODE}),
        ("b", {"driver": DRIVER, "nodeName": "node-2"}),
        ("c", {"driver": DRIVER, "allNodes": True}),
    ]
    for name, spec in foreign:
        pool = {"name": "node-1", "generation": 7, "resourceSliceCount": 1}
        await api.put("resourceslices", {"metadata": {"name": name}, "spec": {**spec, "pool": pool, "devices": []}})
    async with publishing(connection, [partitions(1)]) as (publisher, _):
        await publisher.published(5)
        await publisher.cleanup()
    assert [item["metadata"]["name"] for item in api.slices()] == ["a", "b", "c"]


async def test_two_publishers_of_network_pools_keep_to_their_own(api: Any, connection: Connection) -> None:
    async with (
        publishing(connection, [partitions(1, node=None, name="one")], node=None) as (first, _),
        publishing(connection, [partitions(1, node=None, name="two")], node=None) as (second, _),
    ):
        await asyncio.gather(first.published(5), second.published(5))
    assert complete(api, "one")
    assert complete(api, "two")
    assert {verb for verb, _, _ in api.writes} == {"create"}


async def test_dropped_fields_are_reported_and_not_fought_over(api: Any, connection: Connection, node: Object) -> None:
    def drop(obj: Object) -> None:
        obj["spec"].pop("sharedCounters", None)
        for device in obj["spec"].get("devices", []):
            device.pop("consumesCounters", None)

    api.admit = drop
    async with publishing(connection, [partitions(3)], probe_seconds=60) as (publisher, lines):
        await publisher.published(5)
        writes = [item for item in api.writes if item[1] == "resourceslices"]
        assert publisher.dropped() == {"node-1": ["spec.devices[].consumesCounters (3)", "spec.sharedCounters"]}
        await api.wait(lambda: bool(api.events()))
    assert len(writes) == 2
    assert lines[-1] == (
        "pool node-1: the API server dropped spec.devices[].consumesCounters (3), spec.sharedCounters; "
        "disabled features there: DRAPartitionableDevices"
    )
    (event,) = api.events()
    assert (event["reason"], event["type"], event["involvedObject"]["name"]) == ("DroppedFields", "Warning", NODE)
    assert "DRAPartitionableDevices" in event["message"]


async def test_fields_are_published_again_once_the_server_keeps_them(
    api: Any, connection: Connection, node: Object
) -> None:
    api.admit = lambda obj: obj["spec"].pop("sharedCounters", None)
    async with publishing(connection, [partitions(3)]) as (publisher, lines):
        await publisher.published(5)
        assert publisher.dropped()
        api.admit = lambda obj: None
        await api.wait(lambda: any("sharedCounters" in item["spec"] for item in api.slices()))
        await publisher.published(5)
        assert publisher.dropped() == {}
    assert "pool node-1: the API server keeps all fields now" in lines


async def test_refused_slices_are_told_once_and_tried_again(api: Any, connection: Connection, node: Object) -> None:
    from aiohttp import web

    # The server's message has the name that it would have given, which is another one each time.
    suffixes = ["bcdf2", "bcdf4", "bcdf5"]

    def refuse(obj: Object) -> None:
        if suffixes:
            name = f"{obj['metadata']['generateName']}{suffixes.pop()}"
            message = f'ResourceSlice.resource.k8s.io "{name}" is invalid: spec.devices: Too many'
            status = json.dumps({"kind": "Status", "reason": "Invalid", "message": message, "code": 422})
            error = web.HTTPUnprocessableEntity(text=status, content_type="application/json")
            raise error

    api.admit = refuse
    async with publishing(connection, [plain(1, "node-1")]) as (publisher, lines):
        await publisher.published(5)
        await api.wait(lambda: bool(api.events()))
    (told,) = [line for line in lines if "not published" in line]
    assert told.startswith("pool node-1: not published, trying again in 0.1 s: ")
    assert told.endswith("spec.devices: Too many")
    assert (suffixes, len(api.events())) == ([], 1)


async def test_update_keeps_the_time_of_a_taint(api: Any, connection: Connection, node: Object) -> None:
    taint = {"key": "example.com/broken", "effect": "NoSchedule"}

    def stamp(obj: Object) -> None:
        for device in obj["spec"].get("devices", []):
            for each in device.get("taints", []):
                each.setdefault("timeAdded", f"2026-01-01T00:00:0{len(api.writes)}Z")

    def pool(*names: str) -> Pool:
        return Pool(driver=DRIVER, name="p", node_name=NODE, devices=[{"name": n, "taints": [taint]} for n in names])

    api.admit = stamp
    async with publishing(connection, [pool("a")]) as (publisher, _):
        await publisher.published(5)
        (before,) = (item["spec"]["devices"][0]["taints"][0]["timeAdded"] for item in api.slices())
        publisher.update([pool("a", "b")])
        await publisher.published(5)
    (item,) = api.slices()
    assert item["spec"]["devices"][0]["taints"][0]["timeAdded"] == before
    assert "timeAdded" not in taint


@pytest.mark.parametrize("served", [["v1beta1"], ["v1beta2", "v1beta1"], ["v1beta1", "v1"]])
async def test_newest_served_version_is_used(api: Any, connection: Connection, node: Object, served: list[str]) -> None:
    api.versions = served
    async with publishing(connection, [partitions(2)]) as (publisher, _):
        await publisher.published(5)
        writes = len(api.writes)
        publisher.update([partitions(1)])
        await publisher.published(5)
    newest = min(served, key=["v1", "v1beta2", "v1beta1"].index)
    assert {item["apiVersion"] for item in api.slices()} == {f"resource.k8s.io/{newest}"}
    device = api.slices()[1]["spec"]["devices"][0]
    assert ("consumesCounters" in device) == (newest != "v1beta1")
    assert ("consumesCounters" in device.get("basic", {})) == (newest == "v1beta1")
    assert [verb for verb, _, _ in api.writes[writes:]] == ["update"]


async def test_pools_of_one_name_are_refused(connection: Connection) -> None:
    with pytest.raises(ValueError, match="pool names must be unique: node-1, node-1"):
        Publisher(connection, DRIVER, [partitions(1), partitions(2)], node_name=NODE, gates=FeatureGates())


def with_mixins() -> Pool:
    consumes = [{"counterSet": "gpu-0", "includes": ["slice"]}]
    return Pool(
        driver=DRIVER,
        name="node-1",
        node_name=NODE,
        shared_counters=[{"name": "gpu-0", "counters": {"memory": {"value": "40Gi"}}}],
        devices=[{"name": f"part-{index}", "consumesCounters": consumes} for index in range(2)],
        mixins={"deviceCounterConsumption": [{"name": "slice", "counters": {"memory": {"value": "5Gi"}}}]},
    )


def without_mixins(obj: Object) -> None:
    """What an API server does that has never heard of them."""
    obj["spec"].pop("mixins", None)
    for device in obj["spec"].get("devices", []):
        for consumption in device.get("consumesCounters", []):
            consumption.pop("includes", None)


async def test_mixins_are_flattened_for_a_server_that_does_not_keep_them(
    api: Any, connection: Connection, node: Object
) -> None:
    """And never published half: a device without its consumption could be allocated as often as one likes."""
    stored: list[Object] = []

    def admit(obj: Object) -> None:
        without_mixins(obj)
        stored.append(obj)

    api.admit = admit
    gates = FeatureGates(overrides={"DRAResourceSliceMixins": True})
    async with publishing(connection, [with_mixins()], gates=gates) as (publisher, lines):
        await publisher.published(5)
        assert "pool node-1: the API server does not keep mixins, publishing the pool flattened" in lines
        flat = api.slices()[1]["spec"]["devices"][0]["consumesCounters"]
        assert flat == [{"counterSet": "gpu-0", "counters": {"memory": {"value": "5Gi"}}}]
        assert {verb for verb, plural, _ in api.writes if plural == "resourceslices"} == {"create"}
        assert publisher.dropped() == {}
        api.admit = lambda obj: None
        await api.wait(lambda: any("mixins" in item["spec"] for item in api.slices()))
        await publisher.published(5)
    assert "pool node-1: the API server keeps mixins now" in lines
    assert complete(api, "node-1")


async def test_mixins_are_flattened_when_a_server_stops_keeping_them(
    api: Any, connection: Connection, node: Object
) -> None:
    """Its gate was switched off, and the kubelet has wiped the slices: what is published then must be whole."""
    gates = FeatureGates(overrides={"DRAResourceSliceMixins": True})
    async with publishing(connection, [with_mixins()], gates=gates) as (publisher, lines):
        await publisher.published(5)
        assert any("mixins" in item["spec"] for item in api.slices())
        api.admit = without_mixins
        for item in api.slices():
            await api.remove("resourceslices", item["metadata"]["name"])
        await api.wait(lambda: complete(api, "node-1"))
        flat = api.slices()[1]["spec"]["devices"][0]["consumesCounters"]
        assert flat == [{"counterSet": "gpu-0", "counters": {"memory": {"value": "5Gi"}}}]
        assert "pool node-1: the API server does not keep mixins, publishing the pool flattened" in lines
        assert publisher.dropped() == {}


async def test_counters_go_beside_the_devices_for_a_server_that_wants_them_there(
    api: Any, connection: Connection, node: Object
) -> None:
    """Kubernetes 1.34 with DRAPartitionableDevices; and back when the server is upgraded."""
    from aiohttp import web

    def invalid(message: str) -> web.HTTPException:
        status = {"kind": "Status", "reason": "Invalid", "message": message, "code": 422}
        return web.HTTPUnprocessableEntity(text=json.dumps(status), content_type="application/json")

    def old(obj: Object) -> None:
        sets = {each["name"] for each in obj["spec"].get("sharedCounters", [])}
        for device in obj["spec"].get("devices", []):
            if {each["counterSet"] for each in device.get("consumesCounters", [])} - sets:
                raise invalid("must reference a counterSet defined in the ResourceSlice sharedCounters")

    def new(obj: Object) -> None:
        if obj["spec"].get("sharedCounters") and obj["spec"].get("devices"):
            raise invalid("only one of `sharedCounters` or `devices` is allowed")

    api.admit = old
    async with publishing(connection, [partitions(3)]) as (publisher, lines):
        await publisher.published(5)
        (item,) = api.slices()
        assert (len(item["spec"]["sharedCounters"]), len(item["spec"]["devices"])) == (1, 3)
        api.admit = new
        publisher.update([partitions(2)])
        await publisher.published(5)
        assert ["sharedCounters" in each["spec"] for each in api.slices()] == [True, False]
    assert [line for line in lines if "wants" in line] == [
        "pool node-1: the API server wants counters beside the devices that use them",
        "pool node-1: the API server wants counters in slices of their own",
    ]
