"""NVIDIA GPUs as partitionable devices, named and described as NVIDIA's own driver does it.

With its gate DynamicMIG that driver publishes each GPU and every MIG instance that could be made on it, all drawing
from one counter set a GPU, so that the scheduler decides how a GPU is cut. Claims and selectors that work here work
there. Source of names, attributes, capacities, counters and their order: ``kubernetes-sigs/dra-driver-nvidia-gpu``
(``deviceinfo.go``, ``mig.go``, ``partitions.go``); of the hardware: ``mig.yaml`` beside this file.
"""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import yaml

from drakit_api.layouts.pools import Object, Pool
from drakit_api.quantity import Quantity

DRIVER = "gpu.nvidia.com"
# Of the driver and CUDA release that the mock claims to run.
DRIVER_VERSION = "580.126.20"
CUDA_VERSION = "13.0.0"

CAPACITIES = ("memory", "multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")


@functools.cache
def _table(name: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return table


def models() -> list[str]:
    """The GPUs that can be asked for, such as ``a100-40gb``."""
    return list(_table("mig.yaml"))


def product_name(model: str) -> str:
    """What NVML calls the GPU."""
    return str(_table("mig.yaml")[model]["productName"])


def pool(model: str, *, driver: str, node_name: str, gpus: int) -> Pool:
    """The pool of one node with ``gpus`` GPUs of a model: for each a counter set, the GPU, and its MIG devices."""
    return Pool(
        driver=driver,
        name=node_name,
        shared_counters=[_counter_set(model, minor) for minor in range(gpus)],
        devices=[device for minor in range(gpus) for device in _devices(model, driver, node_name, minor)],
        node_name=node_name,
        slice_per_group=True,
    )


def gpu_uuid(driver: str, node_name: str, minor: int) -> str:
    """``GPU-...``, the same at every start of the driver on that node."""
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{driver}/{node_name}/gpu-{minor}')}"


def device_name(minor: int, profile: Mapping[str, Any], start: int) -> str:
    """``gpu-0-mig-1g5gb-19-0``: GPU, profile, its GPU instance profile ID and the first memory slice."""
    compact = profile["name"].replace(".", "").replace("+", "-")
    return f"gpu-{minor}-mig-{compact}-{profile['id']}-{start}"


def _counter_set_name(minor: int) -> str:
    return f"gpu-{minor}-counter-set"


@functools.cache
def _counter_set(model: str, minor: int) -> Object:
    return {"name": _counter_set_name(minor), "counters": _counters(_whole(model), 0)}


@functools.cache
def _whole(model: str) -> dict[str, Any]:
    """What a whole GPU has: of everything the most that any profile takes, as NVIDIA's driver computes it."""
    profiles = _table("mig.yaml")[model]["profiles"]
    return {name: max(profile[name] for profile in profiles) for name in (*CAPACITIES, "slices")}


def _amounts(shape: Mapping[str, Any]) -> dict[str, Object]:
    memory = str(Quantity.parse(f"{shape['memory']}Mi"))
    return {name: {"value": memory if name == "memory" else str(shape[name])} for name in CAPACITIES}


def _counters(shape: Mapping[str, Any], start: int) -> dict[str, Object]:
    """Amounts under the names of counters, which are DNS labels, and one counter for each memory slice."""
    counters = {re.sub(r"[A-Z]", lambda m: "-" + m[0].lower(), name): each for name, each in _amounts(shape).items()}
    counters |= {f"memory-slice-{index}": {"value": "1"} for index in range(start, start + shape["slices"])}
    return dict(sorted(counters.items()))


def _devices(model: str, driver: str, node_name: str, minor: int) -> Iterator[Object]:
    """One GPU and its MIG devices, sorted by name."""
    parent = {"string": gpu_uuid(driver, node_name, minor)}
    for template in _templates(model, minor):
        key = "uuid" if "uuid" in template["attributes"] else "parentUUID"
        yield {**template, "attributes": {**template["attributes"], key: parent}}


@functools.cache
def _templates(model: str, minor: int) -> list[Object]:
    """The devices of a GPU but for its UUID: the same on every node, and a test cluster may have hundreds."""
    gpu = _table("mig.yaml")[model]
    common = _attributes(gpu, minor)
    found = [_device(f"gpu-{minor}", minor, {"type": "gpu", "uuid": ""}, common, _whole(model), 0)]
    for profile, start in _placements(gpu["profiles"]):
        own = {"type": "mig", "parentUUID": "", "profile": profile["name"]}
        found.append(_device(device_name(minor, profile, start), minor, own, common, profile, start))
    return sorted(found, key=lambda device: str(device["name"]))


def _placements(profiles: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], int]]:
    return ((profile, start) for profile in profiles for start in profile["starts"])


def _device(
    name: str, minor: int, own: Mapping[str, str], common: Object, shape: Mapping[str, Any], start: int
) -> Object:
    attributes = {key: {"string": value} for key, value in own.items()} | common
    return {
        "name": name,
        "attributes": dict(sorted(attributes.items())),
        "capacity": dict(sorted(_amounts(shape).items())),
        "consumesCounters": [{"counterSet": _counter_set_name(minor), "counters": _counters(shape, start)}],
    }


def _attributes(gpu: Mapping[str, Any], minor: int) -> Object:
    slots = _table("boards.yaml")[gpu["board"]]
    # A machine with more GPUs than the board has slots gets a second PCI domain.
    domain, slot = f"{minor // len(slots):04x}", slots[minor % len(slots)]
    return {
        "productName": {"string": gpu["productName"]},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": gpu["architecture"]},
        "cudaComputeCapability": {"version": gpu["cudaComputeCapability"]},
        "driverVersion": {"version": DRIVER_VERSION},
        "cudaDriverVersion": {"version": CUDA_VERSION},
        "resource.kubernetes.io/pciBusID": {"string": f"{domain}:{slot['bus']}:00.0"},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci{domain}:{slot['root']}"},
        "resource.kubernetes.io/numaNode": {"int": slot["numaNode"]},
    }
