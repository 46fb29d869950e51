"""The devices and claims of the recorded runs: MIG partitions of A100 GPUs, eight to a node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drakit_api.features import FeatureGates
from drakit_api.slices import split
from drakit_driver import profiles
from drakit_kind import manifests

Object = dict[str, Any]

DRIVER = "gpu.nvidia.com"
PROFILE = "dgx-a100"

# What the published slices had besides names and types when Kubernetes was measured; today's driver publishes more.
_RECORDED_ATTRIBUTES = frozenset(
    {
        "architecture",
        "brand",
        "cudaComputeCapability",
        "driverVersion",
        "parentUUID",
        "productName",
        "profile",
        "resource.kubernetes.io/pcieRoot",
        "type",
        "uuid",
    }
)
_RECORDED_CAPACITY = frozenset({"memory", "multiprocessors"})


def request(profile: str) -> Object:
    """A request for one partition of a profile, e.g. ``1g.5gb``."""
    return manifests.request("mig", "mig.nvidia.com", f'device.attributes["{DRIVER}"].profile == "{profile}"')


def claim_spec(profile: str) -> Object:
    """The spec of a claim with that request."""
    spec: Object = manifests.claim("", request(profile))["spec"]
    return spec


def node_slices(node: str) -> list[Object]:
    """What the driver publishes for one DGX A100, with names of their own."""
    (pool,) = profiles.build(PROFILE, nodes=[node])
    slices = split(pool, generation=1, gates=FeatureGates())
    for index, item in enumerate(slices):
        item["metadata"] = {"name": f"{index:05x}-{DRIVER}-{node}"}
    return slices


def recorded_slice(node: str) -> Object:
    """A slice of the 52 devices of two GPUs, cut down to the 40 KB that it had when Kubernetes was measured."""
    (pool,) = profiles.build(PROFILE, nodes=[node], gpus=2)
    whole = split(replace(pool, slice_per_group=False), generation=1, gates=FeatureGates())
    spec = whole[-1]["spec"]
    spec["devices"] = [_recorded_device(device) for device in spec["devices"]]
    return {**whole[-1], "metadata": {"name": node}, "spec": spec}


def _recorded_device(device: Object) -> Object:
    consumptions = [
        {**consumption, "counters": {k: v for k, v in consumption["counters"].items() if v["value"] != "0"}}
        for consumption in device["consumesCounters"]
    ]
    return {
        **device,
        "attributes": {k: v for k, v in device["attributes"].items() if k in _RECORDED_ATTRIBUTES},
        "capacity": {k: v for k, v in device["capacity"].items() if k in _RECORDED_CAPACITY},
        "consumesCounters": consumptions,
    }
