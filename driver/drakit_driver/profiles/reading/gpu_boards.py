"""NVIDIA GPUs as partitionable devices, named and described as NVIDIA's own driver does it.

With its gate DynamicMIG that driver publishes each GPU and every MIG instance that could be made on it, all drawing
from one counter set a GPU, so that the scheduler decides how a GPU is cut. Claims and selectors that work here work
there. Source of names, attributes, capacities, counters and their order: ``kubernetes-sigs/dra-driver-nvidia-gpu``
(``deviceinfo.go``, ``mig.go``, ``partitions.go``); of the hardware: one YAML file for each GPU, read here.
"""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.pools import Pool, PoolError
from drakit_api.quantity import Quantity
from drakit_driver.profiles.reading.layout_files import documents
from drakit_driver.profiles.reading.profile import Profile, Wanted, device_class

DRIVER = "gpu.nvidia.com"
# The versions of driver and CUDA that the mock reports.
DRIVER_VERSION = "580.126.20"
CUDA_VERSION = "13.0.0"

# Nobody builds larger machines, and a mistyped number should not publish a thousand slices.
MOST_GPUS = 64

CAPACITIES = ("memory", "multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")


_Count = Annotated[int, msgspec.Meta(ge=0)]
_Some = Annotated[int, msgspec.Meta(ge=1)]
_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Hex = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{2}$")]
_Version = Annotated[str, msgspec.Meta(pattern="^[0-9]+[.][0-9]+[.][0-9]+$")]
T = TypeVar("T")


class _Strict(msgspec.Struct, eq=False, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A part of a YAML file: unknown fields are errors. Compared by identity, so that it can be a key of a cache."""


class Slot(_Strict):
    """Where a GPU sits: its PCI bus, the PCIe root that this hangs on, and the NUMA node."""

    bus: _Hex
    root: _Hex
    numa_node: _Count


class Partition(_Strict):
    """A MIG profile, with the memory slices at which it can start; ``memory`` is in MiB.

    ``id`` is the GPU instance profile ID, which is part of a device's name. ``slices`` counts memory slices, which the
    leading number of the name does not: 3g.20gb takes 4, 7g.40gb all 8.
    """

    name: Annotated[str, msgspec.Meta(pattern="^[1-9][0-9]*g[.][0-9]+gb([+][a-z]+([.][a-z]+)*)?$")]
    id: _Count
    slices: _Some
    starts: Annotated[list[_Count], msgspec.Meta(min_length=1)]
    memory: _Some
    multiprocessors: _Count
    copy_engines: _Count
    decoders: _Count
    encoders: _Count
    jpeg_engines: _Count
    ofa_engines: _Count


class Board(_Strict, dict=True):
    """A GPU that can be cut into MIG instances. A node has ``gpus`` of them by default, one in each of ``slots``."""

    product_name: _Text
    architecture: _Text
    cuda_compute_capability: _Version
    slots: Annotated[list[Slot], msgspec.Meta(min_length=1)]
    profiles: Annotated[list[Partition], msgspec.Meta(min_length=1)]
    gpus: Annotated[int, msgspec.Meta(ge=1, le=MOST_GPUS)] = 1

    @functools.cached_property
    def shapes(self) -> list[dict[str, Any]]:
        """The MIG profiles as they are in the file."""
        return [msgspec.to_builtins(profile) for profile in self.profiles]


class Machine(_Strict):
    """Several of a GPU whose file is beside this one."""

    summary: _Text
    gpu: _Text
    gpus: Annotated[int, msgspec.Meta(ge=1, le=MOST_GPUS)]


def read(path: Path) -> Board | Machine:
    """Return what a YAML file describes. Raises ``PoolError`` with the field that is wrong."""
    found = documents(path)
    if len(found) != 1 or not isinstance(found[0], dict):
        raise PoolError(["must be one YAML object, with the fields of a GPU"])
    if "gpu" in found[0]:
        return _converted(found[0], Machine)
    board = _converted(found[0], Board)
    if errors := list(_board_errors(board)):
        raise PoolError(errors)
    return board


def _converted(document: dict[Any, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        raise PoolError([f"{path.strip('.`') or 'the file'}: {said}"]) from None


def _board_errors(board: Board) -> Iterator[str]:
    """Yield an error for two devices with the same name, and for a partition that does not fit."""
    most, names = max(profile.slices for profile in board.profiles), set()
    for index, profile in enumerate(board.profiles):
        for start in profile.starts:
            if start + profile.slices > most:
                yield f"profiles[{index}].starts: {profile.slices} slices of {most} cannot start at {start}"
            name = device_name(0, msgspec.to_builtins(profile), start)
            if name in names:
                yield f"profiles[{index}]: a second device {name}; name, id or start have to differ"
            names.add(name)


@dataclass(frozen=True, slots=True)
class Gpus:
    """The profile of a YAML file: a number of GPUs on each node."""

    name: str
    board: Board
    gpus: int
    summary: str = ""

    def profiles(self) -> list[Profile]:
        """Return the one profile that this is."""
        summary = self.summary or f"{self.board.product_name} with all its MIG partitions"
        return [Profile(name=self.name, kind="mig", summary=summary, driver=DRIVER, gpus=self.gpus)]

    def pools(self, profile: Profile, wanted: Wanted) -> list[Pool]:
        """Return the pool of each node."""
        return [pool(self.board, driver=wanted.driver, node_name=node, gpus=wanted.gpus) for node in wanted.nodes]

    def device_classes(self, driver: str) -> list[Object]:
        """Return the classes that NVIDIA's driver installs, named after the driver."""
        vendor = driver.removeprefix("gpu.")
        of_type = f"device.driver == '{driver}' && device.attributes['{driver}'].type =="
        gpu = device_class(driver, f"{of_type} 'gpu'")
        # Pods may then ask for nvidia.com/gpu as they did with the device plugin (KEP-5004).
        gpu["spec"]["extendedResourceName"] = f"{vendor}/gpu"
        return [gpu, device_class(f"mig.{vendor}", f"{of_type} 'mig'")]


def pool(board: Board, *, driver: str, node_name: str, gpus: int) -> Pool:
    """Return the pool of one node with ``gpus`` GPUs: for each a counter set, the GPU, and its MIG devices."""
    return Pool(
        driver=driver,
        name=node_name,
        shared_counters=[_counter_set(board, minor) for minor in range(gpus)],
        devices=[device for minor in range(gpus) for device in _devices(board, driver, node_name, minor)],
        node_name=node_name,
        slice_per_group=True,
    )


def gpu_uuid(driver: str, node_name: str, minor: int) -> str:
    """Make ``GPU-...``, the same at every start of the driver on that node."""
    return f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{driver}/{node_name}/gpu-{minor}')}"


def device_name(minor: int, profile: Mapping[str, Any], start: int) -> str:
    """Make ``gpu-0-mig-1g5gb-19-0``: GPU, profile, its GPU instance profile ID and the first memory slice."""
    compact = profile["name"].replace(".", "").replace("+", "-")
    return f"gpu-{minor}-mig-{compact}-{profile['id']}-{start}"


def _counter_set_name(minor: int) -> str:
    return f"gpu-{minor}-counter-set"


@functools.cache
def _counter_set(board: Board, minor: int) -> Object:
    return {"name": _counter_set_name(minor), "counters": _counters(_whole(board), 0)}


@functools.cache
def _whole(board: Board) -> dict[str, Any]:
    """Return what a whole GPU has: of everything the most that any profile takes, as NVIDIA's driver computes it."""
    return {name: max(shape[name] for shape in board.shapes) for name in (*CAPACITIES, "slices")}


def _amounts(shape: Mapping[str, Any]) -> dict[str, Object]:
    memory = str(Quantity.parse(f"{shape['memory']}Mi"))
    return {name: {"value": memory if name == "memory" else str(shape[name])} for name in CAPACITIES}


def _counters(shape: Mapping[str, Any], start: int) -> dict[str, Object]:
    """Return amounts under the names of counters, which are DNS labels, and one counter for each memory slice."""
    counters = {re.sub(r"[A-Z]", lambda m: "-" + m[0].lower(), name): each for name, each in _amounts(shape).items()}
    counters |= {f"memory-slice-{index}": {"value": "1"} for index in range(start, start + shape["slices"])}
    return dict(sorted(counters.items()))


def _devices(board: Board, driver: str, node_name: str, minor: int) -> Iterator[Object]:
    """Yield a GPU and its MIG devices, sorted by name."""
    parent = {"string": gpu_uuid(driver, node_name, minor)}
    for template in _templates(board, minor):
        key = "uuid" if "uuid" in template["attributes"] else "parentUUID"
        yield {**template, "attributes": {**template["attributes"], key: parent}}


@functools.cache
def _templates(board: Board, minor: int) -> list[Object]:
    """Make the devices of a GPU without its UUID: they are equal on all nodes, of which a cluster may have hundreds."""
    common = _attributes(board, minor)
    found = [_device(f"gpu-{minor}", minor, {"type": "gpu", "uuid": ""}, common, _whole(board), 0)]
    for profile, start in _placements(board.shapes):
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


def _attributes(board: Board, minor: int) -> Object:
    slots = board.slots
    # A machine with more GPUs than the board has slots gets a second PCI domain.
    domain, slot = f"{minor // len(slots):04x}", slots[minor % len(slots)]
    return {
        "productName": {"string": board.product_name},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": board.architecture},
        "cudaComputeCapability": {"version": board.cuda_compute_capability},
        "driverVersion": {"version": DRIVER_VERSION},
        "cudaDriverVersion": {"version": CUDA_VERSION},
        "resource.kubernetes.io/pciBusID": {"string": f"{domain}:{slot.bus}:00.0"},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci{domain}:{slot.root}"},
        "resource.kubernetes.io/numaNode": {"int": slot.numa_node},
    }
