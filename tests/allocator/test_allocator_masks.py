"""Masks say what the rules for single devices say, whatever is published, allocated and released."""

from __future__ import annotations

import contextlib
from random import Random
from typing import Any

import pytest

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.candidates import Obstacle, Situation
from drakit_allocator.devices.capacity import CapacityError, fits
from drakit_allocator.devices.columns import bits
from drakit_allocator.devices.counters import Availability
from drakit_allocator.devices.devices import Device
from drakit_allocator.devices.selectors import verdict
from drakit_allocator.devices.taints import first_untolerated
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node, is_reachable
from drakit_allocator.pools.views import PoolView
from drakit_allocator.requests import Request, expand
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import Object

_DRIVER = "d.example.com"
_NODES = [Node("node-1", {"zone": "a"}, frozenset({"DRAOptionalNodeOperations"})), Node("node-2", {"zone": "b"})]
_FEATURES = [
    Features.all(),
    Features.from_names(["PartitionableDevices", "DeviceTaints", "ConsumableCapacity"]),
    Features.from_names(["PartitionableDevices"]),
    Features.from_names(["ConsumableCapacity"]).forced("experimental"),
]
_FEATURES += [one.compatible("safe") for one in _FEATURES]
_EXPRESSIONS = [
    "true",
    f'device.attributes["{_DRIVER}"].kind == "x"',
    f'device.attributes["{_DRIVER}"].?group.orValue(0) > 0',
    f'"kind" in device.attributes["{_DRIVER}"]',
    f'device.attributes["{_DRIVER}"].all(name, name != "group")',
    f'device.capacity["{_DRIVER}"].?bw.hasValue()',
    "device.allowMultipleAllocations",
    'device.attributes["other.example.com"].?kind.orValue("") == "y"',
    f'device.driver == "{_DRIVER}" && device.attributes["{_DRIVER}"].uuid != "u3"',
]
_TAINT = {"key": "k", "effect": "NoSchedule"}


def _maybe(random: Random, chance: float, **more: Any) -> Object:
    return more if random.random() < chance else {}


def _device(random: Random, number: int) -> Object:
    attributes: Object = {"kind": {"string": random.choice("xy")}, "uuid": {"string": f"u{number}"}}
    attributes |= _maybe(random, 0.4, group={"int": random.randrange(3)})
    attributes |= _maybe(random, 0.2, **{"other.example.com/kind": {"string": random.choice("xy")}})
    attributes |= _maybe(random, 0.02, broken={})
    device: Object = {"name": f"dev-{number}", "attributes": attributes}
    if random.random() < 0.6:
        counters = {name: {"value": str(random.randrange(4))} for name in random.sample("ab", random.randint(1, 2))}
        device["consumesCounters"] = [{"counterSet": random.choice(["s0", "s1"]), "counters": counters}]
    device |= _maybe(random, 0.3, allowMultipleAllocations=True)
    device |= _maybe(random, 0.5, capacity={"bw": {"value": "4", "requestPolicy": {"default": "2"}}})
    device |= _maybe(random, 0.15, taints=[_TAINT])
    device |= _maybe(random, 0.15, bindingConditions=["ready"])
    return device


def _selection(random: Random, broken_chance: float = 0) -> Object:
    operator = "Near" if random.random() < broken_chance else "In"
    terms = [{"matchExpressions": [{"key": "zone", "operator": operator, "values": ["a"]}]}]
    return random.choice([{"nodeName": "node-1"}, {"allNodes": True}, {"nodeSelector": {"nodeSelectorTerms": terms}}])


def _slices(random: Random) -> list[Object]:
    numbers = iter(range(100))
    counters = [{"name": name, "counters": {c: {"value": "5"} for c in "ab"}} for name in ("s0", "s1")]
    contents: list[Object] = [{"sharedCounters": counters, "allNodes": True}]
    for _ in range(random.randint(1, 3)):
        devices = [_device(random, next(numbers)) for _ in range(random.randint(0, 8))]
        content: Object = {"devices": devices, **_selection(random)}
        if random.random() < 0.3:
            content = {
                "devices": [{**one, **_selection(random, 0.1)} for one in devices],
                "perDeviceNodeSelection": True,
            }
        contents.append(content | _maybe(random, 0.2, skipNodeOperations=["Prepare"]))
    return [_published(f"s{number}", content, len(contents)) for number, content in enumerate(contents)]


def _published(name: str, content: Object, count: int, pool: str = "pool") -> Object:
    spec = {"driver": _DRIVER, "pool": {"name": pool, "generation": 1, "resourceSliceCount": count}}
    return {"metadata": {"name": name}, "spec": {**spec, **content}}


def _rules(random: Random) -> list[Object]:
    selectors = [{"device": f"dev-{random.randrange(8)}"}, {"driver": _DRIVER, "pool": "elsewhere"}]
    return [
        {"metadata": {"name": f"r{number}"}, "spec": {"deviceSelector": selector, "taint": {**_TAINT, "key": "r"}}}
        for number, selector in enumerate(selectors)
        if random.random() < 0.5
    ]


def _requests(random: Random, snapshot: Snapshot) -> list[Request]:
    features = snapshot.features
    requests: list[Object] = []
    for number in range(4):
        chosen = random.sample(_EXPRESSIONS, random.randint(0, 2))
        exactly: Object = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
        exactly["selectors"] = [{"cel": {"expression": one}} for one in chosen]
        exactly |= _maybe(random, 0.2, adminAccess=True) if features.admin_access else {}
        exactly |= _maybe(random, 0.3, tolerations=[{"key": random.choice("kr"), "operator": "Exists"}])
        if features.consumable_capacity:
            exactly |= _maybe(random, 0.3, capacity={"requests": {"bw": random.choice(["1", "3", "5", "-1"])}})
        requests.append({"name": f"r{number}", "exactly": exactly})
    claim = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": {"requests": requests}}}
    (expanded,) = expand([claim], snapshot.classes, features)
    return [request for alternatives in expanded.requests for request in alternatives]


def _allocation(random: Random, number: int) -> Object:
    results = []
    for device in random.sample(range(16), random.randint(1, 2)):
        result: Object = {"request": "r", "driver": _DRIVER, "pool": "pool", "device": f"dev-{device}"}
        if random.random() < 0.5:
            result |= {"shareID": f"share-{number}-{device}", "consumedCapacity": {"bw": random.choice("0123")}}
        results.append(result)
    return {"metadata": {"name": f"c{number}"}, "status": {"allocation": {"devices": {"results": results}}}}


def _free(pool: PoolView, allocated: AllocatedState) -> Availability:
    """Counted anew."""
    in_pool, layout = set(allocated.in_pool(pool.id)), pool.counters.layout
    devices = (*pool.devices, *pool.others)
    return Availability(pool.counters, [one.content.needs(layout) for one in devices if one.id in in_pool])


class _Faulty(Exception):
    """Visiting the device fails the allocation."""


def _is_selected(request: Request, device: Device, situation: Situation) -> bool:
    """Whether the selectors and the node selection of the device let it through."""
    for expression in request.selectors.expressions:
        found = verdict(device.content, expression)
        if found is not True:
            if found is False:
                return False
            raise _Faulty
    if not device.slice.is_selected_per_device:
        return True
    name, all_nodes, selector = device.node_selection()
    try:
        return is_reachable(situation.node, name or "", all_nodes, selector)
    except AllocationError:
        raise _Faulty from None


def _obstacle(request: Request, device: Device, pool: PoolView, situation: Situation) -> Obstacle | None:
    """By the rules alone, without anything remembered."""
    features, allocated = situation.features, situation.allocated
    if device.slice.skip_node_operations and features.variant == "experimental":
        declared = "DRAOptionalNodeOperations" in situation.node.declared_features
        if not (features.optional_node_operations and declared):
            return Obstacle.NODE_OPERATIONS
    if device.content.consumption:
        if not features.partitionable_devices:
            return Obstacle.PARTITIONS
        free, needs = _free(pool, allocated), device.content.needs(pool.counters.layout)
        is_share = features.consumable_capacity and device.content.is_shareable and allocated.is_shared(device.id)
        is_free = request.has_admin_access and _is_safe(features)
        if not is_share and not is_free and (_is_blocked(device, pool, free) or free.shortage(needs) is not None):
            return Obstacle.COUNTERS
    if features.device_taints and first_untolerated(device, request.spec.get("tolerations") or ()) is not None:
        return Obstacle.TAINTS
    return None


def _is_safe(features: Features) -> bool:
    """Nobody here has some of the defects only."""
    return not features.defects


def _is_blocked(device: Device, pool: PoolView, free: Availability) -> bool:
    """Whether a counter is overdrawn: of the device's counter sets, or with the defect of any."""
    sets = {entry.counter_set for entry in device.content.consumption}
    names = zip(pool.counters.layout.names, free.free, strict=True)
    return any(left < 0 and (not _is_safe(pool.features) or name in sets) for (name, _), left in names)


def _is_in_use(request: Request, device: Device, situation: Situation) -> bool:
    features, allocated = situation.features, situation.allocated
    can_be_shared = features.consumable_capacity and device.content.is_shareable
    is_kept = _is_safe(features) and allocated.is_shared(device.id) and not can_be_shared
    return not request.has_admin_access and (device.id in allocated.holders or is_kept)


def _fits(request: Request, device: Device, pool: PoolView, situation: Situation) -> bool:
    features, allocated = situation.features, situation.allocated
    if device.content.spec.get("bindingConditions") and not features.device_binding_and_status:
        return False
    if _is_in_use(request, device, situation):
        return False
    if not _is_selected(request, device, situation):
        return False
    if features.consumable_capacity:
        amounts = request.amounts(device.content)
        if isinstance(amounts, CapacityError):
            raise _Faulty
        if amounts is None or not fits(device.content.limits, amounts, allocated.consumed(device.id)):
            return False
    return _obstacle(request, device, pool, situation) is None


def _every(request: Request, pool: PoolView, situation: Situation) -> tuple[int, int] | None:
    """What a request for all devices must get, and what of it it cannot get."""
    mask = unusable = 0
    selectable = {pool.devices[position] for position in bits(pool.selectable_mask)}
    for position, device in enumerate(pool.devices):
        try:
            if device not in selectable or not _is_selected(request, device, situation):
                continue
        except _Faulty:
            return None
        if situation.features.consumable_capacity:
            amounts = request.amounts(device.content)
            if isinstance(amounts, CapacityError):
                return None
            if amounts is None or not fits(device.content.limits, amounts):
                continue
        in_use = _is_in_use(request, device, situation)
        mask |= 1 << position
        unusable |= (in_use or _obstacle(request, device, pool, situation) is not None) << position
    return mask, unusable


def _expected(request: Request, pool: PoolView, situation: Situation) -> int | None:
    try:
        return sum(_fits(request, device, pool, situation) << position for position, device in enumerate(pool.devices))
    except _Faulty:
        return None


def _check(situation: Situation, requests: list[Request]) -> int:
    """How many masks were compared."""
    compared = 0
    for pool in situation.pools:
        if situation.features.partitionable_devices:
            found, expected = pool.availability(situation.allocated), _free(pool, situation.allocated)
            is_blocked = expected.overdrawn and not _is_safe(situation.features)
            assert (list(found.free), found.overdrawn) == (list(expected.free), is_blocked)
        for request in requests:
            mask = pool.fitting(request.kind, situation.allocated, situation.node)
            if mask is not None:
                assert mask == _expected(request, pool, situation)
                compared += 1
            every = pool.every(request.kind, situation.allocated, situation.node)
            if every is not None:
                assert every == _every(request, pool, situation)
    return compared


@pytest.mark.parametrize("seed", range(160))
def test_masks_are_what_the_rules_for_devices_say(seed: int) -> None:
    random = Random(seed)
    features = random.choice(_FEATURES)
    classes = [{"metadata": {"name": "any"}, "spec": {}}]
    slices = _slices(random)
    snapshot = Snapshot(features, slices=slices, classes=classes, taint_rules=_rules(random))
    allocated, claims = AllocatedState(features), list[Object]()
    requests = _requests(random, snapshot)
    for step in range(12):
        if claims and random.random() < 0.4:
            allocated.remove_claim(claims.pop(random.randrange(len(claims))))
        else:
            claims.append(_allocation(random, step))
            allocated.add_claim(claims[-1])
        if random.random() < 0.2:
            snapshot.put_slice(random.choice(slices))
        for node in random.sample(_NODES, random.randint(1, 2)):
            with contextlib.suppress(AllocationError):  # of a broken selector in a slice
                _check(Situation(node, snapshot.slices.pools(node), allocated, features), requests)


def test_enough_masks_are_compared() -> None:
    random = Random(0)
    compared = 0
    for _ in range(20):
        snapshot = Snapshot(Features.all(), slices=_slices(random), classes=[{"metadata": {"name": "any"}, "spec": {}}])
        situation = Situation(
            _NODES[0], snapshot.slices.pools(_NODES[0]), AllocatedState(Features.all()), Features.all()
        )
        compared += _check(situation, _requests(random, snapshot))
    assert compared > 40


def test_bits() -> None:
    assert bits(0) == []
    assert bits(0b1011 << 70) == [70, 71, 73]
