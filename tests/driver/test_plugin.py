"""The kubelet plugin over its sockets, as a kubelet talks to it."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import shutil
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import grpc
import msgspec
import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubelet import (
    dra_v1_pb2,
    dra_v1beta1_pb2,
    health_v1_pb2,
    health_v1alpha1_pb2,
    registration_v1_pb2,
    wire,
)
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.pools import Pool
from drakit_client.connection import Connection
from drakit_client.resources import NODES, Resource
from drakit_driver.driver import Driver, NodeDirectories
from drakit_driver.plugin.health import Health
from drakit_driver.plugin.sockets import PluginError, PluginPaths
from drakit_driver.preparing import prepare
from drakit_driver.preparing.checkpoint import Checkpoint, CheckpointError

DRIVER = "gpu.example.com"
NODE = "node-1"
UID = "eb72d4b6-24c9-4078-ba04-b14f2bd22715"
TRANSCRIPT = Path(__file__).parent.parent / "vectors" / "kubelet" / "transcript.jsonl"


def halves(pool: str = NODE) -> Pool:
    """A device and its two halves, drawing on one counter, and one that may be shared."""

    def device(name: str, amount: int) -> Object:
        counters = {"units": {"value": str(amount)}}
        return {"name": name, "consumesCounters": [{"counterSet": "gpu", "counters": counters}]}

    shared = {"name": "shared", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "40Gi"}}}
    return Pool(
        driver=DRIVER,
        name=pool,
        node_name=NODE,
        shared_counters=[{"name": "gpu", "counters": {"units": {"value": "2"}}}],
        devices=[device("whole", 2), device("part-0", 1), device("part-1", 1), shared],
    )


def claim(uid: str, name: str, *devices: str, request: str = "gpu", pool: str = NODE, **result: Any) -> Object:
    results = [{"request": request, "driver": DRIVER, "pool": pool, "device": device, **result} for device in devices]
    return {
        "metadata": {"name": name, "namespace": "default", "uid": uid},
        "status": {"allocation": {"devices": {"results": results}}},
    }


class Kubelet:
    """The client's side of the sockets."""

    def __init__(self, paths: PluginPaths, messages: ModuleType = dra_v1_pb2, version: str = wire.DRA_V1) -> None:
        self._channel = grpc.aio.insecure_channel(f"unix:{paths.dra_socket}")
        self._registration = grpc.aio.insecure_channel(f"unix:{paths.registration_socket}")
        self._messages = messages
        self._service = wire.SERVICES[version]

    async def close(self) -> None:
        await self._channel.close()
        await self._registration.close()

    async def register(self, error: str = "") -> Any:
        info = await self._call(
            self._registration, wire.GET_INFO, registration_v1_pb2.InfoRequest(), registration_v1_pb2.PluginInfo
        )
        verdict = registration_v1_pb2.RegistrationStatus(plugin_registered=not error, error=error)
        response = registration_v1_pb2.RegistrationStatusResponse
        await self._call(self._registration, wire.NOTIFY_REGISTRATION_STATUS, verdict, response)
        return info

    async def prepare(self, *claims: tuple[str, str]) -> dict[str, Any]:
        request = self._messages.NodePrepareResourcesRequest(claims=self._claims(claims))
        answer = await self._call(
            self._channel,
            f"/{self._service}/NodePrepareResources",
            request,
            self._messages.NodePrepareResourcesResponse,
        )
        return dict(answer.claims)

    async def unprepare(self, *claims: tuple[str, str]) -> dict[str, Any]:
        request = self._messages.NodeUnprepareResourcesRequest(claims=self._claims(claims))
        answer = await self._call(
            self._channel,
            f"/{self._service}/NodeUnprepareResources",
            request,
            self._messages.NodeUnprepareResourcesResponse,
        )
        return dict(answer.claims)

    def health(self, messages: ModuleType, version: str) -> Any:
        method = self._channel.unary_stream(
            wire.method_path(version, wire.WATCH_HEALTH_METHOD),
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=messages.NodeWatchResourcesResponse.FromString,
        )
        return method(messages.NodeWatchResourcesRequest())

    def _claims(self, claims: tuple[tuple[str, str], ...]) -> list[Any]:
        return [self._messages.Claim(namespace="default", uid=uid, name=name) for uid, name in claims]

    async def _call(self, channel: Any, path: str, request: Any, response: Any) -> Any:
        method = channel.unary_unary(
            path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString,
        )
        return await method(request, timeout=10)


class Fixture:
    """A running driver and a kubelet that talks to it."""

    def __init__(self, driver: Driver, directory: Path, lines: list[str]) -> None:
        self.driver = driver
        self.paths = PluginPaths(directory / "k", DRIVER)
        self.cdi = directory / "cdi"
        self.lines = lines
        self.kubelet = Kubelet(self.paths)

    def cdi_files(self) -> list[str]:
        return sorted(path.name for path in self.cdi.iterdir()) if self.cdi.exists() else []

    def cdi_devices(self) -> dict[str, list[str]]:
        specs = [json.loads(path.read_text()) for path in self.cdi.iterdir()]
        return {device["name"]: device["containerEdits"]["env"] for spec in specs for device in spec["devices"]}


@asynccontextmanager
async def running(connection: Connection, directory: Path, pools: list[Pool], **options: Any) -> AsyncIterator[Fixture]:
    lines: list[str] = []
    nodes = [NodeDirectories(NODE, directory / "k", directory / "cdi")]
    driver = Driver(
        connection, DRIVER, pools, gates=FeatureGates(), nodes=nodes, publish=False, report=lines.append, **options
    )
    await driver.start()
    fixture = Fixture(driver, directory, lines)
    try:
        yield fixture
    finally:
        await fixture.kubelet.close()
        await driver.stop()


@pytest.fixture
async def plugin(connection: Connection, short_dir: Path) -> AsyncIterator[Fixture]:
    async with running(connection, short_dir, [halves()]) as fixture:
        yield fixture


async def test_registration_says_what_a_kubelet_expects(plugin: Fixture) -> None:
    info = await plugin.kubelet.register()
    await plugin.driver.ready(1)
    assert (info.type, info.name, info.endpoint) == ("DRAPlugin", DRIVER, str(plugin.paths.dra_socket))
    assert list(info.supported_versions) == [
        "v1.DRAPlugin",
        "v1beta1.DRAPlugin",
        "v1.DRAResourceHealth",
        "v1alpha1.DRAResourceHealth",
    ]
    assert plugin.lines[-1] == f"plugin {DRIVER} on {NODE}: registered with the kubelet"


async def told(lines: list[str], text: str, times: int) -> None:
    while sum(text in line for line in lines) < times:  # noqa: ASYNC110 a driver reports to a plain list
        await asyncio.sleep(0.01)


async def test_that_no_kubelet_asks_is_told_until_one_does(plugin: Fixture) -> None:
    server = plugin.driver.plugins[NODE]
    waiting = asyncio.create_task(server.tell_that_no_kubelet_asks(after=0.01, again=0.01))
    async with asyncio.timeout(30):
        await told(plugin.lines, "no kubelet has registered it", times=2)
        assert str(plugin.paths.registration_socket.parent) in plugin.lines[-1]
        assert "--kubelet-dir" in plugin.lines[-1]
        await plugin.kubelet.register()
        await waiting


async def test_refused_registration_is_told_and_not_ready(plugin: Fixture) -> None:
    with pytest.raises(grpc.aio.AioRpcError):
        await plugin.kubelet.register(error="none of services supported")
    with pytest.raises(TimeoutError, match=r"not registered after 0\.01 s: none of services supported"):
        await plugin.driver.ready(0.01)
    await plugin.kubelet.register()
    await plugin.driver.ready(1)


async def test_sockets_and_state_are_private(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    await plugin.kubelet.prepare((UID, "half"))
    modes = {
        path.name: stat.S_IMODE(path.lstat().st_mode)
        for path in [plugin.paths.registration_socket, *plugin.paths.data_dir.iterdir()]
    }
    assert modes == {
        f"{DRIVER}-reg.sock": 0o600,
        "dra.sock": 0o600,
        "health.sock": 0o600,
        "checkpoint.json": 0o600,
        "instance.lock": 0o600,
    }
    assert stat.S_IMODE(plugin.paths.data_dir.stat().st_mode) == 0o700


async def test_claim_is_prepared_once_and_answered_the_same_again(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    first = await plugin.kubelet.prepare((UID, "half"))
    assert await plugin.kubelet.prepare((UID, "half")) == first
    (device,) = first[UID].devices
    assert (list(device.request_names), device.pool_name, device.device_name) == (["gpu"], NODE, "part-0")
    assert list(device.cdi_device_ids) == [f"k8s.{DRIVER}/claim={UID}-part-0"]
    assert not device.HasField("share_id")
    assert plugin.cdi_files() == [f"k8s.{DRIVER}-claim_{UID}.json"]
    assert plugin.cdi_devices() == {f"{UID}-part-0": [f"DRA_DEVICE_PART_0={DRIVER}/{NODE}/part-0"]}
    asked = f"claim default/half ({UID}): asked to prepare, v1.DRAPlugin"
    assert plugin.lines[1:] == [asked, f"claim default/half ({UID}): prepared node-1/part-0", asked]


async def test_unprepare_removes_everything_and_may_be_repeated(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    await plugin.kubelet.prepare((UID, "half"))
    for _ in range(2):
        answer = await plugin.kubelet.unprepare((UID, "half"))
        assert answer[UID].error == ""
        assert plugin.cdi_files() == []
    assert json.loads((plugin.paths.data_dir / "checkpoint.json").read_text())["data"] == {"claims": {}}


@pytest.mark.parametrize("uid", ["../../etc/passwd", "", "a/b", "x" * 200, "never-prepared"])
async def test_unknown_claim_unprepares_successfully(plugin: Fixture, uid: str) -> None:
    answer = await plugin.kubelet.unprepare((uid, "gone"))
    assert answer[uid].error == ""


def replaced(item: Object) -> None:
    item["metadata"]["uid"] = "other"


def unallocated(item: Object) -> None:
    item["status"] = {}


def other_driver(item: Object) -> None:
    item["status"]["allocation"]["devices"]["results"][0]["driver"] = "else.example.com"


def unknown_device(item: Object) -> None:
    item["status"]["allocation"]["devices"]["results"][0]["device"] = "part-9"


def unknown_pool(item: Object) -> None:
    item["status"]["allocation"]["devices"]["results"][0]["pool"] = "node-2"


def other_node(item: Object) -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-2"]}]}
    item["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [term]}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (replaced, f"claim default/half got replaced: its UID is other, not {UID}"),
        (unallocated, "claim default/half not allocated"),
        (other_driver, f"the allocation has no devices of driver {DRIVER}"),
        (
            unknown_device,
            f"request gpu: device part-9 of pool node-1 does not exist in what driver {DRIVER} publishes",
        ),
        (unknown_pool, f"request gpu: device part-0 of pool node-2 does not exist in what driver {DRIVER} publishes"),
        (other_node, "the allocation is for other nodes than node-1: its nodeSelector does not match"),
    ],
)
async def test_wrong_claims_are_refused(plugin: Fixture, api: Any, fault: Any, message: str) -> None:
    item = claim(UID, "half", "part-0")
    fault(item)
    await api.put("resourceclaims", item)
    answer = await plugin.kubelet.prepare((UID, "half"))
    assert answer[UID].error == message
    assert plugin.cdi_files() == []


async def test_claim_that_is_gone_is_refused(plugin: Fixture) -> None:
    answer = await plugin.kubelet.prepare((UID, "half"))
    assert answer[UID].error == 'retrieve claim default/half: resourceclaims "half" not found'


async def test_each_claim_has_its_own_error(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim("uid-0", "good", "part-0"))
    await api.put("resourceclaims", claim("uid-1", "bad", "part-9"))
    answer = await plugin.kubelet.prepare(("uid-0", "good"), ("uid-1", "bad"), ("uid-2", "gone"))
    assert answer["uid-0"].error == ""
    assert "part-9" in answer["uid-1"].error
    assert "not found" in answer["uid-2"].error
    assert plugin.cdi_files() == [f"k8s.{DRIVER}-claim_uid-0.json"]


async def test_counters_are_never_over_committed(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim("uid-0", "half", "part-0"))
    await api.put("resourceclaims", claim("uid-1", "whole", "whole"))
    assert (await plugin.kubelet.prepare(("uid-0", "half")))["uid-0"].error == ""
    answer = await plugin.kubelet.prepare(("uid-1", "whole"))
    assert answer["uid-1"].error == "pool node-1: counter gpu/units is over-committed: 3 of 2"
    await plugin.kubelet.unprepare(("uid-0", "half"))
    assert (await plugin.kubelet.prepare(("uid-1", "whole")))["uid-1"].error == ""


async def test_over_commitment_inside_one_call_is_seen(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim("uid-0", "whole", "whole"))
    await api.put("resourceclaims", claim("uid-1", "half", "part-1"))
    answer = await plugin.kubelet.prepare(("uid-0", "whole"), ("uid-1", "half"))
    assert [answer[uid].error for uid in ("uid-0", "uid-1")] == [
        "",
        "pool node-1: counter gpu/units is over-committed: 3 of 2",
    ]


async def test_device_of_another_claim_is_refused_unless_for_admins(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim("uid-0", "one", "part-0"))
    await api.put("resourceclaims", claim("uid-1", "two", "part-0"))
    await api.put("resourceclaims", claim("uid-2", "admin", "part-0", "whole", adminAccess=True))
    answer = await plugin.kubelet.prepare(("uid-0", "one"), ("uid-1", "two"), ("uid-2", "admin"))
    assert answer["uid-1"].error == "device part-0 of pool node-1 is already prepared for claim default/one"
    assert answer["uid-2"].error == ""
    assert len(answer["uid-2"].devices) == 2


async def test_shares_of_a_device_add_up_to_its_capacity(plugin: Fixture, api: Any) -> None:
    for index, memory in enumerate(["30Gi", "10Gi", "1"]):
        share: Object = {"shareID": f"share-{index}", "consumedCapacity": {"memory": memory}}
        await api.put("resourceclaims", claim(f"uid-{index}", f"c-{index}", "shared", **share))
    answer = await plugin.kubelet.prepare(*((f"uid-{index}", f"c-{index}") for index in range(3)))
    assert [answer[f"uid-{index}"].error for index in range(3)] == [
        "",
        "",
        "device shared of pool node-1: capacity memory is over-committed: 42949672961 of 42949672960",
    ]
    assert answer["uid-1"].devices[0].share_id == "share-1"


async def test_container_finds_the_devices_of_a_subrequest_under_its_request(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim(UID, "any", "part-1", request="gpu/big"))
    answer = await plugin.kubelet.prepare((UID, "any"))
    assert list(answer[UID].devices[0].request_names) == ["gpu"]


async def test_allocation_that_was_made_anew_is_prepared_anew(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    await plugin.kubelet.prepare((UID, "half"))
    await api.put("resourceclaims", claim(UID, "half", "part-1"))
    answer = await plugin.kubelet.prepare((UID, "half"))
    assert answer[UID].devices[0].device_name == "part-1"
    assert list(plugin.cdi_devices()) == [f"{UID}-part-1"]


def admin(item: Object) -> None:
    del item["status"]["allocation"]["devices"]["results"][0]["adminAccess"]


def more_capacity(item: Object) -> None:
    item["status"]["allocation"]["devices"]["results"][0]["consumedCapacity"] = {"memory": "31Gi"}


def negative_capacity(item: Object) -> None:
    item["status"]["allocation"]["devices"]["results"][0]["consumedCapacity"] = {"memory": "-1"}


@pytest.mark.parametrize(
    ("first", "by_hand", "refusal"),
    [
        (
            claim(UID, "mine", "part-0", adminAccess=True),
            admin,
            "device part-0 of pool node-1 is already prepared for claim default/holder",
        ),
        (
            claim(UID, "mine", "shared", shareID="b", consumedCapacity={"memory": "10Gi"}),
            more_capacity,
            "device shared of pool node-1: capacity memory is over-committed: 44023414784 of 42949672960",
        ),
        (
            claim(UID, "mine", "shared", shareID="b", consumedCapacity={"memory": "10Gi"}),
            negative_capacity,
            "request gpu: device shared of pool node-1: consumed capacity memory must not be negative, is -1",
        ),
        (
            claim(UID, "mine", "part-1"),
            other_node,
            "the allocation is for other nodes than node-1: its nodeSelector does not match",
        ),
    ],
    ids=["admin no more", "more capacity", "negative capacity", "other node"],
)
async def test_what_was_changed_by_hand_after_it_was_prepared_is_looked_at_again(
    plugin: Fixture, api: Any, first: Object, by_hand: Any, refusal: str
) -> None:
    holder = claim("uid-holder", "holder", "part-0")
    share = {**holder["status"]["allocation"]["devices"]["results"][0], "device": "shared"}
    share |= {"shareID": "a", "consumedCapacity": {"memory": "10Gi"}}
    holder["status"]["allocation"]["devices"]["results"].append(share)
    await api.put("resourceclaims", holder)
    await api.put("resourceclaims", copy.deepcopy(first))
    answer = await plugin.kubelet.prepare(("uid-holder", "holder"), (UID, "mine"))
    assert [answer["uid-holder"].error, answer[UID].error] == ["", ""]
    changed = copy.deepcopy(first)
    by_hand(changed)
    await api.put("resourceclaims", changed)
    assert (await plugin.kubelet.prepare((UID, "mine")))[UID].error == refusal


async def test_other_configuration_is_prepared_anew(connection: Connection, short_dir: Path, api: Any) -> None:
    pool = halves()
    attributes = {"type": {"string": "gpu"}, "brand": {"string": "Nvidia"}}
    pool = replace(pool, devices=[{"name": "gpu-0", "attributes": attributes}])

    def configured(interval: str) -> Object:
        sharing = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}}
        parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": sharing}
        item = claim(UID, "mine", "gpu-0")
        entry = {"source": "FromClaim", "opaque": {"driver": DRIVER, "parameters": parameters}}
        item["status"]["allocation"]["devices"]["config"] = [entry]
        return item

    async with running(connection, short_dir, [pool]) as plugin:
        for interval in ("Short", "Long"):
            await api.put("resourceclaims", configured(interval))
            assert (await plugin.kubelet.prepare((UID, "mine")))[UID].error == ""
            (variables,) = plugin.cdi_devices().values()
            assert f"GPU_DEVICE_0_TIMESLICE_INTERVAL={interval}" in variables


async def test_claim_that_an_older_driver_prepared_is_answered_the_same(
    connection: Connection, short_dir: Path, api: Any
) -> None:
    """Its checkpoint has no digest of the allocation, and the device is not published any more."""
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    async with running(connection, short_dir, [halves()]) as plugin:
        first = await plugin.kubelet.prepare((UID, "half"))
        checkpoint = Checkpoint(plugin.paths.data_dir)
    recorded = checkpoint.load()
    checkpoint.save({uid: msgspec.structs.replace(each, allocation="") for uid, each in recorded.items()})
    fewer = replace(halves(), devices=halves().devices[2:])
    async with running(connection, short_dir, [fewer]) as plugin:
        assert await plugin.kubelet.prepare((UID, "half")) == first


async def test_labels_of_the_node_that_change_do_not_matter_to_a_claim_in_use(plugin: Fixture, api: Any) -> None:
    item = claim(UID, "half", "part-0")
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    item["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [term]}
    await api.put("resourceclaims", item)
    await api.put("nodes", {"metadata": {"name": NODE, "labels": {"zone": "a"}}})
    first = await plugin.kubelet.prepare((UID, "half"))
    assert first[UID].error == ""
    await api.put("nodes", {"metadata": {"name": NODE, "labels": {"zone": "b"}}})
    assert await plugin.kubelet.prepare((UID, "half")) == first


async def test_one_claim_alone_cannot_take_more_than_there_is(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim(UID, "all", "shared", shareID="a", consumedCapacity={"memory": "41Gi"}))
    answer = await plugin.kubelet.prepare((UID, "all"))
    assert (
        answer[UID].error
        == "device shared of pool node-1: capacity memory is over-committed: 44023414784 of 42949672960"
    )


async def test_device_that_somebody_has_whole_is_not_shared(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim("uid-0", "whole", "shared"))
    await api.put("resourceclaims", claim("uid-1", "share", "shared", shareID="a"))
    answer = await plugin.kubelet.prepare(("uid-0", "whole"), ("uid-1", "share"))
    assert answer["uid-1"].error == "device shared of pool node-1 is already prepared for claim default/whole"


NO_CLAIMS = {
    "": "claim name '': ",
    "..": "claim name '..': ",
    "../../../v1/nodes": "claim name '../../../v1/nodes': ",
    "a\nb": "claim name 'a\\nb': ",
    "a\0": "claim name 'a\\x00': ",
    "x" * 100_000: f"claim name '{'x' * 60}'...: ",
}


@pytest.mark.parametrize("name", NO_CLAIMS, ids=lambda name: repr(name[:20]))
async def test_names_that_no_claim_can_have_never_reach_the_api_server(plugin: Fixture, api: Any, name: str) -> None:
    await api.put("resourceclaims", claim("uid-0", "good", "part-0"))
    before = set(api.verbs)
    answer = await plugin.kubelet.prepare((UID, name))
    assert answer[UID].error.startswith(NO_CLAIMS[name])
    assert {verb for verb in api.verbs - before if verb[2] == "resourceclaims"} == set()
    assert all(line.isprintable() and len(line) < 1000 for line in plugin.lines)
    assert (await plugin.kubelet.prepare(("uid-0", "good")))["uid-0"].error == ""


async def test_uid_that_means_two_claims_is_refused(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim(UID, "good", "part-0"))
    answer = await plugin.kubelet.prepare((UID, "good"), (UID, "other"), (UID, "good"))
    assert answer[UID].error == f"claim UID {UID} is that of several claims in this call"
    assert plugin.cdi_files() == []


async def test_claim_that_is_nested_too_deep_is_its_own_problem(plugin: Fixture, api: Any) -> None:
    await api.put("resourceclaims", claim("uid-0", "good", "part-0"))
    deep = claim("uid-1", "deep", "part-1")
    await api.put("resourceclaims", deep)
    api.raw["deep"] = json.dumps(deep)[:-1] + ', "spec": ' + '{"a": ' * 30_000 + "1" + "}" * 30_001
    answer = await plugin.kubelet.prepare(("uid-0", "good"), ("uid-1", "deep"))
    assert answer["uid-0"].error == ""
    assert answer["uid-1"].error.startswith("retrieve claim default/deep: GET ")


async def test_claim_that_became_too_deep_does_not_end_a_driver_that_starts(
    connection: Connection, short_dir: Path, api: Any
) -> None:
    await api.put("resourceclaims", deep := claim(UID, "deep", "part-1"))
    async with running(connection, short_dir, [halves()]) as plugin:
        await plugin.kubelet.prepare((UID, "deep"))
    api.raw["deep"] = json.dumps(deep)[:-1] + ', "spec": ' + '{"a": ' * 30_000 + "1" + "}" * 30_001
    async with running(connection, short_dir, [halves()]) as plugin:
        async with asyncio.timeout(10):
            await told(plugin.lines, "claim default/deep stays prepared: GET ", times=1)
        assert plugin.cdi_files() == [f"k8s.{DRIVER}-claim_{UID}.json"]


def without_request(item: Object) -> None:
    del item["status"]["allocation"]["devices"]["results"][0]["request"]


def results_of_text(item: Object) -> None:
    item["status"]["allocation"]["devices"]["results"] = ["part-0"]


def amount_that_is_none(item: Object) -> None:
    item["status"]["allocation"]["devices"]["results"][0]["consumedCapacity"] = {"memory": "much"}


@pytest.mark.parametrize("fault", [without_request, results_of_text, amount_that_is_none])
async def test_allocation_that_no_api_server_should_have_let_through_is_its_own_problem(
    plugin: Fixture, api: Any, fault: Any
) -> None:
    item = claim(UID, "bad", "part-0")
    fault(item)
    await api.put("resourceclaims", item)
    await api.put("resourceclaims", claim("uid-1", "good", "part-1"))
    answer = await plugin.kubelet.prepare((UID, "bad"), ("uid-1", "good"))
    assert answer[UID].error != ""
    assert answer["uid-1"].error == ""


async def test_control_characters_of_a_device_never_reach_a_container(
    connection: Connection, short_dir: Path, api: Any
) -> None:
    attributes = {"type": {"string": "gpu"}, "brand": {"string": "Nvidia"}, "uuid": {"string": "GPU-1\nLD_PRELOAD=/x"}}
    pool = replace(halves(), devices=[{"name": "gpu-0", "attributes": attributes}])
    await api.put("resourceclaims", claim(UID, "mine", "gpu-0"))
    async with running(connection, short_dir, [pool]) as plugin:
        answer = await plugin.kubelet.prepare((UID, "mine"))
        assert answer[UID].error == (
            "request gpu: device gpu-0 of pool node-1: variable GPU_DEVICE_0_UUID must not have control characters in "
            "its value 'GPU-1\\nLD_PRELOAD=/x'"
        )
        assert plugin.cdi_files() == []


async def test_claim_is_read_in_the_version_that_the_server_has(plugin: Fixture, api: Any) -> None:
    api.versions = ["v1beta1"]
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    assert (await plugin.kubelet.prepare((UID, "half")))[UID].error == ""


async def test_api_server_that_is_away_is_an_error_of_the_claim(plugin: Fixture, api: Any) -> None:
    plugin.driver.plugins[NODE].preparer._connection.server = "http://127.0.0.1:1"
    answer = await plugin.kubelet.prepare((UID, "half"))
    assert answer[UID].error.startswith("retrieve claim default/half: Cannot connect to host")


async def test_node_that_cannot_be_read_keeps_no_kubelet_waiting(
    plugin: Fixture, api: Any, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kubelet gives up after 45 s; the labels matter to few claims."""
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    get = connection.get

    async def hang_on_nodes(resource: Resource, *arguments: Any) -> Object:
        if resource == NODES:
            await asyncio.Event().wait()
        return await get(resource, *arguments)

    monkeypatch.setattr(prepare, "_READ_SECONDS", 0.2)
    monkeypatch.setattr(connection, "get", hang_on_nodes)
    async with asyncio.timeout(30):
        assert (await plugin.kubelet.prepare((UID, "half")))[UID].error == ""


async def test_pools_of_other_nodes_cannot_come_later(connection: Connection) -> None:
    driver = Driver(connection, DRIVER, [halves()], gates=FeatureGates())
    with pytest.raises(ValueError, match="had no pools of node-2 when it was made"):
        driver.update([halves(), replace(halves("other"), node_name="node-2")])
    assert driver.publishers[0]._desired.keys() == {NODE}


@pytest.mark.parametrize(
    ("version", "messages"), [(wire.DRA_V1, dra_v1_pb2), (wire.DRA_V1BETA1, dra_v1beta1_pb2)], ids=["v1", "v1beta1"]
)
async def test_only_the_advertised_versions_are_served(
    connection: Connection, short_dir: Path, api: Any, version: str, messages: ModuleType
) -> None:
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    async with running(connection, short_dir, [halves()], plugin_versions=[version]) as fixture:
        info = await fixture.kubelet.register()
        assert list(info.supported_versions) == [version]
        kubelet = Kubelet(fixture.paths, messages, version)
        assert (await kubelet.prepare((UID, "half")))[UID].devices[0].device_name == "part-0"
        await kubelet.close()
        other = wire.DRA_V1 if version == wire.DRA_V1BETA1 else wire.DRA_V1BETA1
        kubelet = Kubelet(fixture.paths, messages, other)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await kubelet.prepare((UID, "half"))
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
        await kubelet.close()


@pytest.mark.parametrize(
    ("messages", "version"),
    [(health_v1_pb2, wire.HEALTH_V1), (health_v1alpha1_pb2, wire.HEALTH_V1ALPHA1)],
    ids=["v1", "v1alpha1"],
)
async def test_health_is_streamed_at_once_and_at_each_change(
    plugin: Fixture, messages: ModuleType, version: str
) -> None:
    stream = plugin.kubelet.health(messages, version)
    first = await asyncio.wait_for(stream.read(), 30)
    assert {(each.device.device_name, each.health) for each in first.devices} == {
        (name, messages.HEALTHY) for name in ("whole", "part-0", "part-1", "shared")
    }
    plugin.driver.plugins[NODE].board.set(NODE, "part-0", Health.UNHEALTHY, "ECC errors")
    second = await asyncio.wait_for(stream.read(), 30)
    (sick,) = (each for each in second.devices if each.health == messages.UNHEALTHY)
    assert (sick.device.pool_name, sick.device.device_name, sick.message) == (NODE, "part-0", "ECC errors")
    stream.cancel()


async def test_second_instance_is_refused_and_the_first_unharmed(plugin: Fixture, connection: Connection) -> None:
    nodes = [NodeDirectories(NODE, plugin.paths.kubelet_dir, plugin.cdi)]
    second = Driver(connection, DRIVER, [halves()], gates=FeatureGates(), nodes=nodes, publish=False)
    with pytest.raises(PluginError, match=rf"already running in .* \(process {os.getpid()}\)"):
        await second.start()
    await plugin.kubelet.register()


async def test_sockets_are_gone_after_stop_and_stale_ones_are_replaced(connection: Connection, short_dir: Path) -> None:
    async with running(connection, short_dir, [halves()]) as fixture:
        paths = fixture.paths
    assert not paths.registration_socket.exists()
    assert not paths.dra_socket.exists()
    assert not paths.health_socket.exists()
    import socket

    for path in (paths.registration_socket, paths.dra_socket, paths.health_socket):
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(path))
    async with running(connection, short_dir, [halves()]) as fixture:
        await fixture.kubelet.register()


async def test_file_in_place_of_a_socket_is_not_removed(connection: Connection, short_dir: Path) -> None:
    paths = PluginPaths(short_dir / "k", DRIVER)
    paths.make_directories()
    paths.dra_socket.write_text("precious")
    with pytest.raises(PluginError, match="is not a socket; remove it"):
        async with running(connection, short_dir, [halves()]):
            pass
    paths.dra_socket.unlink()
    async with running(connection, short_dir, [halves()]) as fixture:
        await fixture.kubelet.register()


async def test_what_cannot_be_written_at_the_start_is_one_error(
    connection: Connection, short_dir: Path, api: Any
) -> None:
    """A claim is prepared, and its CDI spec cannot be written again after a restart."""
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    async with running(connection, short_dir, [halves()]) as fixture:
        await fixture.kubelet.prepare((UID, "half"))
    shutil.rmtree(short_dir / "cdi")
    (short_dir / "cdi").write_text("a file where the directory was")
    with pytest.raises(PluginError, match=r"cannot start in .*: .*File exists: '.*/cdi'"):
        async with running(connection, short_dir, [halves()]):
            pass
    (short_dir / "cdi").unlink()
    async with running(connection, short_dir, [halves()]) as fixture:
        assert fixture.cdi_files() == [f"k8s.{DRIVER}-claim_{UID}.json"]


TRAPS: dict[str, tuple[str, Any, str]] = {
    "checkpoint is a FIFO": ("checkpoint.json", os.mkfifo, r"checkpoint\.json cannot be used \(.* is a FIFO"),
    "checkpoint is a directory": ("checkpoint.json", os.mkdir, "checkpoint.json is a directory, not a regular file"),
    "lock is a directory": ("instance.lock", os.mkdir, "cannot lock: .*instance.lock is a directory"),
    "lock is a FIFO": ("instance.lock", os.mkfifo, "cannot lock: .*instance.lock is a FIFO"),
}


@pytest.mark.parametrize("trap", TRAPS)
async def test_what_lies_in_the_place_of_a_file_is_one_error(
    connection: Connection, short_dir: Path, trap: str
) -> None:
    name, put, refusal = TRAPS[trap]
    (paths := PluginPaths(short_dir / "k", DRIVER)).make_directories()
    put(paths.data_dir / name)
    with pytest.raises((PluginError, CheckpointError), match=refusal):
        async with asyncio.timeout(10), running(connection, short_dir, [halves()]):
            pass


@pytest.mark.parametrize("ending", [".json", ".json.tmp"])
async def test_pipe_in_the_place_of_a_cdi_spec_is_replaced(plugin: Fixture, api: Any, ending: str) -> None:
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    plugin.cdi.mkdir()
    dot = "." if ending.endswith(".tmp") else ""
    os.mkfifo(plugin.cdi / f"{dot}k8s.{DRIVER}-claim_{UID}{ending}")
    assert (await plugin.kubelet.prepare((UID, "half")))[UID].error == ""
    assert list(plugin.cdi_devices()) == [f"{UID}-part-0"]


def test_socket_path_that_is_too_long_is_refused() -> None:
    with pytest.raises(PluginError, match=r"has 1[0-9][0-9] bytes, unix sockets allow 107: use a shorter"):
        PluginPaths(Path("/tmp") / ("d" * 90), DRIVER)


@pytest.mark.parametrize("name", ["Upper.example.com", "a/../b", "", "x" * 64, "-a", "a..b"])
def test_driver_name_that_is_no_name_never_becomes_a_path(name: str) -> None:
    with pytest.raises(PluginError, match="must be a DNS subdomain"):
        PluginPaths(Path("/tmp/k"), name)


async def test_preparation_is_finished_though_the_kubelet_hangs_up(
    plugin: Fixture, api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api.put("resourceclaims", claim(UID, "half", "part-0"))
    preparer = plugin.driver.plugins[NODE].preparer
    saving, hung_up, finished = asyncio.Event(), asyncio.Event(), asyncio.Event()
    save, finish = preparer._save, preparer._finish

    async def slow_save() -> None:
        saving.set()
        await hung_up.wait()
        await save()

    async def tell_when_finished(fresh: Any) -> Any:
        result = await finish(fresh)
        finished.set()
        return result

    monkeypatch.setattr(preparer, "_save", slow_save)
    monkeypatch.setattr(preparer, "_finish", tell_when_finished)
    call = asyncio.ensure_future(plugin.kubelet.prepare((UID, "half")))
    async with asyncio.timeout(30):
        await saving.wait()
        call.cancel()
        # The next call on the same connection is seen after the cancellation of this one.
        await plugin.kubelet.health(health_v1_pb2, wire.HEALTH_V1).read()
        hung_up.set()
        await finished.wait()
    assert preparer.claims[UID].state == "prepared"
    assert len(plugin.cdi_files()) == 1


async def test_claim_that_is_unprepared_while_it_is_read_is_not_prepared(
    plugin: Fixture, api: Any, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kubelet hangs up when a pod ends at once; the device must then be free for the next claim."""
    await api.put("resourceclaims", claim("uid-0", "hasty", "part-0"))
    await api.put("resourceclaims", claim("uid-1", "next", "part-0"))
    get = connection.get
    reading, read = asyncio.Event(), asyncio.Event()

    async def slow_get(resource: Resource, name: str, *arguments: Any) -> Object:
        if name == "hasty":
            reading.set()
            await read.wait()
        return await get(resource, name, *arguments)

    monkeypatch.setattr(connection, "get", slow_get)
    async with asyncio.timeout(30):
        overtaken = asyncio.ensure_future(plugin.kubelet.prepare(("uid-0", "hasty")))
        await reading.wait()
        assert (await plugin.kubelet.unprepare(("uid-0", "hasty")))["uid-0"].error == ""
        read.set()
        assert (await overtaken)["uid-0"].error == "claim default/hasty was unprepared while it was being prepared"
        assert (await plugin.kubelet.prepare(("uid-1", "next")))["uid-1"].error == ""
        await plugin.kubelet.unprepare(("uid-1", "next"))
        assert (await plugin.kubelet.prepare(("uid-0", "hasty")))["uid-0"].error == ""


def recorded_calls() -> list[Object]:
    """Prepare and unprepare of a real kubelet, in order, with the answers of the plugin that was recorded."""
    lines = (json.loads(line) for line in TRANSCRIPT.read_text().splitlines())
    return [line for line in lines if line["what"] in ("NodePrepareResources", "NodeUnprepareResources")]


@pytest.mark.slow
async def test_transcript_of_a_real_kubelet(connection: Connection, short_dir: Path, api: Any) -> None:
    """Every recorded call gets an answer of the recorded shape; CDI names and subrequest names are our own."""
    pool = Pool(driver=DRIVER, name="realk8s-node", node_name=NODE, devices=[{"name": "part-0"}, {"name": "part-1"}])
    async with running(connection, short_dir, [pool]) as fixture:
        kubelets = {
            "v1": fixture.kubelet,
            "v1beta1": Kubelet(fixture.paths, dra_v1beta1_pb2, wire.DRA_V1BETA1),
        }
        for call in recorded_calls():
            (asked,) = call["request"]["claims"]
            recorded = copy.deepcopy(call["reply"]["claims"][asked["uid"]])
            kubelet = kubelets[call["api"]]
            if call["what"] == "NodeUnprepareResources":
                answer = await kubelet.unprepare((asked["uid"], asked["name"]))
                assert answer[asked["uid"]].error == recorded.get("error", "")
                continue
            (device,) = recorded["devices"]
            request, name = device["requestNames"][0], device["deviceName"]
            item = claim(asked["uid"], asked["name"], name, request=request, pool="realk8s-node")
            await api.put("resourceclaims", item)
            answer = await kubelet.prepare((asked["uid"], asked["name"]))
            assert answer[asked["uid"]].error == ""
            (mine,) = answer[asked["uid"]].devices
            assert (mine.pool_name, mine.device_name) == (device["poolName"], device["deviceName"])
            assert list(mine.request_names) == [request.partition("/")[0]]
            assert list(mine.cdi_device_ids) == [f"k8s.{each}" for each in device["cdiDeviceIds"]]
        await kubelets["v1beta1"].close()
