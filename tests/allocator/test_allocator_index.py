"""What events change is noticed, and nothing else is computed again: index, allocated state, remembered candidates."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import allocate
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.snapshot import Snapshot
from drakit_api.cel import CelRuntimeError, DeviceView, Selector
from drakit_api.kubernetes_objects import Object

_FEATURES = Features.all()
_CLASSES = [{"metadata": {"name": "any"}, "spec": {}}]


def _slice(name: str, *devices: str, pool: str = "pool", generation: int = 1, count: int = 1, **spec: Any) -> Object:
    where = {"name": pool, "generation": generation, "resourceSliceCount": count}
    selection = spec if spec.keys() & {"nodeName", "nodeSelector", "allNodes"} else {"nodeName": "node-1", **spec}
    published = {"driver": "d.example.com", "pool": where, "devices": [{"name": device} for device in devices]}
    return {"metadata": {"name": name}, "spec": {**published, **selection}}


def _claim(count: int = 1, mode: str = "ExactCount", **more: Any) -> Object:
    exactly = {"deviceClassName": "any", "allocationMode": mode, "count": count, **more}
    requests = [{"name": "r", "exactly": exactly}]
    return {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": {"requests": requests}}}


def _devices(
    snapshot: Snapshot,
    allocated: AllocatedState | None = None,
    claim: Object | None = None,
    labels: dict[str, str] | None = None,
) -> list[str] | None:
    node = {"metadata": {"name": "node-1", "labels": labels or {}}}
    results = allocate(node, [claim or _claim()], snapshot, allocated or AllocatedState(_FEATURES))
    return None if results is None else [one["device"] for one in results[0]["devices"]["results"]]


def _snapshot(*slices: Object, **more: Any) -> Snapshot:
    return Snapshot(_FEATURES, slices=slices, classes=_CLASSES, **more)


def _allocation(name: str, *devices: str, **more: Any) -> Object:
    results = [
        {"request": "r", "driver": "d.example.com", "pool": "pool", "device": device, **more} for device in devices
    ]
    return {"metadata": {"name": name}, "status": {"allocation": {"devices": {"results": results}}}}


def test_a_pool_is_complete_when_the_number_of_slices_is_exact() -> None:
    snapshot = _snapshot(_slice("a", "d0", count=2))
    assert _devices(snapshot) is None
    snapshot.put_slice(_slice("b", "d1", count=2))
    assert _devices(snapshot) == ["d0"]
    snapshot.put_slice(_slice("c", "d2", count=2))
    assert _devices(snapshot) is None, "too many slices are as bad as too few"
    snapshot.remove_slice("c")
    snapshot.remove_slice("a")
    snapshot.put_slice(_slice("b", "d1"))
    assert _devices(snapshot) == ["d1"]


def test_a_newer_generation_replaces_the_pool() -> None:
    snapshot = _snapshot(_slice("a", "old"))
    assert _devices(snapshot) == ["old"]
    snapshot.put_slice(_slice("b", "new", generation=2, count=2))
    assert _devices(snapshot) is None
    snapshot.put_slice(_slice("c", "newer", generation=2, count=2))
    assert _devices(snapshot) == ["new"]


def test_a_newer_generation_elsewhere_counts_only_for_an_incomplete_pool() -> None:
    snapshot = _snapshot(_slice("a", "d0"), _slice("b", "d1", generation=2, nodeName="node-2"))
    assert _devices(snapshot) == ["d0"]
    snapshot.put_slice(_slice("a", "d0", count=2))
    everything = _claim(mode="All")
    assert _devices(snapshot, claim=everything) is None, "the pool is being replaced and is not there at all"
    snapshot.remove_slice("b")
    with pytest.raises(AllocationError, match="asks for all devices, but resource pool d"):
        _devices(snapshot, claim=everything)


def test_pools_are_tried_by_name_as_text_and_binding_conditions_last() -> None:
    bound = _slice("z", "bound", pool="p-0")
    bound["spec"]["devices"][0]["bindingConditions"] = ["ready"]
    snapshot = _snapshot(_slice("x", "two", pool="p-2"), _slice("y", "ten", pool="p-10"), bound)
    assert _devices(snapshot, claim=_claim(3)) == ["ten", "two", "bound"]


def test_a_slice_that_moves_to_another_pool_leaves_the_old_one() -> None:
    snapshot = _snapshot(_slice("a", "d0"))
    snapshot.put_slice(_slice("a", "d0", pool="other"))
    assert [pool.id for pool in snapshot.slices.pools(Node("node-1", {}))] == [("d.example.com", "other")]
    snapshot.remove_slice("a")
    snapshot.remove_slice("never-there")
    assert snapshot.slices.pools(Node("node-1", {})) == []


def test_labels_decide_where_a_shared_slice_is_visible() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    snapshot = _snapshot(_slice("a", "d0", nodeSelector={"nodeSelectorTerms": [term]}))
    assert _devices(snapshot) is None
    assert _devices(snapshot, labels={"zone": "a"}) == ["d0"]
    assert _devices(snapshot, labels={"zone": "b"}) is None, "a label that changed is noticed"


@pytest.mark.parametrize(
    "requirement",
    [
        pytest.param({"key": "zone", "operator": "Near"}, id="unknown operator"),
        pytest.param({"key": "zone", "operator": "In"}, id="In without values"),
        pytest.param({"key": "zone", "operator": "Gt", "values": ["x"]}, id="Gt without a number"),
        pytest.param({"key": "zone", "operator": "Exists", "values": ["x"]}, id="Exists with values"),
        pytest.param({"key": "-", "operator": "Exists"}, id="not a label"),
    ],
)
def test_a_broken_node_selector_is_a_fatal_error(requirement: Object) -> None:
    term = {"matchExpressions": [requirement]}
    snapshot = _snapshot(_slice("a", "d0", nodeSelector={"nodeSelectorTerms": [term]}))
    with pytest.raises(AllocationError, match="failed to perform node selection for slice a") as raised:
        _devices(snapshot)
    assert not raised.value.on_node


def test_allocated_devices_are_skipped_until_released() -> None:
    snapshot, allocated = _snapshot(_slice("a", "d0", "d1")), AllocatedState(_FEATURES)
    claim = _allocation("first", "d0")
    allocated.add_claim(claim)
    assert _devices(snapshot, allocated) == ["d1"]
    allocated.add_claim(_allocation("second", "d1"))
    assert _devices(snapshot, allocated) is None
    allocated.remove_claim(claim)
    assert _devices(snapshot, allocated) == ["d0"]


def test_a_device_held_twice_is_free_after_both_claims_are_gone() -> None:
    allocated, pool = AllocatedState(_FEATURES), ("d.example.com", "pool")
    one, other = _allocation("one", "d0"), _allocation("other", "d0")
    empty = allocated.token(pool)
    allocated.add_claim(one)
    allocated.add_claim(other)
    allocated.remove_claim(one)
    assert list(allocated.in_pool(pool)) == [(*pool, "d0")]
    allocated.remove_claim(other)
    assert not list(allocated.in_pool(pool))
    assert allocated.token(pool) is empty, "what was computed for an empty pool holds again"


def test_shares_and_their_capacity_are_given_back() -> None:
    allocated, device = AllocatedState(_FEATURES), ("d.example.com", "pool", "d0")
    one = _allocation("one", "d0", shareID="s1", consumedCapacity={"bw": "1500m"})
    other = _allocation("other", "d0", shareID="s2", consumedCapacity={"bw": "1"})
    allocated.add_claim(one)
    allocated.add_claim(other)
    assert allocated.consumed(device) == {"bw": 2_500_000_000}
    allocated.remove_claim(one)
    assert allocated.consumed(device) == {"bw": 1_000_000_000}
    assert allocated.is_shared(device)
    allocated.remove_claim(other)
    assert not allocated.is_shared(device)


def test_admin_access_takes_nothing() -> None:
    allocated = AllocatedState.of([_allocation("admin", "d0", adminAccess=True)], _FEATURES)
    assert not allocated.holders


def test_without_consumable_capacity_a_share_takes_the_whole_device() -> None:
    features = Features(partitionable_devices=True)
    allocated = AllocatedState.of([_allocation("one", "d0", shareID="s1")], features)
    assert list(allocated.holders) == [("d.example.com", "pool", "d0")]


def test_taint_rules_come_and_go() -> None:
    snapshot, allocated = _snapshot(_slice("a", "d0", "d1")), AllocatedState(_FEATURES)
    taint = {"key": "health", "effect": "NoSchedule"}
    rule: Object = {"metadata": {"name": "r"}, "spec": {"deviceSelector": {"device": "d0"}, "taint": taint}}
    assert _devices(snapshot, allocated) == ["d0"]
    snapshot.put_taint_rule(rule)
    assert _devices(snapshot, allocated) == ["d1"]
    assert _devices(snapshot, allocated, claim=_claim(tolerations=[{"operator": "Exists"}])) == ["d0"]
    snapshot.put_slice(_slice("a", "d0", "d1"))
    assert _devices(snapshot, allocated) == ["d1"], "a slice that is published again stays tainted"
    snapshot.put_taint_rule({**rule, "spec": {**rule["spec"], "deviceSelector": {"device": "d1"}}})
    assert _devices(snapshot, allocated) == ["d0"]
    snapshot.remove_taint_rule("r")
    assert _devices(snapshot, allocated, claim=_claim(2)) == ["d0", "d1"]


def test_a_failing_selector_is_evaluated_only_as_far_as_the_search_can_get(monkeypatch: pytest.MonkeyPatch) -> None:
    visited: list[DeviceView] = []

    def fails(selector: Selector, view: DeviceView) -> bool:
        visited.append(view)
        raise CelRuntimeError("too expensive")

    monkeypatch.setattr(Selector, "matches", fails)
    published = _slice("a", *(f"d{n}" for n in range(100)))
    for number, device in enumerate(published["spec"]["devices"]):
        device["attributes"] = {"uuid": {"int": number}}
    claim = _claim(selectors=[{"cel": {"expression": 'device.attributes["d.example.com"].uuid == 7'}}])
    with pytest.raises(AllocationError, match=r"selector #0 on device .*/d0: CEL runtime error: too exp"):
        _devices(_snapshot(published), claim=claim)
    assert len(visited) == 1


_SELECTIONS: list[Object] = [{"nodeName": "node-1"}, {"nodeName": "node-2"}, {"allNodes": True}]


def _event(random: Random, slices: dict[str, Object], claims: dict[str, Object]) -> tuple[str, Object]:
    kind = random.choice(["slice", "slice", "no slice", "claim", "claim", "no claim"])
    if kind == "slice":
        name = random.choice("abc")
        return kind, _slice(
            name,
            *random.sample(["d0", "d1", "d2", "d3"], 2),
            pool=random.choice(["pool", "pool", "spare"]),
            generation=random.randint(1, 2),
            count=random.randint(1, 2),
            **random.choice(_SELECTIONS),
        )
    if kind == "claim":
        return kind, _allocation(f"c{len(claims)}-{random.random()}", random.choice(["d0", "d1", "d2", "d3"]))
    known = list((slices if kind == "no slice" else claims).values())
    return (kind, random.choice(known)) if known else ("nothing", {})


@pytest.mark.parametrize("seed", range(40))
def test_events_lead_to_the_same_answers_as_starting_afresh(seed: int) -> None:
    random = Random(seed)
    snapshot, allocated = _snapshot(), AllocatedState(_FEATURES)
    slices: dict[str, Object] = {}
    claims: dict[str, Object] = {}
    for _ in range(60):
        kind, thing = _event(random, slices, claims)
        name = thing.get("metadata", {}).get("name", "")
        if kind == "slice":
            snapshot.put_slice(thing)
            if name in slices and slices[name]["spec"]["pool"]["name"] != thing["spec"]["pool"]["name"]:
                del slices[name]  # the order within a pool, which decides whose slice count is believed, starts anew
            slices[name] = thing
        elif kind == "no slice":
            snapshot.remove_slice(name)
            del slices[name]
        elif kind == "claim":
            allocated.add_claim(thing)
            claims[name] = thing
        elif kind == "no claim":
            allocated.remove_claim(thing)
            del claims[name]
        fresh = _snapshot(*slices.values()), AllocatedState.of(claims.values(), _FEATURES)
        claim = _claim(random.randint(1, 2))
        assert _outcome(snapshot, allocated, claim) == _outcome(*fresh, claim)


def _outcome(snapshot: Snapshot, allocated: AllocatedState, claim: Object) -> Any:
    try:
        return _devices(snapshot, allocated, claim)
    except AllocationError as error:
        return error.message, error.on_node
