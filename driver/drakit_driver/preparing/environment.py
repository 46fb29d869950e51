"""The environment variables that a container gets for an allocated device, as the vendors' own drivers set them.

Two families are imitated, told apart by the attributes of the device and not by the driver's name (which a user may
change); every other device gets one variable that names it.

NVIDIA. The real driver (kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/cdi.go) sets
``NVIDIA_VISIBLE_DEVICES=void`` and lets device nodes decide what is visible. A list of UUIDs there could not work: CDI
edits of several devices are applied one after another, and the last one would win. Without hardware there are no device
nodes either, so what a container received is told by variables whose names contain the device's, as in
kubernetes-sigs/dra-example-driver: ``GPU_DEVICE_0_MIG_1G5GB_19_0=gpu-0-mig-1g5gb-19-0`` and ``..._UUID=MIG-...``. Any
number of requests and claims can meet in one container without overwriting each other.

TPU. The variables of kubernetes-sigs/dra-driver-google-tpu (cmd/tpu-dra-kubeletplugin/util.go), plus the worker id and
host names of multi-host slices, which on GKE a webhook sets. A container has at most one TPU slice, because a slice
takes all chips of each of its nodes, so their names need no suffix.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from drakit_api.core.node_selectors import listed_nodes
from drakit_driver.preparing.claim_references import shown
from drakit_driver.preparing.opaque import DeviceConfig

Device = Mapping[str, Any]
Variables = dict[str, str]

# UUIDs of mock devices are derived, so that they are the same after a restart and on every machine.
_UUIDS = uuid.UUID("6d1f5f6e-0d25-5b0c-9d39-3a1c6e1e7a54")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Generations with one TensorCore a chip; all others have two, and TPU_ACCELERATOR_TYPE counts cores.
_SINGLE_CORE = ("lite", "v6e")
# Chips of one node (VM) along the three dimensions.
_CHIPS_OF_NODE = {1: (1, 1, 1), 2: (1, 2, 1), 4: (2, 2, 1), 8: (2, 4, 1)}
# A dimension of v5e and v6e closes to a ring at this length; v4 and v5p close all three from a cube of 4 on.
_RING_CHIPS = 16
_CUBE_CHIPS = 4


class DeviceError(ValueError):
    """A device whose attributes do not make sense together."""


def attribute(device: Device, name: str) -> str | int | bool | None:
    """Return the value of an attribute by its bare name, whether the driver qualified it or not; None without one."""
    for key, value in (device.get("attributes") or {}).items():
        if key.rpartition("/")[2] == name:
            return next(iter(value.values()), None)
    return None


def is_nvidia(device: Device) -> bool:
    """Tell whether the NVIDIA driver publishes devices like this GPU or MIG device; others have type gpu, too."""
    return attribute(device, "type") in ("gpu", "mig") and attribute(device, "brand") == "Nvidia"


def is_tpu(device: Device) -> bool:
    """Tell whether this is a TPU chip or slice as the Google driver publishes them."""
    return attribute(device, "tpuGen") is not None and attribute(device, "topology") is not None


def claim_environment(devices: Sequence[Device]) -> Variables:
    """Return the variables of every container that gets any of these devices of a claim."""
    return {"NVIDIA_VISIBLE_DEVICES": "void"} if any(is_nvidia(device) for device in devices) else {}


def check(variables: Variables) -> Variables:
    """Return the variables if a container can be given them all, each on a line of its own; raises ``DeviceError``.

    A process cannot have a NUL in its environment, and whoever reads ``env`` line by line takes what comes after a
    newline for another variable.
    """
    for name, value in variables.items():
        if not _NAME.fullmatch(name):
            raise DeviceError(f"{shown(name)} is not the name of a variable")
        if _CONTROL.search(value):
            raise DeviceError(f"variable {name} must not have control characters in its value {shown(value)}")
    return variables


def device_environment(device: Device, *, driver: str, pool: str, host: str, config: DeviceConfig | None) -> Variables:
    """Return the variables of every container on ``host`` that gets this device. Raises ``DeviceError``."""
    if is_nvidia(device):
        return nvidia_environment(device, pool=pool, config=config)
    if is_tpu(device):
        return tpu_environment(device, host=host)
    return {f"DRA_DEVICE_{variable_name(device['name'])}": f"{driver}/{pool}/{device['name']}"}


def nvidia_environment(device: Device, *, pool: str, config: DeviceConfig | None = None) -> Variables:
    """Return the variables of a GPU or MIG device; one that was published without UUID gets a derived one."""
    prefix = f"GPU_DEVICE_{variable_name(device['name'].removeprefix('gpu-'))}"
    kind = "MIG" if attribute(device, "type") == "mig" else "GPU"
    identity = attribute(device, "uuid") or f"{kind}-{uuid.uuid5(_UUIDS, pool + '/' + device['name'])}"
    variables = {prefix: str(device["name"]), f"{prefix}_UUID": str(identity)}
    for name, suffix in (("parentUUID", "PARENT_UUID"), ("profile", "MIG_PROFILE")):
        if (value := attribute(device, name)) is not None:
            variables[f"{prefix}_{suffix}"] = str(value)
    if config is not None:
        variables |= {f"{prefix}_{suffix}": value for suffix, value in config.variables().items()}
    return variables


def tpu_environment(device: Device, *, host: str) -> Variables:
    """Return the variables of the worker on ``host`` (label ``kubernetes.io/hostname``) of a TPU slice.

    The workers are the hosts that the device names in its node selector, in that order: profiles list them row by row.
    """
    generation, topology = str(attribute(device, "tpuGen")), str(attribute(device, "topology"))
    chips = _dimensions(device["name"], topology)
    terms = (device.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    workers = (listed_nodes(terms[0]) if len(terms) == 1 else []) or [host]
    if host not in workers:
        raise DeviceError(f"device {device['name']} is not on host {host}, but on {', '.join(workers)}")
    per_node = _CHIPS_OF_NODE.get(math.prod(chips) // len(workers))
    if per_node is None or not _tiled(chips, per_node, len(workers)):
        raise DeviceError(
            f"device {device['name']}: topology {topology} cannot be spread over {len(workers)} nodes "
            "of 1x1, 1x2, 2x2 or 2x4 chips each"
        )
    cores = 1 if any(word in generation for word in _SINGLE_CORE) else 2
    hosts = [str(total // mine) for total, mine in zip(chips, per_node, strict=True)]
    return {
        "TPU_SKIP_MDS_QUERY": "true",
        "TPU_TOPOLOGY": topology,
        "TPU_ACCELERATOR_TYPE": f"{generation}-{math.prod(chips) * cores}",
        "TPU_HOST_BOUNDS": ",".join(hosts),
        "TPU_CHIPS_PER_HOST_BOUNDS": ",".join(map(str, per_node)),
        "TPU_TOPOLOGY_ALT": "false",
        "TPU_TOPOLOGY_WRAP": _wrap(generation, chips),
        "TPU_WORKER_ID": str(workers.index(host)),
        # The real driver names a lone worker so, because it need not be resolved.
        "TPU_WORKER_HOSTNAMES": ",".join(workers) if len(workers) > 1 else "localhost",
    }


def variable_name(name: str) -> str:
    """Convert a device name for use in the name of a variable."""
    return re.sub(r"[^A-Z0-9]", "_", name.upper())


def _dimensions(device_name: str, topology: str) -> tuple[int, int, int]:
    parts = topology.split("x")
    if len(parts) not in (2, 3) or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise DeviceError(f"device {device_name}: topology {topology!r} is not like 4x4 or 2x2x4")
    sizes = [int(part) for part in parts]
    return sizes[0], sizes[1], sizes[2] if len(sizes) == 3 else 1


def _tiled(chips: tuple[int, int, int], per_node: tuple[int, int, int], nodes: int) -> bool:
    """Tell whether the chips are so many nodes side by side; a node does not turn: it is 2x4, never 4x2."""
    whole = not any(total % mine for total, mine in zip(chips, per_node, strict=True))
    return whole and math.prod(per_node) * nodes == math.prod(chips)


def _wrap(generation: str, chips: tuple[int, int, int]) -> str:
    if any(word in generation for word in _SINGLE_CORE):
        rings = [size == _RING_CHIPS for size in chips]
    else:
        rings = [all(size >= _CUBE_CHIPS for size in chips)] * 3
    return ",".join(str(ring).lower() for ring in rings)
