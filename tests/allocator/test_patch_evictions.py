"""Which pods are evicted for the taints of patches, whatever comes first: the pod, its claim, or the patch."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from drakit_allocator.devices import turns
from drakit_allocator.features import Features
from drakit_allocator.scheduler.claims import Claims
from drakit_allocator.scheduler.patch_evictions import PatchEvictions, taints_since
from drakit_allocator.snapshot import Snapshot
from drakit_client.connection import Connection
from drakit_client.events import EventRecorder

Object = dict[str, Any]
_DRIVER, _DEVICES = "gpu.example.com", 12
_SECONDS = 10.0
_CLAIMED = {"spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "claim"}]}}
_EXTENDED = {"spec": {}, "status": {"extendedResourceClaimStatus": {"resourceClaimName": "claim"}}}


class _Server:
    """An API server, as far as evictions need one."""

    def __init__(self) -> None:
        self.pods: dict[str, Object] = {}
        self.told: list[str] = []

    async def get(self, _: object, name: str, __: str) -> Object:
        return self.pods[name]

    async def patch(self, _: object, name: str, body: Object, *__: object, **___: object) -> Object:
        return self.pods[name] | body

    async def delete(self, _: object, name: str, __: str, *, uid: str) -> None:
        assert self.pods.pop(name)["metadata"]["uid"] == uid

    async def create(self, _: object, event: Object, __: str) -> Object:
        self.told.append(event["message"])
        return event


class _Cluster:
    """A scheduler's view of a pool of devices, and what it evicts."""

    def __init__(self) -> None:
        self.server = _Server()
        connection = cast(Connection, self.server)
        self.claims = Claims(_ignored, _ignored)
        self.seen: dict[str, Object] = {}
        self.looked = 0  # how often
        self.snapshot = Snapshot(Features.all(), changed=lambda _: self.evictions.devices_changed())
        self.evictions = PatchEvictions(
            connection,
            EventRecorder(connection, "test"),
            self.snapshot,
            self.claims,
            pod=self._pod,
        )

    def _pod(self, key: tuple[str, str]) -> Object | None:
        self.looked += 1
        return self.seen.get(key[1])

    def published(self) -> None:
        """Show a slice: each device has a UUID."""
        listed = [{"name": f"gpu-{n}", "attributes": {"uuid": {"string": f"uuid-{n}"}}} for n in range(_DEVICES)]
        pool = {"name": "node", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": _DRIVER, "nodeName": "node", "pool": pool, "devices": listed}
        self.snapshot.put_slice({"metadata": {"name": "slice"}, "spec": spec})

    def patched(self, *, expression: str = "true", value: str = "", **on: Any) -> None:
        """Show a patch that evicts."""
        on["selectors"] = [{"cel": {"expression": expression}}]
        metadata = {"name": "patch", "creationTimestamp": "2026-01-01T00:00:00Z"}
        taint = {"key": "example.com/broken", **({"value": value} if value else {}), "effect": "NoExecute"}
        self.snapshot.put_patch({"metadata": metadata, "spec": {"devices": {"filter": on, "taints": [taint]}}})

    def allocated(self, **tolerates: Any) -> None:
        """Show a claim that has the last device, for the pod."""
        result = {"request": "gpu", "driver": _DRIVER, "pool": "node", "device": f"gpu-{_DEVICES - 1}"}
        if tolerates:
            result["tolerations"] = [{"operator": "Exists", "effect": "NoExecute", **tolerates}]  # type: ignore[assignment]
        reserved = [{"resource": "pods", "name": "pod", "uid": "1"}]
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": reserved}
        claim: Any = {"metadata": {"namespace": "ns", "name": "claim", "uid": "c"}, "status": status}
        self.claims.seen(None, claim)
        self.evictions.claim_changed(None, claim)

    def bound(self, content: Object) -> None:
        """Show the pod on its node."""
        metadata = {"namespace": "ns", "name": "pod", "uid": "1"}
        pod = {**content, "metadata": metadata, "spec": {**content["spec"], "nodeName": "node"}}
        self.seen["pod"] = self.server.pods["pod"] = pod
        self.evictions.pod_changed(None, pod)


def _ignored(_: object) -> None:
    pass


@contextlib.asynccontextmanager
async def _running() -> AsyncIterator[_Cluster]:
    cluster = _Cluster()
    running = asyncio.create_task(cluster.evictions.run())
    try:
        yield cluster
    finally:
        running.cancel()
        await asyncio.wait([running])


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(_SECONDS):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.002)


async def _passes() -> None:
    """Let all be looked at that is known by now."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("pod", [_CLAIMED, _EXTENDED], ids=["claim", "extended resources"])
@pytest.mark.parametrize("late", ["published", "patched", "allocated", "bound"])
def test_a_pod_goes_whatever_is_seen_last(pod: Object, late: str) -> None:
    async def evicts() -> None:
        async with _running() as cluster:
            steps: dict[str, Callable[[], None]] = {
                "published": cluster.published,
                "patched": cluster.patched,
                "allocated": cluster.allocated,
                "bound": lambda: cluster.bound(pod),
            }
            for name, step in steps.items():
                if name != late:
                    step()
            cluster.evictions.look_at_all()
            await _passes()
            steps[late]()
            await _until(lambda: not cluster.server.pods and any(map(_is_marked, cluster.server.told)))

    asyncio.run(evicts())


def _is_marked(message: str) -> bool:
    return message.startswith("Marking for deletion")


@pytest.mark.parametrize(("value", "taint"), [("", "example.com/broken"), ("fan", "example.com/broken=fan")])
def test_log_and_event_name_the_patch_that_evicts(value: str, taint: str, caplog: pytest.LogCaptureFixture) -> None:
    cause = f"taint {taint}:NoExecute of ResourceSlicePatch patch on device {_DRIVER}/node/gpu-{_DEVICES - 1}"

    async def evicts() -> None:
        async with _running() as cluster:
            cluster.published()
            cluster.allocated()
            cluster.bound(_CLAIMED)
            cluster.patched(value=value)
            await _until(lambda: not cluster.server.pods and bool(cluster.server.told))
            assert cluster.server.told == [f"Marking for deletion: {cause}"]

    # As a scheduler logs that was started without -v.
    caplog.set_level(logging.WARNING)
    asyncio.run(evicts())
    assert [record.getMessage() for record in caplog.records] == [f"pod ns/pod is evicted: {cause}"]


def test_a_patch_that_goes_cancels_what_is_planned() -> None:
    async def cancels() -> None:
        async with _running() as cluster:
            cluster.published()
            cluster.allocated(tolerationSeconds=1_000_000_000)
            cluster.bound(_CLAIMED)
            cluster.patched()
            await _until(lambda: bool(cluster.evictions._eviction._planned))
            cluster.snapshot.remove_patch("patch")
            await _until(lambda: cluster.server.told == ["Cancelling deletion"])
            assert cluster.server.pods

    asyncio.run(cancels())


def test_pods_with_devices_that_no_patch_evicts_from_are_not_looked_at() -> None:
    """A patch may be about one pool while slices of all the others change."""

    async def looks() -> None:
        async with _running() as cluster:
            cluster.published()
            cluster.allocated()
            cluster.bound(_CLAIMED)
            cluster.patched(pool="another")
            for _ in range(3):
                cluster.evictions.look_at_all()
                await _passes()
            assert cluster.looked == 0
            cluster.patched(pool="node")
            await _until(lambda: not cluster.server.pods)

    asyncio.run(looks())


def _owner(time: str, *fields: str) -> Object:
    return {"time": time, "fieldsV1": {"f:spec": {"f:devices": {f"f:{field}": {} for field in fields}}}}


@pytest.mark.parametrize(
    ("owners", "since"),
    [
        pytest.param([], "2026-01-01T00:00:00Z", id="no owners are known"),
        pytest.param([_owner("2026-01-02T00:00:00Z", "priority")], "2026-01-01T00:00:00Z", id="of something else"),
        pytest.param([_owner("2026-01-02T00:00:00Z", "taints", "priority")], "2026-01-02T00:00:00Z", id="an owner"),
        pytest.param(
            [_owner("2026-01-03T00:00:00Z", "taints"), _owner("2026-01-02T00:00:00Z", "taints")],
            "2026-01-02T00:00:00Z",
            id="another one who wants the same later",
        ),
        pytest.param([{"time": "2026-01-02T00:00:00Z"}, {"fieldsV1": {}}], "2026-01-01T00:00:00Z", id="odd entries"),
    ],
)
def test_since_when_taints_are_there(owners: list[Object], since: str) -> None:
    metadata = {"name": "patch", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": owners}
    assert taints_since({"metadata": metadata, "spec": {}}) == since


def test_selectors_that_take_long_are_evaluated_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SECONDS", 0)
    uuid = "device.attributes['gpu.example.com'].uuid"

    async def evicts() -> None:
        async with _running() as cluster:
            cluster.published()
            cluster.allocated()
            cluster.bound(_CLAIMED)
            cluster.patched(expression=f"'evictions' != '' && {uuid} == 'uuid-{_DEVICES - 1}'")
            await _until(lambda: not cluster.server.pods)

    asyncio.run(evicts())
