"""Expensive selectors are evaluated in turns: each gets further, and the answer is the same."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.devices.turns import TurnOver, turn
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.scheduler.nodes.cluster import Cluster
from drakit_allocator.scheduler.suspects import Suspects
from drakit_allocator.search import Limits
from drakit_allocator.snapshot import Snapshot

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
