"""Whether a stored ResourceSlice says what the driver wanted to say, and if not, which fields the API server dropped.

A byte comparison would republish for ever: the server canonicalizes quantities and stamps taints, and it silently
drops fields whose feature gate is off. Compared are values: quantities by amount, absent like empty, ``timeAdded`` not
at all, as ``DevicesDeepEqual`` in k8s.io/dynamic-resource-allocation/resourceslice/resourceslicecontroller.go.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from drakit_api.kubernetes_objects import ReadOnlyObject
from drakit_api.quantity import Quantity, QuantityError

Spec = dict[str, Any]

# At and below these keys every leaf is a quantity.
_QUANTITIES = frozenset({"capacity", "counters", "capacityMultiplier", "deviceMultiplier", "perPod", "perContainer"})
# Booleans of which false and absent mean the same; elsewhere (attributes) they differ.
_FLAGS = frozenset({"allNodes", "perDeviceNodeSelection", "allowMultipleAllocations", "bindsToNode"})
_ABSENT = object()

# The gate of each field that kube-apiserver drops (k8s.io/kubernetes/pkg/registry/resource/resourceslice/strategy.go).
_GATES = {
    "sharedCounters": "DRAPartitionableDevices",
    "consumesCounters": "DRAPartitionableDevices",
    "perDeviceNodeSelection": "DRAPartitionableDevices",
    "nodeName": "DRAPartitionableDevices",
    "nodeSelector": "DRAPartitionableDevices",
    "allNodes": "DRAPartitionableDevices",
    "taints": "DRADeviceTaints",
    "allowMultipleAllocations": "DRAConsumableCapacity",
    "requestPolicy": "DRAConsumableCapacity",
    "bindsToNode": "DRADeviceBindingConditions",
    "bindingConditions": "DRADeviceBindingConditions",
    "bindingFailureConditions": "DRADeviceBindingConditions",
    "partitionTypeAttribute": "DRAPartitionableDevicesType",
    "skipNodeOperations": "DRAOptionalNodeOperations",
    "compatibilityGroups": "DRADeviceCompatibilityGroups",
    "nodeAllocatableResources": "DRANodeAllocatableResources",
    "mixins": "DRAResourceSliceMixins",
    "includes": "DRAResourceSliceMixins",
}


def canonical(spec: ReadOnlyObject) -> Spec:
    """Convert a slice spec to a form in which equal meaning is ``==``; shares nothing mutable that it changes."""
    value = _canonical(spec, quantities=False)
    return value if isinstance(value, dict) else {}


def _canonical(value: Any, *, quantities: bool) -> Any:
    if isinstance(value, dict):
        members = {}
        for key, member in value.items():
            if key == "timeAdded" or (key in _FLAGS and member is False):
                continue
            kept = _canonical(member, quantities=quantities or key in _QUANTITIES)
            if kept is not _ABSENT:
                members[key] = kept
        return members or _ABSENT
    if isinstance(value, list):
        # An empty element still has its place, or the elements after it would move.
        items = [{} if (kept := _canonical(item, quantities=quantities)) is _ABSENT else kept for item in value]
        return items or _ABSENT
    if value is None:
        return _ABSENT
    return _amount(value) if quantities and isinstance(value, (str, int)) else value


@lru_cache(maxsize=4096)
def _amount(value: str | int) -> int | str | float:
    try:
        return Quantity.parse(value).nanos
    except QuantityError:
        return value


def dropped_fields(sent: Spec, stored: Spec) -> list[str]:
    """List paths in ``sent`` (canonical) that ``stored`` (canonical) lacks or has changed, each once, with a count.

    List indices and map keys of counters are folded: ``spec.devices[].consumesCounters (7)``.
    """
    counts = Counter(_folded(path) for path in _differences(sent, stored, "spec"))
    return [path if count == 1 else f"{path} ({count})" for path, count in sorted(counts.items())]


def suspected_gates(fields: list[str]) -> list[str]:
    """List the feature gates that, when disabled, make an API server drop such fields."""
    gates = set()
    for field in fields:
        for name in reversed(re.findall(r"\w+", field.partition(" ")[0])):
            if name in _GATES:
                gates.add(_GATES[name])
                break
    return sorted(gates)


def _folded(path: str) -> str:
    return re.sub(r"\[\d+]", "[]", path)


def _differences(sent: Any, stored: Any, path: str) -> Iterator[str]:
    if isinstance(sent, dict) and isinstance(stored, dict):
        for key, value in sent.items():
            if key not in stored:
                yield f"{path}.{key}"
            else:
                yield from _differences(value, stored[key], f"{path}.{key}")
        yield from (f"{path}.{key}" for key in stored if key not in sent)
    elif isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
        for index, (mine, theirs) in enumerate(zip(sent, stored, strict=True)):
            yield from _differences(mine, theirs, f"{path}[{index}]")
    elif sent != stored:
        yield path
