"""What a change of a patch, a rule, a class or a slice redoes, and who is told."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from drakit import Features, Node, Snapshot
from drakit_allocator.devices.turns import TurnOver, turn
from drakit_api.slice_patches.merging import patched
from drakit_api.slice_patches.patch import PatchFault, SlicePatch

Object = dict[str, Any]
_FEATURES = Features.all()
_NODES = {name: Node.of({"metadata": {"name": name}}) for name in ("node-1", "node-2")}
_INDEX = "device.attributes['gpu.example.com'].index"


def _slice(node: str, *, driver: str = "gpu.example.com", devices: int = 2, version: str = "1") -> Object:
    listed = [{"name": f"gpu-{number}", "attributes": {"index": {"int": number}}} for number in range(devices)]
    return {
        "metadata": {"name": f"{driver}-{node}", "resourceVersion": version},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": listed,
        },
    }


def _patch(name: str = "a", *, generation: int = 1, on: Object | None = None, **says: Any) -> Object:
    says.setdefault("attributes", {"gpu.example.com/tier": {"string": "gold"}})
    return {
        "metadata": {"name": name, "uid": name, "generation": generation},
        "spec": {"devices": {"filter": on or {}, **says}},
    }


def _selecting(expression: str) -> Object:
    return {"selectors": [{"cel": {"expression": expression}}]}


class _World:
    """A snapshot of two nodes, and who was told what."""

    def __init__(self) -> None:
        self.told: list[set[str]] = []
        self.faults: list[PatchFault] = []
        self.snapshot = Snapshot(_FEATURES, changed=self._changed, failed=self.faults.append)
        for node in _NODES:
            self.snapshot.put_slice(_slice(node))
        self.told.clear()

    def _changed(self, nodes: Any) -> None:
        self.told.append(set(nodes))

    def tiers(self, node: str) -> list[str]:
        (view,) = self.snapshot.pools(_NODES[node])
        found = [device.content.attribute("gpu.example.com/tier") for device in view.devices]
        return ["" if one is None else str(one.published["string"]) for one in found]

    def views(self) -> list[Any]:
        return [self.snapshot.pools(node)[0] for node in _NODES.values()]


@pytest.fixture
def world() -> _World:
    return _World()


class _Looking(_World):
    """One that looks at devices at the moment at which it is told that they have changed."""

    def __init__(self) -> None:
        self.seen: list[list[str]] | None = None
        super().__init__()
        self.seen = []

    def _changed(self, nodes: Any) -> None:
        super()._changed(nodes)
        if self.seen is not None:
            self.seen.append(self.tiers("node-1"))


def test_whoever_is_told_of_a_change_sees_it() -> None:
    world = _Looking()
    world.snapshot.put_patch(_patch())
    world.snapshot.remove_patch("a")
    assert world.seen == [["gold", "gold"], ["", ""]]


@pytest.mark.parametrize(
    ("on", "told"),
    [
        ({}, [{"node-1", "node-2"}]),
        ({"pool": "node-1"}, [{"node-1"}]),
        ({"driver": "gpu.example.com", "pool": "node-2"}, [{"node-2"}]),
        ({"driver": "other.example.com"}, []),
        ({"pool": "node-3"}, []),
    ],
)
def test_only_nodes_that_a_patch_may_concern_are_told(world: _World, on: Object, told: list[set[str]]) -> None:
    world.snapshot.put_patch(_patch(on=on))
    assert world.told == told


def test_all_nodes_are_told_when_a_slice_for_all_of_them_goes() -> None:
    """The stable variant has counter sets of slices for other nodes, too."""
    told: list[set[str]] = []
    snapshot = Snapshot(Features(partitionable_devices=True), changed=lambda nodes: told.append(set(nodes)))
    counters = _slice("node-1", devices=0)
    counters["spec"]["sharedCounters"] = [{"name": "set", "counters": {"memory": {"value": "1"}}}]
    snapshot.put_slice(counters)
    assert len(snapshot.pools(_NODES["node-2"])) == 1
    snapshot.put_slice(_slice("node-1", version="2"))
    assert snapshot.pools(_NODES["node-2"]) == []
    snapshot.put_slice(counters)
    snapshot.remove_slice(counters["metadata"]["name"])
    assert [sorted(nodes) for nodes in told] == [[""], ["", "node-1"], ["", "node-1"], [""]]


def test_a_change_of_metadata_is_none(world: _World) -> None:
    world.snapshot.put_patch(_patch())
    before = world.views()
    world.told.clear()
    changed = _patch()
    changed["metadata"]["labels"] = {"a": "b"}
    world.snapshot.put_patch(changed)
    assert world.told == []
    assert world.views() == before


@pytest.mark.parametrize(
    "on",
    [
        {"device": "gpu-7"},
        _selecting(f"{_INDEX} > 7"),
        {"pool": "node-2"},
        {"deviceClassName": "unknown"},
    ],
)
def test_a_pool_without_a_selected_device_keeps_its_view(world: _World, on: Object) -> None:
    """All that is remembered of a pool hangs on its view."""
    (before, _) = world.views()
    world.snapshot.put_patch(_patch(on=on))
    assert world.views()[0] is before


def test_a_patch_that_says_the_same_again_keeps_the_columns(world: _World) -> None:
    world.snapshot.put_patch(_patch())
    before = [view.table.column("gpu.example.com/tier") for view in world.views()]
    world.snapshot.put_patch(_patch(generation=2, priority=5))
    after = [view.table.column("gpu.example.com/tier") for view in world.views()]
    assert before[0] is before[1] is after[0] is after[1]


def test_a_slice_that_changes_is_patched_alone(world: _World) -> None:
    world.snapshot.put_patch(_patch())
    (_, other) = world.views()
    world.snapshot.put_slice(_slice("node-1", devices=3, version="2"))
    assert world.tiers("node-1") == ["gold"] * 3
    assert world.views()[1] is other


def test_a_class_decides_as_it_is_now(world: _World) -> None:
    world.snapshot.put_patch(_patch(on={"deviceClassName": "gpu"}))
    assert world.tiers("node-1") == ["", ""]
    for expression, tiers in ((f"{_INDEX} == 0", ["gold", ""]), (f"{_INDEX} == 1", ["", "gold"])):
        world.snapshot.put_class({"metadata": {"name": "gpu"}, "spec": _selecting(expression)})
        assert world.tiers("node-1") == tiers
    world.snapshot.remove_class("gpu")
    assert world.tiers("node-1") == ["", ""]


def test_each_cause_of_a_fault_is_told_once_for_a_generation(world: _World) -> None:
    failing = _selecting("device.attributes['gpu.example.com'].missing == 1")
    for generation in (1, 2):
        world.snapshot.put_patch(_patch(generation=generation, on=failing, priority=generation))
        world.views()
        world.views()
    assert [fault.patch.obj["metadata"]["generation"] for fault in world.faults] == [1, 2]
    assert {fault.device for fault in world.faults} == {"gpu.example.com/node-1/gpu-0"}
    assert {fault.error for fault in world.faults} == {"no such key: missing"}
    assert world.snapshot.overlay.faults == world.faults[1:]


def test_a_fault_with_a_value_of_each_device_in_it_is_not_told_for_all_of_them(world: _World) -> None:
    listed = [{"name": f"gpu-{number}", "attributes": {"serial": {"string": f"s{number}"}}} for number in range(100)]
    published = _slice("node-1", version="2")
    published["spec"]["devices"] = listed
    world.snapshot.put_slice(published)
    attributes = "device.attributes['gpu.example.com']"
    world.snapshot.put_patch(_patch(on=_selecting(f"{attributes}[{attributes}.serial] == 1")))
    assert world.tiers("node-1") == [""] * 100
    assert 1 < len(world.faults) <= 20


def test_patches_of_one_pool_that_come_and_go_leave_nothing_behind(world: _World) -> None:
    def objects(rounds: int) -> int:
        for generation in range(rounds):
            world.snapshot.put_patch(_patch("b", generation=generation, on={"pool": "node-1"}, priority=generation))
            world.views()
            world.snapshot.remove_patch("b")
            world.views()
            world.told.clear()
        gc.collect()
        return len(gc.get_objects())

    world.snapshot.put_patch(_patch())
    before = objects(200)
    assert objects(1000) < before + 500


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("device.driver", "must evaluate to bool"),
        (_INDEX, "could not be converted to bool"),
    ],
)
def test_what_is_no_boolean_is_a_fault(world: _World, expression: str, error: str) -> None:
    world.snapshot.put_patch(_patch(on=_selecting(expression)))
    assert world.tiers("node-1") == ["", ""]
    (fault,) = world.faults
    assert error in fault.error


def test_a_selector_that_does_not_compile_is_a_fault_of_the_patch_alone(world: _World) -> None:
    patch = _patch(on=_selecting("nonsense("))
    world.snapshot.put_patch(patch)
    assert [world.tiers(node) for node in _NODES] == [["", ""]] * 2
    (fault,) = world.faults
    assert fault.text.startswith("applies to no device: selector nonsense(: CEL compile error: ")
    # Whoever merges slices without an allocator says the same.
    merged = patched([_slice("node-1")], [SlicePatch.of(patch)])
    assert {one.text for one in merged.faults} == {fault.text}


def test_a_missing_class_is_told_when_somebody_looks_at_devices(world: _World) -> None:
    """A class that is created together with its patch may be heard of a moment later."""
    world.snapshot.put_patch(_patch("a", on={"deviceClassName": "late"}))
    world.snapshot.put_patch(_patch("b", on={"deviceClassName": "never"}))
    world.snapshot.put_class({"metadata": {"name": "late"}, "spec": {}})
    assert world.faults == []
    assert world.tiers("node-1") == ["gold", "gold"]
    assert [fault.text for fault in world.faults] == ["applies to no device: there is no DeviceClass never"]


def test_a_class_that_selects_the_same_devices_as_before_changes_nothing(world: _World) -> None:
    spec = {"selectors": [{"cel": {"expression": f"{_INDEX} == 0"}}]}
    world.snapshot.put_class({"metadata": {"name": "first"}, "spec": spec})
    world.snapshot.put_patch(_patch(on={"deviceClassName": "first"}))
    before = world.views()
    world.told.clear()
    world.snapshot.put_class({"metadata": {"name": "first", "labels": {"a": "b"}}, "spec": spec})
    assert world.told == []
    assert world.views() == before
    assert world.tiers("node-1") == ["gold", ""]


def test_of_a_patch_that_says_the_same_the_latest_metadata_is_known(world: _World) -> None:
    patch = _patch(on={"deviceClassName": "none"})
    world.snapshot.put_patch(patch)
    before = world.views()
    owned = {**patch, "metadata": {**patch["metadata"], "managedFields": [{"manager": "somebody"}]}}
    world.snapshot.put_patch(owned)
    assert world.views() == before
    assert [one.obj for one in world.snapshot.overlay.patches] == [owned]


def test_a_patch_that_says_something_else_of_the_same_devices_evaluates_nothing(world: _World) -> None:
    on = _selecting(f"'the same' != '' && {_INDEX} == 1 || device.attributes['gpu.example.com'].missing")
    world.snapshot.put_patch(_patch(on=on))
    assert world.tiers("node-1") == ["", "gold"]
    says: Object = {"attributes": {"gpu.example.com/tier": {"string": "silver"}}}
    world.snapshot.put_patch(_patch(generation=2, on=on, **says))
    with turn(0):  # one evaluation, and two devices
        assert world.tiers("node-1") == ["", "silver"]
    assert [(fault.patch.obj["metadata"]["generation"], fault.error) for fault in world.faults] == [
        (1, "no such key: missing"),
        (2, "no such key: missing"),
    ]


def test_a_fault_on_one_device_leaves_the_others_patched(world: _World) -> None:
    world.snapshot.put_patch(_patch(on=_selecting(f"{_INDEX} == 0 || device.attributes['gpu.example.com'].missing")))
    assert world.tiers("node-1") == ["gold", ""]
    assert [fault.device for fault in world.faults] == ["gpu.example.com/node-1/gpu-1"]


def test_what_takes_longer_than_a_turn_goes_on_in_the_next_one(world: _World) -> None:
    world.snapshot.put_slice(_slice("node-1", devices=20, version="2"))
    world.snapshot.put_patch(_patch(on=_selecting(f"{_INDEX} % 2 == 0")))
    turns = 0
    while True:
        turns += 1
        try:
            with turn(0):  # one evaluation
                tiers = world.tiers("node-1")
            break
        except TurnOver:
            continue
    assert tiers == ["gold", ""] * 10
    assert turns == 20


def _indexes(world: _World, node: str) -> list[int]:
    (view,) = world.snapshot.pools(_NODES[node])
    return [device.content.attributes["index"].published["int"] for device in view.devices]


def test_what_becomes_of_a_slice_is_not_what_became_of_one_with_other_values(world: _World) -> None:
    """A patch that is about an attribute of which nobody has spoken before."""
    other = _slice("node-2", version="2")
    other["spec"]["devices"][1]["attributes"]["index"]["int"] = 7
    world.snapshot.put_slice(other)
    world.snapshot.put_patch(_patch())
    world.views()
    world.snapshot.put_patch(_patch("b", on={"device": "gpu-0"}, attributes={"gpu.example.com/index": {"int": 5}}))
    assert [_indexes(world, node) for node in _NODES] == [[5, 1], [5, 7]]


def test_a_device_is_found_wherever_it_stands_in_a_slice(world: _World) -> None:
    """Slices that are alike in all that the selector reads have it in different places."""
    other = _slice("node-2", version="2")
    for device, name in zip(other["spec"]["devices"], ("gpu-1", "gpu-0"), strict=True):
        device["name"] = name
    world.snapshot.put_slice(other)
    world.snapshot.put_patch(_patch(on={"device": "gpu-0", **_selecting(f"{_INDEX} < 2")}))
    assert [world.tiers(node) for node in _NODES] == [["gold", ""], ["", "gold"]]


def test_a_slice_that_changes_while_its_pool_is_evaluated_is_evaluated_anew(world: _World) -> None:
    def part(name: str, index: int, version: str) -> Object:
        one = _slice("node-1", devices=1, version=version)
        one["metadata"]["name"] = name
        one["spec"]["pool"]["resourceSliceCount"] = 2
        one["spec"]["devices"] = [{"name": name, "attributes": {"index": {"int": index}}}]
        return one

    world.snapshot.remove_slice("gpu.example.com-node-1")
    world.snapshot.put_slice(part("a", 41, "1"))
    world.snapshot.put_slice(part("b", 42, "1"))
    # No other test has the same expression: what it came to is remembered for all of them.
    world.snapshot.put_patch(_patch(on=_selecting(f"'meanwhile' != '' && {_INDEX} > 40")))
    with pytest.raises(TurnOver), turn(0):
        world.tiers("node-1")
    world.snapshot.put_slice(part("a", 3, "2"))
    assert world.tiers("node-1") == ["", "gold"]


def test_looking_ahead_ends_when_all_pools_are_seen(world: _World) -> None:
    world.snapshot.put_patch(_patch(on=_selecting("device.attributes['gpu.example.com'].missing == 1")))
    while world.snapshot.slices.look_ahead():
        pass
    assert len(world.faults) == 1
    assert not world.snapshot.slices.look_ahead()


def test_taints_of_rules_and_patches_stand_behind_those_of_the_slice(world: _World) -> None:
    def taint(key: str) -> Object:
        return {"key": key, "effect": "NoSchedule"}

    published = _slice("node-1", version="2")
    published["spec"]["devices"][0]["taints"] = [taint("slice")]
    world.snapshot.put_slice(published)
    rule = {"metadata": {"name": "r"}, "spec": {"deviceSelector": {"device": "gpu-0"}, "taint": taint("rule")}}
    world.snapshot.put_taint_rule(rule)
    world.snapshot.put_patch(_patch("low", on={"device": "gpu-0"}, taints=[taint("low")]))
    world.snapshot.put_patch(_patch("high", priority=1, taints=[taint("high")]))
    (view,) = world.snapshot.pools(_NODES["node-1"])
    assert [[one["key"] for one in (*device.content.taints, *device.added_taints)] for device in view.devices] == [
        ["slice", "rule", "high", "low"],
        ["high"],
    ]
    world.snapshot.remove_taint_rule("r")
    world.snapshot.remove_patch("high")
    (view,) = world.snapshot.pools(_NODES["node-1"])
    assert [[one["key"] for one in device.added_taints] for device in view.devices] == [["low"], []]
