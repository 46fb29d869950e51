"""Nodes that are alike get the same answer, device for device; names and values that only differ do not matter."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.devices.columns import attribute_of
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.pools.compared_attributes import Attribute, Value
from drakit_allocator.results.alike_nodes import alike_key, criteria_of, pattern
from drakit_allocator.search import Limits
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import Object

_DRIVER = "d.example.com"
_CLASSES = [{"metadata": {"name": "any"}, "spec": {}}]
_NODES = [Node(f"node-{number}", {}) for number in range(8)]


def _hardware(random: Random) -> list[Object]:
    """Devices of a kind of node; ``{}`` in a text is where the node's name belongs."""
    devices = []
    for number in range(random.randint(2, 6)):
        attributes: Object = {
            "kind": {"string": random.choice("xy")},
            "parent": {"string": f"{{}}-{random.randrange(2)}"},
            "tags": {"strings": [f"{{}}-{one}" for one in random.sample("abc", 2)]},
        }
        device: Object = {"name": f"{{}}-dev-{number}", "attributes": attributes}
        if random.random() < 0.5:
            device["consumesCounters"] = [{"counterSet": "s", "counters": {"a": {"value": str(random.randrange(3))}}}]
        if random.random() < 0.3:
            device |= {"allowMultipleAllocations": True, "capacity": {"bw": {"value": "4"}}}
        devices.append(device)
    return devices


def _named(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _named(one, name) for key, one in value.items()}
    if isinstance(value, list):
        return [_named(one, name) for one in value]
    return value.replace("{}", name) if isinstance(value, str) else value


def _slices(node: Node, devices: list[Object], pools: int) -> list[Object]:
    """One pool, or two between which the devices are divided."""
    counters = [{"name": "s", "counters": {"a": {"value": "3"}}}]
    slices = []
    for number in range(pools):
        spec: Object = {"driver": _DRIVER, "nodeName": node.name}
        spec |= {"pool": {"name": f"{node.name}-{number}", "generation": 1, "resourceSliceCount": 2}}
        contents: list[Object] = [{"sharedCounters": counters}, {"devices": _named(devices[number::pools], node.name)}]
        for part, content in enumerate(contents):
            slices.append({"metadata": {"name": f"{node.name}-{number}-{part}"}, "spec": {**spec, **content}})
    return slices


def _claim(random: Random) -> Object:
    requests: list[Object] = []
    for number in range(random.randint(1, 3)):
        exactly: Object = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": random.randint(1, 2)}
        if random.random() < 0.2:
            exactly["allocationMode"] = "All"
        if random.random() < 0.4:
            expression = f'device.attributes["{_DRIVER}"].kind == "x"'
            exactly["selectors"] = [{"cel": {"expression": expression}}]
        requests.append({"name": f"r{number}", "exactly": exactly})
    attribute = f"{_DRIVER}/{random.choice(['parent', 'tags', 'kind'])}"
    constraints = [{random.choice(["matchAttribute", "distinctAttribute"]): attribute}] if random.random() < 0.6 else []
    devices = {"requests": requests, "constraints": constraints}
    return {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"devices": devices}}


def _allocate_some(random: Random, snapshot: Snapshot, allocated: AllocatedState) -> None:
    for node in _NODES:
        for pool in snapshot.slices.pools(node):
            for name in random.sample(pool.names.values, min(len(pool.names.values), random.randint(0, 1))):
                result: Object = {"request": "r", "driver": _DRIVER, "pool": pool.id[1], "device": name}
                if random.random() < 0.3:
                    result |= {"shareID": name, "consumedCapacity": {"bw": random.choice("12")}}
                allocation = {"devices": {"results": [result]}}
                allocated.add_claim({"metadata": {"name": name}, "status": {"allocation": allocation}})


def _answer(pod: PodAllocation, node: Node) -> Any:
    """The positions of the devices, or why there are none."""
    pools = pod.situation(node).pools
    try:
        solution = pod.on(node, Limits(steps=20_000))
    except AllocationError as error:
        return type(error), error.on_node
    if solution is None:
        return None
    devices = [device.id[1:] for pool in pools for device in pool.devices]
    results = [one for result in solution.results() for one in result["devices"]["results"]]
    return [devices.index((one["pool"], one["device"])) for one in results]


def _groups(pod: PodAllocation, nodes: list[Node]) -> dict[Any, list[Node]]:
    criteria = criteria_of(pod.claims)
    groups: dict[Any, list[Node]] = {}
    for node in nodes:
        alike = alike_key(pod.situation(node).pools, criteria, pod.allocated, node)
        groups.setdefault(node if alike is None else alike, []).append(node)
    return groups


@pytest.mark.parametrize("seed", range(150))
def test_nodes_that_are_alike_get_the_same_answer(seed: int) -> None:
    random, features = Random(seed), Features.all()
    kinds, pools = [_hardware(random) for _ in range(2)], random.randint(1, 2)
    slices = [one for node in _NODES for one in _slices(node, random.choice(kinds), pools)]
    snapshot, allocated = Snapshot(features, slices=slices, classes=_CLASSES), AllocatedState(features)
    for _ in range(2):
        pod = PodAllocation([_claim(random)], snapshot, allocated)
        for alike in _groups(pod, _NODES).values():
            first, *others = [_answer(pod, node) for node in alike]
            assert all(other == first for other in others)
        _allocate_some(random, snapshot, allocated)


def test_nodes_with_the_same_hardware_and_occupation_are_alike() -> None:
    random, features = Random(1), Features.all()
    hardware = _hardware(random)
    slices = [one for node in _NODES for one in _slices(node, hardware, 2)]
    snapshot, allocated = Snapshot(features, slices=slices, classes=_CLASSES), AllocatedState(features)
    claim = _claim(random) | {}
    claim["spec"]["devices"]["constraints"] = [{"matchAttribute": f"{_DRIVER}/tags"}]
    pod = PodAllocation([claim], snapshot, allocated)
    assert len(_groups(pod, _NODES)) == 1
    result = {"request": "r", "driver": _DRIVER, "pool": "node-3-0", "device": "node-3-dev-0"}
    taken = {"metadata": {"name": "t"}, "status": {"allocation": {"devices": {"results": [result]}}}}
    allocated.add_claim(taken)
    assert sorted(map(len, _groups(pod, _NODES).values())) == [1, 7]
    allocated.remove_claim(taken)
    assert len(_groups(pod, _NODES)) == 1


def test_patterns() -> None:
    one, other = Value("int", 1), Value("bool", True)
    assert pattern([one, other, None, one]) == (0, 1, None, 0)
    assert pattern([Value("string", "a"), Value("string", "b"), None, Value("string", "a")]) == (0, 1, None, 0)
    unknown = Attribute("a", None, as_set=False).of_value(attribute_of({"ints": [1]}))
    assert pattern([unknown] * 2) == (-1, -1), "equal to nothing"
    sets = [Value("string", frozenset(letters)) for letters in ("ab", "bc", "ab")]
    assert pattern(sets) == (("string", 0, 1), ("string", 1, 2), ("string", 0, 1))
