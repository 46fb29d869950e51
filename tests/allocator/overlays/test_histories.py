"""After whatever has happened in whatever order, a snapshot is as one that begins with the objects as they are now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.defects import SAFE, UPSTREAM
from drakit_allocator.devices.devices import Device
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.pools.views import PoolView
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import Object
from tests.allocator.overlays.histories import ATTRIBUTES, EXPRESSIONS, History

_EVENTS, _BETWEEN = 120, 10
_FEATURES = {
    "everything": Features.all(),
    "everything, safe": Features.all().compatible("safe"),
    "stable": Features(device_taints=True, partitionable_devices=True, prioritized_list=True),
    "incubating": Features(device_taints=True, consumable_capacity=True, partitionable_devices=True),
    "no taints": Features(consumable_capacity=True, list_type_attributes=True),
}


@pytest.mark.parametrize("features", _FEATURES.values(), ids=_FEATURES)
@pytest.mark.parametrize("seed", range(12))
def test_what_has_been_makes_no_difference(seed: int, features: Features) -> None:
    history = History(seed, features)
    for number in range(1, _EVENTS + 1):
        history.goes_on()
        if number % _BETWEEN == 0:
            _check(history)


def _check(history: History) -> None:
    expressions = [(one,) for one in history.random.sample(EXPRESSIONS, 3)]
    claims = [history.making.claim() for _ in range(2)]
    given = AllocatedState.of(history.claims, history.features)
    for now, afresh in _pairs(history):
        for node in history.nodes.values():
            seen = list(_seen(now, node, history.taken, expressions, claims))
            assert seen == list(_seen(afresh, node, given, expressions, claims))
    # Every pool has been looked at, so that all faults that there are now are known.
    assert _faults(history.afresh(), history) <= _faults(history.snapshot, history)


def _pairs(history: History) -> Iterator[tuple[Snapshot, Snapshot]]:
    """The snapshot and what can be made of it, each with what it should be like."""
    now, afresh = history.snapshot, history.afresh()
    yield now, afresh
    other = UPSTREAM if history.features.defects == SAFE else SAFE
    yield now.under(other), afresh.under(other)
    more = [history.making.patch(name) for name in ("p1", "q")]
    yield now.patched(more), history.afresh(*more)
    yield now.under(other).patched(more), history.afresh(*more).under(other)


def _faults(snapshot: Snapshot, history: History) -> set[tuple[str, str, str]]:
    while snapshot.slices.look_ahead():
        pass
    for name in history.objects["slice"]:
        snapshot.slices.seen(name)
    return {(fault.patch.name, fault.expression, fault.error) for fault in snapshot.overlay.faults}


def _seen(
    snapshot: Snapshot, node: Node, taken: AllocatedState, expressions: Sequence[tuple[str, ...]], claims: list[Object]
) -> Iterator[Any]:
    """All that an allocator may see of the devices of a node, and what it answers."""
    try:
        pools = snapshot.pools(node)
    except AllocationError as error:
        yield error.message
        return
    for pool in pools:
        yield from _of_pool(pool, taken, expressions)
    for claim in claims:
        yield _answer(claim, snapshot, node, taken)


def _of_pool(pool: PoolView, taken: AllocatedState, expressions: Sequence[tuple[str, ...]]) -> Iterator[Any]:
    yield pool.id, pool.problem, pool.reason, pool.has_binding_conditions, pool.has_groups
    left = pool.occupation(taken)
    yield left.in_use, left.shared, left.kept, left.orphaned, left.unaffordable, [*left.availability.free]
    yield from map(_of_device, pool.devices)
    for name in (*ATTRIBUTES, "tier", "index"):
        yield [None if one is None else one.published for one in pool.table.column(name).values]
    for one in expressions:
        selection = pool.selection(one)
        visited = [(position, fault and (fault.position, str(fault.error))) for position, fault in selection.visit()]
        yield one, selection.is_clean(), visited


def _of_device(device: Device) -> Any:
    change = device.slice.change
    patches = () if change is None else change.patches
    applied = [patch.name for patch, mask in patches if mask >> device.position & 1]
    return device.id, device.content.spec, device.added_taints, applied, sorted(device.content.spoiled.attributes)


def _answer(claim: Object, snapshot: Snapshot, node: Node, taken: AllocatedState) -> Any:
    try:
        pod = PodAllocation([claim], snapshot, taken)
        found = pod.on(node)
        allocated = found and [one["device"] for result in found.results() for one in result["devices"]["results"]]
        return allocated, pod.may_end_on(node)
    except AllocationError as error:
        return error.on_node, error.message
