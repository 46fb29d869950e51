"""Expensive selectors are evaluated in turns: each gets further, and the answer is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.devices import turns
from drakit_allocator.devices.devices import PublishedSlice
from drakit_allocator.devices.turns import TurnOver, turn
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.overlays.overlay import Concerned
from drakit_allocator.scheduler.device_search import DeviceSearches
from drakit_allocator.scheduler.nodes.cluster import Cluster
from drakit_allocator.scheduler.queue import DEFAULT_BACKOFF
from drakit_allocator.scheduler.state import State
from drakit_allocator.scheduler.suspects import Suspects
from drakit_allocator.search import Limits
from drakit_allocator.snapshot import Snapshot
from drakit_api.features import FeatureGates
from drakit_api.slice_patches.patch import PatchFault

DEVICES = 12
SLICES = 100


def pod(expression: str) -> tuple[PodAllocation, Node]:
    """A claim with this selector, and a node with devices of which each has a UUID."""
    devices = [{"name": f"d{n}", "attributes": {"uuid": {"string": f"uuid-{n}"}}} for n in range(DEVICES)]
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example.com", "nodeName": "n", "pool": pool, "devices": devices}
    features = Features()
    classes = [{"metadata": {"name": "c"}, "spec": {}}]
    snapshot = Snapshot(features, slices=[{"metadata": {"name": "s"}, "spec": spec}], classes=classes)
    exactly = {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}
    request = {"name": "r", "exactly": {**exactly, "selectors": [{"cel": {"expression": expression}}]}}
    claim: dict[str, Any] = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": {"requests": [request]}}}
    return PodAllocation([claim], snapshot, AllocatedState.of([], features)), Node("n", {})


def answer(allocation: PodAllocation, node: Node) -> object:
    """What ``on`` says, in turns of no time."""
    with turn(0):
        found = allocation.on(node, Limits())
    return None if found is None else found.results()


@pytest.mark.parametrize(
    "condition", ["== 'uuid-7'", "== 'none'", "!= 'uuid-0' && device.attributes['d.example.com'].missing"]
)
def test_each_turn_evaluates_one_more(condition: str) -> None:
    # No other test has the same expression: what it came to is remembered for all of them.
    expression = f"'turns' != '' && device.attributes['d.example.com'].uuid {condition}"
    allocation, node = pod(expression)
    turns = 0
    while True:
        turns += 1
        try:
            found = answer(allocation, node)
        except TurnOver:
            assert turns <= DEVICES
        except AllocationError as error:
            found = str(error)
            break
        else:
            break
    assert turns > 1
    again, node = pod(f"{expression} && true")
    try:
        wanted: object = None if (solution := again.on(node)) is None else solution.results()
    except AllocationError as error:
        wanted = str(error)
    assert found == wanted


def test_a_node_whose_judgement_was_cut_short_is_still_to_be_judged() -> None:
    """Else the next attempt would overlook a selector that fails there: the first ends when its time is over."""
    uuid = "device.attributes['d.example.com'].uuid"
    allocation, node = pod(f"'cut short' != '' && ({uuid} != 'uuid-9' || device.attributes['d.example.com'].missing)")
    cluster, suspects = Cluster(), Suspects()
    cluster.set_node({"metadata": {"name": node.name}})
    assert suspects.next_unjudged(cluster) == node.name
    with pytest.raises(TurnOver), turn(0):
        suspects.judge(allocation, node.name, node)
    assert suspects.next_unjudged(cluster) == node.name
    suspects.judge(allocation, node.name, node)
    assert suspects.names == {node.name}
    assert suspects.next_unjudged(cluster) is None


def _searches(expression: str, *, failed: Callable[[PatchFault], None] | None = None) -> DeviceSearches:
    """Two pools with devices of which each has a UUID, and a patch with a selector."""
    searches = DeviceSearches(FeatureGates(), 10.0, failed=failed)
    for name in ("n", "m"):
        devices = [{"name": f"d{n}", "attributes": {"uuid": {"string": f"{name}-{n}"}}} for n in range(DEVICES)]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "d.example.com", "nodeName": name, "pool": pool, "devices": devices}
        searches.slice_changed(None, {"metadata": {"name": name}, "spec": spec})
    on = {"selectors": [{"cel": {"expression": expression}}]}
    says = {"filter": on, "attributes": {"x.example.com/a": {"int": 1}}}
    searches.patch_changed(None, {"metadata": {"name": "p"}, "spec": {"devices": says}})
    return searches


def test_looking_ahead_takes_turns_until_all_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has not ended when a turn has, else what comes after it would evaluate the rest at one go."""
    monkeypatch.setattr(turns, "SECONDS", 0)
    faults: list[PatchFault] = []
    uuid = "device.attributes['d.example.com'].uuid"
    searches = _searches(
        f"'ahead' != '' && {uuid} == 'm-0' && device.attributes['d.example.com'].a", failed=faults.append
    )
    count = 0
    while searches.look_ahead():
        count += 1
        assert count <= 2 * DEVICES
    assert count > DEVICES
    assert [fault.device for fault in faults] == ["d.example.com/m/d0"]
    with turn(0):
        assert searches.snapshot.slices.pools(Node("n", {}))


def test_a_basis_that_takes_longer_than_a_turn_to_know_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SECONDS", 0)
    searches, cluster = _searches("'basis' != ''"), Cluster()
    cluster.set_node({"metadata": {"name": "n"}})
    node = cluster.get("n")
    assert node is not None
    basis = searches.basis(node)
    assert searches.holds(basis, node)
    on = {"selectors": [{"cel": {"expression": "device.attributes['d.example.com'].uuid == 'holds'"}}]}
    patch = {"metadata": {"name": "q"}, "spec": {"devices": {"filter": on, "taints": []}}}
    searches.patch_changed(None, patch)
    assert not searches.holds(basis, node)
    while searches.look_ahead():
        pass
    assert searches.holds(basis, node)


def test_a_pool_that_cannot_be_looked_at_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    judge, judged = Concerned.judge, list[str]()

    def broken(self: Concerned, slices: Mapping[str, PublishedSlice], *others: Any) -> None:
        judged.extend(slices)
        if "n" in slices:
            raise RuntimeError("nobody has thought of this")
        judge(self, slices, *others)

    monkeypatch.setattr(Concerned, "judge", broken)
    state = State("test", FeatureGates(), DEFAULT_BACKOFF, 10.0)
    state.searches = _searches("true")
    while state.look_ahead():
        assert len(judged) <= 2
    assert judged == ["n", "m"]
    assert "nobody has thought of this" in caplog.text


def test_patches_of_a_large_pool_get_further_each_turn() -> None:
    """More devices, each with a UUID of its own, than are remembered for a selector: none is evaluated twice."""
    pool = {"name": "n", "generation": 1, "resourceSliceCount": SLICES}
    snapshot = Snapshot(Features())
    for number in range(SLICES):
        uuids = [{"string": f"{number}-{device}"} for device in range(DEVICES)]
        devices = [{"name": f"d{number}-{n}", "attributes": {"uuid": uuid}} for n, uuid in enumerate(uuids)]
        spec = {"driver": "d.example.com", "nodeName": "n", "pool": pool, "devices": devices}
        snapshot.put_slice({"metadata": {"name": f"s{number}"}, "spec": spec})
    uuid_is = "'pool' != '' && device.attributes['d.example.com'].uuid == '7-3'"
    wanted = {"selectors": [{"cel": {"expression": uuid_is}}]}
    patch = {"devices": {"filter": wanted, "attributes": {"x.example.com/a": {"int": 1}}}}
    snapshot.put_patch({"metadata": {"name": "p"}, "spec": patch})
    turns = 0
    while True:
        turns += 1
        try:
            with turn(0):
                found = snapshot.slices.pools(Node("n", {}))
            break
        except TurnOver:
            assert turns <= SLICES * DEVICES
    assert turns > 1
    assert [one.id[2] for one in found[0].devices if one.content.attributes.get("x.example.com/a")] == ["d7-3"]
