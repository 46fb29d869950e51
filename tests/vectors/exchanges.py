"""The recorded exchanges with a real kube-apiserver 1.37.1, and how they are to be compared.

The files of ``FILES`` hold one JSON object a line: ``name``, ``server`` (a key of ``GATES``), ``op``, ``resource``,
``object`` and ``response``. Tests of the rules and of the server replay the same lines. ``workloads`` are pods with
affinity, deployments, replica sets and daemon sets, most of them wrong; ``node-features`` are slices with resources of
nodes. ``pods`` has the same form, and is what people write into pods: there ``shows`` names the parts of the answer
that are recorded.
"""

from __future__ import annotations

import re
from typing import Any

from drakit_api.features import FeatureGates
from tests.vectors import recordings

Vector = dict[str, Any]

# The files of ``api`` that the rules of ``drakit_api`` decide alone.
OF_RULES = ("create", "ops", "equality", "long-numbers", "fractional-capacity", "corners")
# Those that one test replays with a server, and one recorder records again; pods have a test of their own.
FILES = (*OF_RULES, "workloads", "node-features")
OF_SERVER = (*FILES, "pods")
_ALPHA = [
    "DRADerivedAttributes",
    "DRADeviceCompatibilityGroups",
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAOptionalNodeOperations",
    "DRAPartitionableDevicesType",
    "DRAResourcePoolStatus",
    "DRAWorkloadResourceClaims",
    "GenericWorkload",
    "NodeDeclaredFeatures",
]
_OFF = [
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaints",
    "DRAExtendedResource",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
]
# How each recorded server was started.
GATES = {
    "default": FeatureGates(),
    "alpha": FeatureGates("1.37", dict.fromkeys(_ALPHA, True)),
    "off136": FeatureGates("1.36", dict.fromkeys(_OFF, False)),
    "fractional": FeatureGates("1.37", {"DRAFractionalCapacityRange": True}),
}
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SET_BY_SERVER = {"uid", "resourceVersion", "creationTimestamp", "managedFields"}


def recorded(file: str) -> tuple[Vector, ...]:
    """All lines of a file in ``api``, by its name without the suffix."""
    return recordings.recorded(f"api/{file}")


def conversions() -> list[Vector]:
    """What was created in one version and read in each; ``reads`` holds what came back, by version."""
    return [vector for vector in recorded("ops") if vector["op"] == "convert"]


def comparable(obj: Vector) -> Vector:
    """An object, in its order, without what a server sets: metadata of the object itself, and the times of taints."""
    found: Vector = without_times(bare(obj))
    return found


def bare(obj: Vector) -> Vector:
    """An object without the metadata that a server sets."""
    meta = {name: value for name, value in obj["metadata"].items() if name not in SET_BY_SERVER}
    return {**obj, "metadata": meta}


def without_times(value: Any) -> Any:
    """An object without the times of taints, which a server sets."""
    if isinstance(value, dict):
        return {name: without_times(item) for name, item in value.items() if name != "timeAdded"}
    return [without_times(item) for item in value] if isinstance(value, list) else value
