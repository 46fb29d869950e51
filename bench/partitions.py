"""The devices and claims of the recorded runs: MIG partitions of A100 GPUs, eight to a node."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from kubernetes.utils.quantity import parse_quantity

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.slices import resource_slices
from drakit_driver.profiles.reading import catalog
from drakit_kind.clusters import manifests

DRIVER = "gpu.nvidia.com"
PROFILE = "dgx-a100"

_quantity = functools.cache(parse_quantity)

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
    (pool,) = catalog.build(PROFILE, nodes=[node])
    slices = resource_slices(pool, generation=1, gates=FeatureGates())
    for index, item in enumerate(slices):
        item["metadata"] = {"name": f"{index:05x}-{DRIVER}-{node}"}
    return slices


def packed(mix: Mapping[str, int], tries: int, seed: int) -> list[tuple[str, str]]:
    """Partitions at random, profile and device name, that fit one DGX together; ``mix`` has the weights of profiles.

    Each goes to the first place that is free, as a driver's own bookkeeping would find it, without the allocator.
    """
    slices = node_slices("any")
    free = {
        (counters["name"], name): _quantity(value["value"])
        for item in slices
        for counters in item["spec"].get("sharedCounters") or []
        for name, value in counters["counters"].items()
    }
    devices = [device for item in slices for device in item["spec"].get("devices") or []]
    taken = []
    for profile in random.Random(seed).choices(list(mix), list(mix.values()), k=tries):
        for device in devices:
            if device["attributes"].get("profile") == {"string": profile} and _take(device, free):
                taken.append((profile, device["name"]))
                break
    return taken


def _take(device: Object, free: dict[tuple[str, str], Decimal]) -> bool:
    """Take a device's counters if all of them are free; that excludes taking a device twice."""
    needs = {
        (consumption["counterSet"], name): _quantity(value["value"])
        for consumption in device["consumesCounters"]
        for name, value in consumption["counters"].items()
    }
    if any(free[counter] < amount for counter, amount in needs.items()):
        return False
    for counter, amount in needs.items():
        free[counter] -= amount
    return True


def recorded_slice(node: str) -> Object:
    """A slice of the 52 devices of two GPUs, cut down to the 40 KB that it had when Kubernetes was measured."""
    (pool,) = catalog.build(PROFILE, nodes=[node], gpus=2)
    whole = resource_slices(replace(pool, slice_per_group=False), generation=1, gates=FeatureGates())
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
