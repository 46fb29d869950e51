"""Whatever patches there are: a list shows the devices that a naive merge makes, and its patches say how they came."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drakit_allocator.explanation import Inventory
from drakit_allocator.features import Features
from drakit_allocator.listing.documents import documents
from drakit_allocator.listing.listing import Choice, listed
from drakit_api.kubernetes_objects import Object
from drakit_api.objects.device_attributes import published_names
from e2e.patches.merged_by_hand import applies, merged_device

pytestmark = pytest.mark.slow

_DRIVER = "gpu.example.com"
_ATTRIBUTES = (f"{_DRIVER}/tier", f"{_DRIVER}/index", "other.example.com/zone")
_CAPACITIES = (f"{_DRIVER}/memory", "other.example.com/lanes")


def _value(random: Random) -> Object:
    return random.choice([{"string": "gold"}, {"string": "silver"}, {"int": random.randrange(3)}, {"bool": True}])


def _published(random: Random, names: tuple[str, ...]) -> list[str]:
    """Some of the names, each with or without the driver's domain."""
    some = random.sample(names, random.randrange(len(names) + 1))
    return [random.choice(published_names(name, _DRIVER)) for name in some]


def _slice(random: Random, pool: str) -> Object:
    devices = [
        {
            "name": f"dev-{number}",
            "attributes": {name: _value(random) for name in _published(random, _ATTRIBUTES)},
            "capacity": {name: {"value": "1Gi"} for name in _published(random, _CAPACITIES)},
        }
        for number in range(3)
    ]
    of_pool = {"name": pool, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": _DRIVER, "nodeName": pool, "pool": of_pool, "devices": devices}
    return {"metadata": {"name": pool}, "spec": spec}


def _patch(random: Random, name: str) -> Object:
    wanted = random.choice([{}, {"device": "dev-1"}, {"pool": "a"}, {"driver": "x.example.com"}])
    values = [_value(random), {"null": {}}]
    spec = {
        "filter": wanted,
        "priority": random.randrange(2),
        "attributes": {one: random.choice(values) for one in random.sample(_ATTRIBUTES, random.randrange(3))},
        "capacity": {one: {"value": "0"} for one in random.sample(_CAPACITIES, random.randrange(2))},
        "taints": [{"key": f"example.com/{name}", "effect": "NoSchedule"}] * random.randrange(2),
    }
    return {"metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"devices": spec}}


def _replayed(device: Object, effects: list[Object]) -> Object:
    """The device with what its patches say that they change, in any order: no two of them say the same."""
    result: Object = {"taints": []}
    for member in ("attributes", "capacity"):
        values = dict(device[member])
        said = [item for effect in effects for item in effect.get(member, {}).items()]
        assert len(said) == len(dict(said))
        for name, value in said:
            there = [one for one in published_names(name, _DRIVER) if one in values] or [name]
            for one in there:
                values.pop(one, None)
                if "null" not in value:
                    values[one] = value
        result[member] = values
    result["taints"] = [taint for effect in effects for taint in effect.get("taints", ())]
    return result


@settings(max_examples=300, deadline=None)
@given(st.builds(Random, st.integers(0, 2**32)))
def test_what_is_listed_is_what_a_naive_merge_makes(random: Random) -> None:
    slices = [_slice(random, pool) for pool in "ab"]
    patches = [_patch(random, name) for name in "pqrs"[: random.randrange(5)]]
    found = listed(Inventory.of(Features.all(), slices=slices, patches=patches), Choice(is_patched=True))
    said = documents(found)["devices"]
    published = [(one["spec"]["pool"]["name"], device) for one in slices for device in one["spec"]["devices"]]
    for one, (pool, device) in zip(said, published, strict=True):
        merged = merged_device(device, _DRIVER, pool, patches, [])
        taints = [
            {key: value for key, value in taint.items() if key in ("key", "effect")} for taint in one.get("taints", ())
        ]
        shown = {"attributes": one.get("attributes", {}), "capacity": one.get("capacity", {}), "taints": taints}
        assert shown == merged == _replayed(device, one.get("patches", []))
        saying = [
            each for each in patches if any(each["spec"]["devices"][f] for f in ("attributes", "capacity", "taints"))
        ]
        names = {
            each["metadata"]["name"]
            for each in saying
            if applies(each["spec"]["devices"]["filter"], device, _DRIVER, pool, [])
        }
        assert {each["name"] for each in one.get("patches", ())} == names
    assert found.patched == sum("patches" in one for one in said)
