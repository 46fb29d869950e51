"""The recorded exchanges with a real kube-apiserver 1.37.1, and how they are to be compared.

Each of ``FILES`` in ``api``, ``create.jsonl.gz`` and so on, holds one JSON object a line: ``name``, ``server`` (a key
of ``GATES``), ``op``, ``resource``, ``object`` and ``response``. Tests of rules and server replay the same lines.
``api/workloads.jsonl.gz`` has the same form: pods with affinity, deployments and replica sets, most of them wrong. So
has ``api/pods.jsonl.gz``: what people write into pods; there ``shows`` names the parts of the answer that are recorded.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from drakit_api.features import FeatureGates

Vector = dict[str, Any]

FILES = ("create", "ops", "equality", "long-numbers", "fractional-capacity")
# Pods are more than their claims, which is all that the rules of ``drakit_api`` know of them.
OF_SERVER = (*FILES, "pods")
_DIRECTORY = Path(__file__).parent / "api"
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


@cache
def recorded(file: str) -> tuple[Vector, ...]:
    """All lines of a file in ``api``, by its name without the suffix."""
    with gzip.open(_path(file), "rt", encoding="utf-8") as lines:
        return tuple(map(json.loads, lines))


def keep(file: str, vectors: Iterable[Vector]) -> None:
    """Write a file anew: the same lines are the same bytes."""
    with gzip.GzipFile(_path(file), "wb", mtime=0) as out:
        out.writelines(line(vector).encode() for vector in vectors)


def line(vector: Vector) -> str:
    """How a vector is written."""
    return json.dumps(vector, ensure_ascii=False, separators=(",", ":")) + "\n"


def _path(file: str) -> Path:
    return _DIRECTORY / f"{file}.jsonl.gz"


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
