"""What is equal is there once, and what nobody publishes any more is not there at all."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.devices import columns
from drakit_allocator.devices.request_kinds import kind_of
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.pools.views import PoolView
from drakit_allocator.snapshot import Snapshot
from drakit_api.cel import DeviceView, Selector
from drakit_api.kubernetes_objects import Object

_FEATURES = Features.all()
_PROFILE = 'device.attributes["d.example.com"].profile == "p1"'
_UUID = 'device.attributes["d.example.com"].uuid == "n1-1"'


class _Json(dict[str, Any]):
    """A dict that can be watched."""


def _slice(node: str, count: int = 4) -> Object:
    devices = [
        _Json(
            name=f"dev-{number}",
            attributes={"profile": {"string": f"p{number % 2}"}, "uuid": {"string": f"{node}-{number}"}},
            consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": str(number)}}}],
        )
        for number in range(count)
    ]
    spec: Object = {"driver": "d.example.com", "nodeName": node, "devices": devices}
    spec |= {"pool": {"name": node, "generation": 1, "resourceSliceCount": 2}}
    return {"metadata": {"name": node}, "spec": spec}


def _counters(node: str) -> Object:
    one = _slice(node, 0)
    one["metadata"]["name"] += "-counters"
    one["spec"]["sharedCounters"] = [_Json(name="s", counters={"c": {"value": "4"}})]
    return one


def _snapshot(*nodes: str) -> Snapshot:
    return Snapshot(_FEATURES, slices=[make(node) for node in nodes for make in (_counters, _slice)])


def _pool(snapshot: Snapshot, node: str) -> PoolView:
    (pool,) = snapshot.slices.pools(Node(node, {}))
    return pool


def _fitting(snapshot: Snapshot, node: str, *expressions: str) -> int | None:
    kind = kind_of(expressions, False, {}, (), fractional=False)
    return _pool(snapshot, node).fitting(kind, AllocatedState(_FEATURES), Node(node, {}))


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The expressions that are evaluated, once for each time."""
    found: list[str] = []
    matches = Selector.matches

    def counted(selector: Selector, view: DeviceView) -> bool:
        found.append(selector.text)
        return matches(selector, view)

    monkeypatch.setattr(Selector, "matches", counted)
    return found


def test_nodes_with_the_same_hardware_share_all_but_what_differs() -> None:
    snapshot = _snapshot("n1", "n2")
    one, other = _pool(snapshot, "n1"), _pool(snapshot, "n2")
    assert one.shape is other.shape
    assert one.names is other.names
    assert one.table.column("profile") is other.table.column("profile")
    assert one.table.column("uuid") is not other.table.column("uuid")


def test_an_expression_is_evaluated_once_for_devices_alike_in_what_it_reads(evaluated: list[str]) -> None:
    expression = f"{_PROFILE} && true"
    snapshot = _snapshot("n1", "n2", "n3")
    assert [_fitting(snapshot, node, expression) for node in ("n1", "n2", "n3")] == [0b1010] * 3
    assert evaluated == [expression] * 2
    snapshot.put_slice(_slice("n2"))
    assert _fitting(snapshot, "n2", expression) == 0b1010
    assert len(evaluated) == 2, "publishing the same again changes no verdict"


def test_what_follows_a_false_expression_is_not_evaluated(evaluated: list[str]) -> None:
    assert _fitting(_snapshot("n1"), "n1", f"{_PROFILE} && !false", f"{_UUID} && !false") == 0b10
    assert sorted(evaluated) == [f"{_PROFILE} && !false"] * 2 + [f"{_UUID} && !false"] * 2


def test_the_decoded_json_is_not_kept() -> None:
    slices = [_counters("n1"), _slice("n1")]
    parts = [*slices[0]["spec"]["sharedCounters"], *slices[1]["spec"]["devices"]]
    watched = [weakref.ref(one) for one in parts]
    snapshot = Snapshot(_FEATURES, slices=slices)
    del slices, parts
    gc.collect()
    assert _fitting(snapshot, "n1", _PROFILE) == 0b1010
    assert not [one for one in watched if one() is not None]


def test_memory_grows_with_the_cluster_and_not_with_time() -> None:
    snapshot = _snapshot("n1", "n2")
    for node in ("n1", "n2"):
        _fitting(snapshot, node, _UUID)

    def known() -> tuple[int, int]:
        gc.collect()
        return len(columns._COLUMNS), len(columns._VALUES)

    before = known()
    for number in range(20):
        snapshot.put_slice(_slice(f"n{number}", number + 1))
        snapshot.put_slice(_counters(f"n{number}"))
        _fitting(snapshot, f"n{number}", _UUID, _PROFILE)
    assert known() > before
    for number in range(3, 20):
        snapshot.remove_slice(f"n{number}")
        snapshot.remove_slice(f"n{number}-counters")
    for node in ("n0", "n0-counters"):
        snapshot.remove_slice(node)
    for node in ("n1", "n2"):
        snapshot.put_slice(_slice(node))
        snapshot.put_slice(_counters(node))
    for node in ("n1", "n2"):
        _fitting(snapshot, node, _UUID)
    assert known() == before


def test_what_a_node_sees_is_the_same_list_until_something_of_it_changes() -> None:
    snapshot = _snapshot("n1", "n2")
    node, elsewhere = Node("n1", {}), Node("n2", {})
    seen, seen_elsewhere = snapshot.slices.pools(node), snapshot.slices.pools(elsewhere)
    snapshot.put_slice(_slice("n2", 3))
    assert snapshot.slices.pools(Node("n1", {})) is seen
    assert snapshot.slices.pools(elsewhere) is not seen_elsewhere
    snapshot.put_slice({**_slice("n3"), "spec": {**_slice("n3")["spec"], "nodeName": None, "allNodes": True}})
    assert snapshot.slices.pools(node) is not seen
    assert len(snapshot.slices.pools(node)) == 2


def test_many_changes_at_once_are_counted_as_well_as_few() -> None:
    snapshot, allocated, node = _snapshot("n1"), AllocatedState(_FEATURES), Node("n1", {})
    kind = kind_of((), False, {}, (), fractional=False)
    pool = _pool(snapshot, "n1")
    result = {"request": "r", "driver": "d.example.com", "pool": "n1", "device": "dev-2"}
    claim = {"metadata": {"name": "c"}, "status": {"allocation": {"devices": {"results": [result]}}}}
    for times in (1, 5, 60):
        assert pool.fitting(kind, allocated, node) == 0b1111
        for _ in range(times):
            allocated.add_claim(claim)
            allocated.remove_claim(claim)
        allocated.add_claim(claim)
        assert pool.fitting(kind, allocated, node) == 0b0011, "what is left is 2, and dev-2 is in use"
        assert list(pool.availability(allocated).free) == [2_000_000_000]
        allocated.remove_claim(claim)
