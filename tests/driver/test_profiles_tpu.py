"""TPU pools against the tables of topologies and sub-slices, and the buddy rule of their alignment."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.pools import Pool
from drakit_api.layouts.slices import resource_slices
from drakit_driver.profiles.reading.catalog import build, device_classes, profiles

_FACTS = yaml.safe_load((Path(__file__).parents[1] / "vectors" / "hardware" / "tpu.yaml").read_text(encoding="utf-8"))
_TPUS = [name for name, profile in profiles().items() if profile.kind == "tpu"]


def _pool(name: str, **options: Any) -> Pool:
    (pool,) = build(name, **options)
    return pool


def _nodes(device: Object) -> list[str]:
    if "nodeName" in device:
        return [device["nodeName"]]
    (term,) = device["nodeSelector"]["nodeSelectorTerms"]
    (requirement,) = term["matchExpressions"]
    assert (requirement["key"], requirement["operator"]) == ("kubernetes.io/hostname", "In")
    return list(requirement["values"])


def _counters(device: Object) -> dict[str, str]:
    return {
        counter: amount["value"]
        for consumption in device["consumesCounters"]
        for counter, amount in consumption["counters"].items()
    }


@pytest.mark.parametrize(("name", "facts"), [("tpu-v6e-4x4", "pool_4x4"), ("tpu-v5e-8x8", "pool_8x8")])
def test_devices_are_those_of_the_table_smallest_first(name: str, facts: str) -> None:
    published = [
        {
            "name": device["name"],
            "topology": device["attributes"]["topology"]["string"],
            "chips": device["attributes"]["chipCount"]["int"],
            "nodes": [int(node.removeprefix("node-")) for node in _nodes(device)],
        }
        for device in _pool(name).devices
    ]
    assert published == _FACTS[facts]


def test_a_16x16_pool_has_the_documented_number_of_each_slice() -> None:
    facts = _FACTS["pool_16x16"]
    pool = _pool("tpu-v6e-16x16")
    assert Counter(each["attributes"]["topology"]["string"] for each in pool.devices) == facts["device_counts"]
    assert len(pool.devices) == facts["devices_total"]


@pytest.mark.parametrize("name", _TPUS)
def test_any_two_slices_are_nested_or_disjoint(name: str) -> None:
    members = [set(_nodes(device)) for device in _pool(name).devices]
    for one, other in itertools.combinations(members, 2):
        assert not one & other or one <= other or other <= one


@pytest.mark.parametrize("name", _TPUS)
def test_a_device_takes_all_four_chips_of_exactly_its_nodes(name: str) -> None:
    pool = _pool(name)
    sets = {each["name"]: each["counters"] for each in pool.shared_counters}
    for device in pool.devices:
        expected = {f"tpus-{node}": "4" for node in _nodes(device)}
        assert _counters(device) == expected
        assert device["capacity"]["tpus"]["value"] == str(4 * len(expected))
        assert len(device["consumesCounters"]) <= 2
        for consumption in device["consumesCounters"]:
            assert consumption["counters"].keys() <= sets[consumption["counterSet"]].keys()
    assert all(amount == {"value": "4"} for counters in sets.values() for amount in counters.values())
    assert max(map(len, sets.values())) <= 32


def test_only_the_whole_16x16_draws_from_both_counter_sets() -> None:
    pool = _pool("tpu-v6e-16x16")
    assert [each["name"] for each in pool.shared_counters] == ["tpu-counter-set-1", "tpu-counter-set-2"]
    assert [each["name"] for each in pool.devices if len(each["consumesCounters"]) == 2] == ["tpu-16x16-1"]
    slices = resource_slices(pool, generation=1, gates=FeatureGates())
    assert [len(each["spec"].get("devices", [])) for each in slices] == [0, 64, 63]


def test_a_multi_host_device_as_it_is_published() -> None:
    pool = _pool("tpu-v6e-4x4", nodes=["a", "b", "c", "d"], pool_name="rack-1")
    assert (pool.name, pool.driver, pool.per_device_node_selection) == ("rack-1", "tpu.google.com", True)
    assert pool.devices[5] == {
        "name": "tpu-2x4-2",
        "attributes": {
            "accelerator": {"string": "tpu-v6e-slice"},
            "brand": {"string": "Google"},
            "chipCount": {"int": 8},
            "hostCount": {"int": 2},
            "topology": {"string": "2x4"},
            "tpuGen": {"string": "v6e"},
        },
        "capacity": {"hbm": {"value": "256Gi"}, "tpus": {"value": "8"}},
        "consumesCounters": [
            {
                "counterSet": "tpu-counter-set",
                "counters": {"tpus-node-3": {"value": "4"}, "tpus-node-4": {"value": "4"}},
            }
        ],
        "nodeSelector": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["c", "d"]}]}
            ]
        },
    }


def test_generations_differ_in_accelerator_and_memory() -> None:
    v5e = _pool("tpu-v5e-4x4").devices[-1]
    assert v5e["attributes"]["accelerator"] == {"string": "tpu-v5-lite-podslice"}
    assert v5e["attributes"]["tpuGen"] == {"string": "v5litepod"}
    assert v5e["capacity"]["hbm"] == {"value": "256Gi"}


def test_the_class_selects_the_driver() -> None:
    (tpu,) = device_classes("tpu-v6e-4x4")
    assert tpu["metadata"]["name"] == "tpu.google.com"
    assert tpu["spec"] == {"selectors": [{"cel": {"expression": "device.driver == 'tpu.google.com'"}}]}
