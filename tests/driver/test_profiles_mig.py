"""MIG profiles against the facts of NVIDIA's documentation, and against what NVIDIA's driver publishes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.pools import Pool, PoolError
from drakit_api.layouts.slices import resource_slices
from drakit_api.quantity import Quantity
from drakit_driver.profiles.reading.catalog import build, device_classes

_FACTS = {
    gpu["name"]: gpu
    for gpu in yaml.safe_load(
        (Path(__file__).parents[1] / "vectors" / "hardware" / "mig.yaml").read_text(encoding="utf-8")
    )["gpus"]
}
_PROFILES = {
    "a100-40gb": "A100-SXM4-40GB",
    "a100-80gb": "A100-SXM4-80GB",
    "a30": "A30",
    "h100-80gb": "H100-SXM5-80GB",
    "h200-141gb": "H200-141GB",
}
_COUNTERS = {
    "copy-engines": "copy_engines",
    "decoders": "decoders",
    "encoders": "encoders",
    "jpeg-engines": "jpeg_engines",
    "multiprocessors": "multiprocessors",
    "ofa-engines": "ofa_engines",
}


def _pool(name: str, **options: Any) -> Pool:
    (pool,) = build(name, **options)
    return pool


def _values(amounts: Object) -> dict[str, int]:
    return {name: Quantity.parse(amount["value"]).as_integer() for name, amount in amounts.items()}


def _expected_counters(profile: Object, start: int) -> dict[str, int]:
    counters = {counter: profile[fact] for counter, fact in _COUNTERS.items()}
    counters |= {f"memory-slice-{index}": 1 for index in range(start, start + profile["memory_slices"])}
    return counters | {"memory": profile["memory_mib"] * 2**20}


@pytest.mark.parametrize("name", _PROFILES)
def test_every_placement_of_the_hardware_is_a_device_with_its_counters(name: str) -> None:
    facts = _FACTS[_PROFILES[name]]
    expected = {
        f"gpu-0-mig-{profile['name'].replace('.', '').replace('+', '-')}-{profile['gi_profile_id']}-{start}": (
            profile["name"],
            _expected_counters(profile, start),
        )
        for profile in facts["profiles"]
        for start in profile["starts"]
    }
    published = {
        device["name"]: (
            device["attributes"]["profile"]["string"],
            _values(device["consumesCounters"][0]["counters"]),
        )
        for device in _pool(name).devices
        if device["name"] != "gpu-0"
    }
    assert published == expected


@pytest.mark.parametrize("name", _PROFILES)
def test_the_counter_set_has_the_totals_of_the_gpu_and_the_whole_gpu_takes_all(name: str) -> None:
    pool, facts = _pool(name), _FACTS[_PROFILES[name]]
    totals = facts["counter_set"]
    (counter_set,) = pool.shared_counters
    counters = _values(counter_set["counters"])
    assert counters.pop("memory") == totals["memory_mib"] * 2**20
    slices = [counters.pop(f"memory-slice-{index}") for index in range(totals["memory-slice-count"])]
    assert slices == [1] * facts["memory_slices"]
    assert counters == {counter: totals[counter] for counter in _COUNTERS}
    assert pool.devices[0]["name"] == "gpu-0"
    assert pool.devices[0]["consumesCounters"] == [
        {"counterSet": "gpu-0-counter-set", "counters": counter_set["counters"]}
    ]


def test_an_a100_has_25_partitions_in_the_order_of_their_names() -> None:
    names = [device["name"] for device in _pool("a100-40gb").devices]
    assert len(names) == 26
    assert names == sorted(names)
    assert names[:2] == ["gpu-0", "gpu-0-mig-1g10gb-15-0"]
    assert {"gpu-0-mig-1g5gb-19-0", "gpu-0-mig-1g5gb-me-20-0", "gpu-0-mig-7g40gb-0-0"} <= set(names)


def test_a_partition_as_nvidias_driver_describes_it() -> None:
    device = next(each for each in _pool("a100-40gb").devices if each["name"] == "gpu-0-mig-1g5gb-me-20-3")
    parent = device["attributes"].pop("parentUUID")["string"]
    assert parent.startswith("GPU-")
    assert device == {
        "name": "gpu-0-mig-1g5gb-me-20-3",
        "attributes": {
            "architecture": {"string": "Ampere"},
            "brand": {"string": "Nvidia"},
            "cudaComputeCapability": {"version": "8.0.0"},
            "cudaDriverVersion": {"version": "13.0.0"},
            "driverVersion": {"version": "580.126.20"},
            "productName": {"string": "NVIDIA A100-SXM4-40GB"},
            "profile": {"string": "1g.5gb+me"},
            "resource.kubernetes.io/numaNode": {"int": 3},
            "resource.kubernetes.io/pciBusID": {"string": "0000:07:00.0"},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
            "type": {"string": "mig"},
        },
        "capacity": {
            "copyEngines": {"value": "1"},
            "decoders": {"value": "1"},
            "encoders": {"value": "0"},
            "jpegEngines": {"value": "1"},
            "memory": {"value": "4864Mi"},
            "multiprocessors": {"value": "14"},
            "ofaEngines": {"value": "1"},
        },
        "consumesCounters": [
            {
                "counterSet": "gpu-0-counter-set",
                "counters": {
                    "copy-engines": {"value": "1"},
                    "decoders": {"value": "1"},
                    "encoders": {"value": "0"},
                    "jpeg-engines": {"value": "1"},
                    "memory": {"value": "4864Mi"},
                    "memory-slice-3": {"value": "1"},
                    "multiprocessors": {"value": "14"},
                    "ofa-engines": {"value": "1"},
                },
            }
        ],
    }


def test_a_whole_gpu_has_a_uuid_of_its_own_and_the_maxima_as_capacity() -> None:
    gpu = _pool("a100-40gb").devices[0]
    assert gpu["attributes"]["type"] == {"string": "gpu"}
    assert gpu["attributes"]["uuid"]["string"].startswith("GPU-")
    assert not {"parentUUID", "profile"} & set(gpu["attributes"])
    assert gpu["capacity"]["memory"] == {"value": "40192Mi"}
    assert gpu["capacity"]["multiprocessors"] == {"value": "98"}


def test_uuids_are_stable_and_differ_between_gpus_nodes_and_drivers() -> None:
    def uuids(**options: Any) -> list[str]:
        devices = [device for pool in build("a100-40gb", gpus=2, **options) for device in pool.devices]
        return [each["attributes"]["uuid"]["string"] for each in devices if "uuid" in each["attributes"]]

    assert uuids() == uuids()
    everything = [*uuids(nodes=["a", "b"]), *uuids(nodes=["a"], driver_name="gpu.example.com")]
    assert len(set(everything)) == 6


def test_partitions_point_at_their_gpu() -> None:
    pool = _pool("dgx-a100")
    gpus = {each["name"]: each["attributes"]["uuid"] for each in pool.devices if "uuid" in each["attributes"]}
    for device in pool.devices:
        gpu = "-".join(device["name"].split("-")[:2])
        assert device["attributes"].get("parentUUID", gpus[gpu]) == gpus[gpu]
        assert [each["counterSet"] for each in device["consumesCounters"]] == [f"{gpu}-counter-set"]


def test_a_dgx_is_published_in_nine_slices() -> None:
    slices = resource_slices(_pool("dgx-a100"), generation=1, gates=FeatureGates())
    assert [len(each["spec"].get("sharedCounters", [])) for each in slices] == [8] + [0] * 8
    assert [len(each["spec"].get("devices", [])) for each in slices] == [0] + [26] * 8
    assert slices[3]["spec"]["devices"][0]["name"] == "gpu-2"


def test_kubernetes_1_34_gets_one_slice_a_gpu() -> None:
    slices = resource_slices(_pool("dgx-a100"), generation=1, gates=FeatureGates(), combined=True)
    assert [(len(each["spec"]["sharedCounters"]), len(each["spec"]["devices"])) for each in slices] == [(1, 26)] * 8


def test_every_node_has_a_pool_named_after_it() -> None:
    pools = build("a30", nodes=["gpu-1", "gpu-2"], gpus=3)
    assert [(pool.name, pool.node_name, len(pool.shared_counters)) for pool in pools] == [
        ("gpu-1", "gpu-1", 3),
        ("gpu-2", "gpu-2", 3),
    ]


def test_more_gpus_than_slots_do_not_share_a_bus() -> None:
    gpus = [each for each in _pool("a30", gpus=10).devices if each["attributes"]["type"]["string"] == "gpu"]
    assert len({each["attributes"]["resource.kubernetes.io/pciBusID"]["string"] for each in gpus}) == 10


def test_classes_are_those_of_nvidias_chart() -> None:
    gpu, mig = device_classes("dgx-a100")
    assert (gpu["metadata"]["name"], mig["metadata"]["name"]) == ("gpu.nvidia.com", "mig.nvidia.com")
    assert gpu["spec"] == {
        "selectors": [
            {
                "cel": {
                    "expression": "device.driver == 'gpu.nvidia.com' &&"
                    " device.attributes['gpu.nvidia.com'].type == 'gpu'"
                }
            }
        ],
        "extendedResourceName": "nvidia.com/gpu",
    }


def test_class_names_follow_another_driver_name() -> None:
    gpu, mig = device_classes("a30", "gpu.example.com")
    assert (gpu["metadata"]["name"], mig["metadata"]["name"]) == ("gpu.example.com", "mig.example.com")
    assert "nvidia" not in str([gpu, mig])


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("a101", {}, 'there is no profile "a101"; known are a100-40gb'),
        ("a30", {"gpus": 0}, "a node has 1 to 64 GPUs, not 0"),
        ("a30", {"gpus": 65}, "a node has 1 to 64 GPUs, not 65"),
        ("a30", {"nodes": ["Node_1"]}, 'node: "Node_1" is not a DNS subdomain'),
        ("a30", {"nodes": ["n", "n"]}, "node n: named twice"),
        ("a30", {"driver_name": "x" * 64}, "driver name: may not be longer than 63 bytes"),
        ("a30", {"pool_name": "p"}, "the pools of a30 are named after their nodes"),
        ("a30", {"layout": Path("x")}, "a30 takes no layout file"),
        ("layout", {}, "profile layout needs a file"),
        ("tpu-v6e-4x4", {"gpus": 2}, "tpu-v6e-4x4 has no number of GPUs"),
        ("tpu-v6e-4x4", {"nodes": ["a"]}, "tpu-v6e-4x4 has 4 nodes; 1 are named"),
        ("tpu-v6e-4x4", {"pool_name": "p//q"}, 'pool name: "" is not a DNS subdomain'),
    ],
)
def test_wrong_options_are_refused(name: str, options: Object, error: str) -> None:
    with pytest.raises(PoolError) as caught:
        build(name, **options)
    assert any(line.startswith(error) for line in caught.value.errors)
