"""Splitting a pool: every limit of the API holds, the order stays, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.pools import Pool, PoolError
from drakit_api.layouts.slices import resource_slices

_GATES = FeatureGates()
_MIXINS = FeatureGates(overrides={"DRAResourceSliceMixins": True})


def _pool(**members: Any) -> Pool:
    return Pool(driver="d.example.com", name="p", **{"node_name": "n", **members})


def _set(name: str, counters: int = 1) -> Object:
    return {"name": name, "counters": {f"c-{index}": {"value": "1"} for index in range(counters)}}


def _consumer(name: str, *sets: str, counters: int = 1) -> Object:
    amounts = _set("", counters)["counters"]
    return {"name": name, "consumesCounters": [{"counterSet": each, "counters": amounts} for each in sets]}


def _errors(pool: Pool, **options: Any) -> tuple[str, ...]:
    with pytest.raises(PoolError) as caught:
        resource_slices(pool, generation=1, gates=_GATES, **options)
    return caught.value.errors


def _devices(slices: list[Object]) -> list[list[str]]:
    return [[each["name"] for each in slice_["spec"]["devices"]] for slice_ in slices if "devices" in slice_["spec"]]


def test_counter_sets_and_devices_stand_in_separate_slices() -> None:
    slices = resource_slices(
        _pool(shared_counters=[_set("s")], devices=[_consumer("d", "s")]), generation=7, gates=_GATES
    )
    assert [set(each["spec"]) - {"driver", "pool", "nodeName"} for each in slices] == [{"sharedCounters"}, {"devices"}]
    assert [each["spec"]["pool"] for each in slices] == [{"name": "p", "generation": 7, "resourceSliceCount": 2}] * 2
    assert [each["metadata"] for each in slices] == [
        {"generateName": "00000-d.example.com-n-"},
        {"generateName": "00001-d.example.com-n-"},
    ]
    assert {(each["apiVersion"], each["kind"]) for each in slices} == {("resource.k8s.io/v1", "ResourceSlice")}


@pytest.mark.parametrize(
    ("selection", "field"),
    [
        ({"node_name": "n"}, {"nodeName": "n"}),
        ({"node_name": None, "all_nodes": True}, {"allNodes": True}),
        (
            {"node_name": None, "node_selector": {"nodeSelectorTerms": [{}]}},
            {"nodeSelector": {"nodeSelectorTerms": [{}]}},
        ),
    ],
    ids=["node-name", "all-nodes", "node-selector"],
)
def test_every_slice_has_the_node_selection_of_the_pool(selection: Object, field: Object) -> None:
    pool = _pool(shared_counters=[_set("s")], devices=[_consumer("d", "s")], **selection)
    for slice_ in resource_slices(pool, generation=1, gates=_GATES):
        assert field.items() <= slice_["spec"].items()


def test_per_device_node_selection_is_repeated_on_the_counter_slice() -> None:
    device = {**_consumer("d", "s"), "nodeName": "n"}
    pool = _pool(node_name=None, per_device_node_selection=True, shared_counters=[_set("s")], devices=[device])
    slices = resource_slices(pool, generation=1, gates=_GATES)
    assert [each["spec"]["perDeviceNodeSelection"] for each in slices] == [True, True]


def test_eight_counter_sets_a_slice() -> None:
    slices = resource_slices(_pool(shared_counters=[_set(f"s{i}") for i in range(17)]), generation=1, gates=_GATES)
    assert [len(each["spec"]["sharedCounters"]) for each in slices] == [8, 8, 1]


_PLAIN = {"attributes": {"a": {"int": 1}}}
_TAINTED = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
_LISTED = {"attributes": {"a": {"ints": [1, 2]}}}
_CONSUMING = {"consumesCounters": [{"counterSet": "s", "counters": {"c-0": {"value": "1"}}}]}


@pytest.mark.parametrize(
    ("content", "lengths"),
    [(_PLAIN, [128, 72]), (_TAINTED, [64, 64, 64, 8]), (_LISTED, [64, 64, 64, 8]), (_CONSUMING, [64, 64, 64, 8])],
    ids=["plain", "tainted", "list-attribute", "consuming"],
)
def test_devices_a_slice(content: Object, lengths: list[int]) -> None:
    devices = [{"name": f"d{i}", **content} for i in range(200)]
    slices = resource_slices(_pool(shared_counters=[_set("s")], devices=devices), generation=1, gates=_GATES)
    assert [len(each) for each in _devices(slices)] == lengths


def test_one_tainted_device_limits_its_own_slice_only() -> None:
    devices: list[Object] = [{"name": f"d{i}"} for i in range(100)]
    devices += [{"name": "tainted", **_TAINTED}, *({"name": f"e{i}"} for i in range(100))]
    lengths = [len(each) for each in _devices(resource_slices(_pool(devices=devices), generation=1, gates=_GATES))]
    assert lengths == [100, 64, 37]


def test_a_pool_without_devices_is_one_empty_slice() -> None:
    (slice_,) = resource_slices(_pool(), generation=1, gates=_GATES)
    assert slice_["spec"]["devices"] == []
    assert slice_["spec"]["pool"]["resourceSliceCount"] == 1


def test_groups_that_share_counters_can_have_slices_of_their_own() -> None:
    sets = [_set("s0"), _set("s1"), _set("s2")]
    devices = [_consumer("a", "s0"), _consumer("b", "s1"), _consumer("c", "s0"), _consumer("d", "s1", "s2")]
    pool = _pool(shared_counters=sets, devices=devices, slice_per_group=True)
    assert _devices(resource_slices(pool, generation=1, gates=_GATES)) == [["a", "c"], ["b", "d"]]


@pytest.mark.parametrize(
    ("pool", "error"),
    [
        (
            _pool(shared_counters=[_set("s", 33)]),
            "counter set s: counters: 33 entries; at most 32 are allowed",
        ),
        (
            _pool(shared_counters=[_set("a"), _set("b"), _set("c")], devices=[_consumer("d", "a", "b", "c")]),
            "device d: consumesCounters: 3 entries; at most 2 are allowed",
        ),
        (
            _pool(devices=[{"name": "d", "attributes": {f"a{i}": {"int": 1} for i in range(33)}}]),
            "device d: attributes and capacity together: 33 entries; at most 32 are allowed",
        ),
        (
            _pool(devices=[{"name": "d", "attributes": {"a": {"ints": list(range(49))}}}]),
            "device d: attribute values: 49 entries; at most 48 are allowed",
        ),
        (
            _pool(shared_counters=[_set("s")], devices=[_consumer("d", "s", "s")]),
            'device d: consumesCounters[1].counterSet: "s" is consumed twice; write its counters into one entry',
        ),
        (
            _pool(shared_counters=[_set("s")], devices=[_consumer("d", "s", counters=2)]),
            'device d: consumesCounters[0].counters[c-1]: counter set "s" has no such counter',
        ),
        (
            _pool(devices=[_consumer("d", "s")]),
            'device d: consumesCounters[0].counterSet: there is no counter set "s" in the pool;'
            " sharedCounters defines the sets",
        ),
        (_pool(devices=[{"name": "d"}, {"name": "d"}]), "device d: defined 2 times; names must be unique"),
        (
            _pool(node_name=None, per_device_node_selection=True, devices=[{"name": "d"}]),
            "device d: exactly one of nodeName, nodeSelector, allNodes must be set because of perDeviceNodeSelection,"
            " not none of them",
        ),
    ],
    ids=["counters", "consumptions", "properties", "values", "set-twice", "no-counter", "no-set", "twice", "selection"],
)
def test_what_no_slice_can_hold_is_refused_by_name(pool: Pool, error: str) -> None:
    assert _errors(pool) == (error,)


_device_kinds = st.sampled_from(["plain", "tainted", "first", "second", "both"])


@pytest.mark.slow
@given(st.lists(_device_kinds, max_size=300), st.booleans())
def test_splitting_respects_all_limits_keeps_the_order_and_loses_nothing(kinds: list[str], grouped: bool) -> None:
    content: dict[str, Object] = {
        "plain": {},
        "tainted": _TAINTED,
        "first": _consumer("", "s0"),
        "second": _consumer("", "s1"),
        "both": _consumer("", "s0", "s1"),
    }
    devices = [{**content[kind], "name": f"d{index}"} for index, kind in enumerate(kinds)]
    sets = [_set("s0"), _set("s1")]
    pool = _pool(shared_counters=sets, devices=devices, slice_per_group=grouped)
    slices = resource_slices(pool, generation=1, gates=_GATES)
    for slice_ in slices:
        spec = slice_["spec"]
        assert ("sharedCounters" in spec) != ("devices" in spec)
        advanced = any("taints" in each or "consumesCounters" in each for each in spec.get("devices", []))
        assert len(spec.get("devices", [])) <= (64 if advanced else 128)
        assert spec["pool"]["resourceSliceCount"] == len(slices)
    published = [device for slice_ in slices for device in slice_["spec"].get("devices", [])]
    assert [each for slice_ in slices for each in slice_["spec"].get("sharedCounters", [])] == sets
    by_name = sorted(published, key=lambda device: int(device["name"][1:]))
    assert by_name == devices
    if not grouped:
        assert published == devices
    names = [each["metadata"]["generateName"] for each in slices]
    assert names == sorted(names)


_WITH_MIXINS: Object = {
    "mixins": {
        "counterSet": [{"name": "set", "counters": {"c": {"value": "4"}}}, _set("unused")],
        "device": [
            {"name": "first", "attributes": {"a": {"int": 1}}},
            {"name": "second", "attributes": {"a": {"int": 2}}},
        ],
        "deviceCounterConsumption": [{"name": "one", "counters": {"c": {"value": "1"}}}],
    },
    "shared_counters": [{"name": "s", "includes": ["set"]}],
    "devices": [
        {"name": "d", "includes": ["second"], "consumesCounters": [{"counterSet": "s", "includes": ["one"]}]},
    ],
}


def test_without_the_gate_mixins_are_applied() -> None:
    counters, devices = resource_slices(_pool(**_WITH_MIXINS), generation=1, gates=_GATES)
    assert counters["spec"]["sharedCounters"] == [{"name": "s", "counters": {"c": {"value": "4"}}}]
    assert devices["spec"]["devices"] == [
        {
            "name": "d",
            "attributes": {"a": {"int": 2}},
            "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
        }
    ]
    assert not [each for each in (counters, devices) if "mixins" in each["spec"]]


def test_with_the_gate_each_slice_keeps_the_mixins_that_it_uses() -> None:
    counters, devices = resource_slices(_pool(**_WITH_MIXINS), generation=1, gates=_MIXINS)
    assert counters["spec"]["mixins"] == {"counterSet": [{"name": "set", "counters": {"c": {"value": "4"}}}]}
    assert devices["spec"]["mixins"] == {
        "device": [{"name": "second", "attributes": {"a": {"int": 2}}}],
        "deviceCounterConsumption": [{"name": "one", "counters": {"c": {"value": "1"}}}],
    }
    assert devices["spec"]["devices"] == _WITH_MIXINS["devices"]


def test_with_the_gate_devices_and_mixins_of_a_slice_are_128_together() -> None:
    mixins = {"device": [{"name": f"m{i}", "attributes": {"a": {"int": i}}} for i in range(100)]}
    devices = [{"name": f"d{i}", "includes": [f"m{i}"]} for i in range(100)]
    slices = resource_slices(_pool(mixins=mixins, devices=devices), generation=1, gates=_MIXINS)
    assert [len(each) for each in _devices(slices)] == [64, 36]
    for slice_ in slices:
        assert len(slice_["spec"]["devices"]) + len(slice_["spec"]["mixins"]["device"]) <= 128


@pytest.mark.parametrize(
    ("attribute", "lengths"), [({"ints": [1]}, [64, 36]), ({"int": 1}, [100])], ids=["a list", "a single value"]
)
def test_with_the_gate_devices_count_by_what_mixins_make_of_them(attribute: dict[str, Any], lengths: list[int]) -> None:
    devices = [{"name": f"d{i}", "includes": ["m"]} for i in range(100)]
    pool = _pool(mixins={"device": [{"name": "m", "attributes": {"a": attribute}}]}, devices=devices)
    slices = resource_slices(pool, generation=1, gates=_MIXINS)
    assert [len(each["spec"]["devices"]) for each in slices] == lengths


def test_limits_hold_for_what_mixins_add_up_to() -> None:
    mixins = {
        "device": [{"name": f"m{i}", "attributes": {f"a{i}n{j}": {"int": j} for j in range(20)}} for i in range(2)]
    }
    pool = _pool(mixins=mixins, devices=[{"name": "d", "includes": ["m0", "m1"]}])
    with pytest.raises(PoolError, match="device d: attributes and capacity together: 40 entries"):
        resource_slices(pool, generation=1, gates=_MIXINS)


def test_kubernetes_1_34_wants_counter_sets_beside_their_devices() -> None:
    sets = [_set("s0"), _set("s1"), _set("unused")]
    devices = [_consumer("a", "s0"), {"name": "plain"}, _consumer("b", "s1"), _consumer("c", "s0")]
    slices = resource_slices(_pool(shared_counters=sets, devices=devices), generation=1, gates=_GATES, combined=True)
    content = [
        ([each["name"] for each in spec.get("sharedCounters", [])], [each["name"] for each in spec.get("devices", [])])
        for spec in (slice_["spec"] for slice_ in slices)
    ]
    assert content == [(["s0"], ["a", "c"]), ([], ["plain"]), (["s1"], ["b"]), (["unused"], [])]


def test_what_1_34_cannot_hold_is_refused() -> None:
    sets = [_set("s0", 20), _set("s1", 20)]
    (error,) = _errors(_pool(shared_counters=sets, devices=[_consumer("a", "s0", "s1")]), combined=True)
    assert error == (
        "Kubernetes 1.34 wants counter set s0, s1 and all devices that use it in one slice: counters: 40 entries;"
        " at most 32 are allowed"
    )
