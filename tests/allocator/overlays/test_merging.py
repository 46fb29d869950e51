"""What the allocator sees of patched devices is what a naive merge says, whatever happens in whatever order."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drakit import Features, Snapshot
from drakit_api.slice_patches.merging import patched
from drakit_api.slice_patches.patch import SlicePatch
from e2e.patches.merged_by_hand import Device, Object, merged_devices

_DRIVERS = ("gpu.example.com", "tpu.example.com")
_POOLS = ("node-1", "node-2")
_DEVICES = ("dev-0", "dev-1", "dev-2")
_ATTRIBUTES = ("gpu.example.com/tier", "gpu.example.com/index", "tpu.example.com/tier", "other.example.com/zone")
_CAPACITIES = ("gpu.example.com/memory", "other.example.com/lanes")
_EXPRESSIONS = (
    "device.attributes['gpu.example.com'].tier == 'gold'",
    "device.attributes['gpu.example.com'].?index.orValue(0) > 0",
    "device.driver == 'gpu.example.com'",
    "device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('1Gi'))",
    "'tier' in device.attributes['gpu.example.com']",
    "device.attributes['gpu.example.com'].tier",
    "nonsense(",
)
_NAMES = ("a", "b", "c", "d")
_CLASSES = ("gpus", "golden")


def _values() -> st.SearchStrategy[Object]:
    return st.one_of(
        st.builds(lambda text: {"string": text}, st.sampled_from(["gold", "silver"])),
        st.builds(lambda number: {"int": number}, st.integers(0, 2)),
        st.just({"bool": True}),
        st.just({"version": "1.2.3"}),
        st.just({"strings": ["gold", "silver"]}),
    )


def _capacity() -> st.SearchStrategy[Object]:
    return st.builds(lambda amount: {"value": amount}, st.sampled_from(["0", "1Gi", "40Gi"]))


def _taints() -> st.SearchStrategy[list[Object]]:
    return st.lists(
        st.builds(
            lambda key, effect: {"key": key, "effect": effect},
            st.sampled_from(["example.com/a", "example.com/b"]),
            st.sampled_from(["NoSchedule", "NoExecute", "None"]),
        ),
        max_size=2,
    )


def _fields(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({}, optional=members)


def _device(name: str, driver: str) -> st.SearchStrategy[Object]:
    own = [one.removeprefix(f"{driver}/") for one in _ATTRIBUTES]
    own_capacity = [one.removeprefix(f"{driver}/") for one in _CAPACITIES]
    names = st.sampled_from([*_ATTRIBUTES, *own])
    return st.builds(
        lambda rest: {"name": name, **rest},
        _fields(
            attributes=st.dictionaries(names, _values(), max_size=4),
            capacity=st.dictionaries(st.sampled_from([*_CAPACITIES, *own_capacity]), _capacity(), max_size=2),
            taints=_taints(),
        ),
    )


@st.composite
def _slices(draw: st.DrawFn) -> Object:
    driver, pool = draw(st.sampled_from(_DRIVERS)), draw(st.sampled_from(_POOLS))
    devices = [draw(_device(name, driver)) for name in _DEVICES]
    return {
        "metadata": {"name": f"{driver}-{pool}"},
        "spec": {
            "driver": driver,
            "nodeName": pool,
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def _selectors() -> st.SearchStrategy[list[Object]]:
    one = st.builds(lambda text: {"cel": {"expression": text}}, st.sampled_from(_EXPRESSIONS))
    return st.lists(one, max_size=2)


def _patches() -> st.SearchStrategy[Object]:
    removal: st.SearchStrategy[Object] = st.just({"null": {}})
    devices = _fields(
        filter=_fields(
            driver=st.sampled_from(_DRIVERS),
            pool=st.sampled_from(_POOLS),
            device=st.sampled_from(_DEVICES),
            deviceClassName=st.sampled_from([*_CLASSES, "unknown"]),
            selectors=_selectors(),
        ),
        priority=st.integers(-1, 1),
        attributes=st.dictionaries(st.sampled_from(_ATTRIBUTES), st.one_of(_values(), removal), max_size=3),
        capacity=st.dictionaries(st.sampled_from(_CAPACITIES), _capacity(), max_size=2),
        taints=_taints(),
    )
    return st.builds(
        lambda name, age, spec: {
            "metadata": {"name": name, "creationTimestamp": f"2026-01-01T00:00:0{age}Z"},
            "spec": {"devices": spec},
        },
        st.sampled_from(_NAMES),
        st.integers(0, 2),
        devices,
    )


def _device_classes() -> st.SearchStrategy[Object]:
    return st.builds(
        lambda name, selectors: {"metadata": {"name": name}, "spec": {"selectors": selectors}},
        st.sampled_from(_CLASSES),
        _selectors(),
    )


_EVENTS = st.one_of(
    st.tuples(st.just("slice"), _slices()),
    st.tuples(st.just("patch"), _patches()),
    st.tuples(st.just("class"), _device_classes()),
    st.tuples(st.just("no patch"), st.sampled_from(_NAMES)),
    st.tuples(st.just("no class"), st.sampled_from(_CLASSES)),
    st.tuples(st.just("no slice"), st.tuples(st.sampled_from(_DRIVERS), st.sampled_from(_POOLS))),
    st.tuples(st.just("look"), st.just(None)),
)


class _World:
    """A snapshot, and the objects that it should reflect."""

    def __init__(self) -> None:
        self.snapshot = Snapshot(Features.all())
        self.slices: dict[str, Object] = {}
        self.patches: dict[str, Object] = {}
        self.classes: dict[str, Object] = {}

    def happen(self, kind: str, what: Any) -> None:
        match kind:
            case "slice":
                self.slices[what["metadata"]["name"]] = what
                self.snapshot.put_slice(copy.deepcopy(what))
            case "patch":
                self.patches[what["metadata"]["name"]] = what
                self.snapshot.put_patch(copy.deepcopy(what))
            case "class":
                self.classes[what["metadata"]["name"]] = what
                self.snapshot.put_class(copy.deepcopy(what))
            case "no patch":
                self.patches.pop(what, None)
                self.snapshot.remove_patch(what)
            case "no class":
                self.classes.pop(what, None)
                self.snapshot.remove_class(what)
            case "no slice":
                name = "-".join(what)
                self.slices.pop(name, None)
                self.snapshot.remove_slice(name)
            case "look":
                self.check()

    def check(self) -> None:
        wanted = merged_devices([*self.slices.values()], [*self.patches.values()], [*self.classes.values()])
        assert self._seen() == wanted
        assert self._printed() == wanted

    def _seen(self) -> dict[Device, Object]:
        found: dict[Device, Object] = {}
        for name in self.slices:
            for device in self.snapshot.slices.seen(name).devices:
                found[device.id] = _shown({**device.content.spec}, device.added_taints)
        return found

    def _printed(self) -> dict[Device, Object]:
        patches = [SlicePatch.of(one) for one in self.patches.values()]
        merged = patched(self.slices.values(), patches, self.classes.values()).slices
        return {
            (one["spec"]["driver"], one["spec"]["pool"]["name"], device["name"]): _shown(device, ())
            for one in merged
            for device in one["spec"]["devices"]
        }


def _shown(device: Object, added: tuple[Any, ...]) -> Object:
    return {
        "attributes": dict(device.get("attributes") or {}),
        "capacity": dict(device.get("capacity") or {}),
        "taints": [*(device.get("taints") or ()), *added],
    }


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_EVENTS, max_size=14))
def test_the_allocator_sees_what_a_naive_merge_says(events: list[tuple[str, Any]]) -> None:
    world = _World()
    for kind, what in events:
        world.happen(kind, what)
    world.check()
