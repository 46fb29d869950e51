"""What a device takes of the node's own resources (gate DRANodeAllocatableResources).

Source: ``validateNodeAllocatableResources`` of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``, and ``pkg/apis/resource/v1/zz_generated.validations.go``.
"""

from __future__ import annotations

from typing import Any

from drakit_api.quantity import ZERO, Quantity
from drakit_api.validation.errors import Errors, invalid, not_found, required


def node_allocatable(resources: dict[str, Any], capacities: dict[str, Any], path: str) -> Errors:
    """Check cpu, memory or huge pages, as a mapping of the device's capacity, as overhead, or both."""
    for name, value in resources.items():
        at = f"{path}[{name}]"
        if name not in ("cpu", "memory") and not name.startswith("hugepages-"):
            yield invalid(at, name, "must be a node allocatable resource name")
        mapping, overhead = value.get("mapping"), value.get("overhead")
        if mapping is None and overhead is None:
            yield required(at, "at least one of mapping or overhead must be set")
        if mapping is not None:
            yield from _mapping(mapping, capacities, f"{at}.mapping")
        if overhead is not None:
            yield from _overhead(overhead, f"{at}.overhead")


def declared_node_allocatable(resources: dict[str, Any], path: str) -> Errors:
    """Check that each mapping has exactly one of ``capacityKey`` and ``deviceMultiplier``."""
    members = ("capacityKey", "deviceMultiplier")
    listed = ", ".join(f"`{name}`" for name in members)
    for name, value in resources.items():
        if value.get("mapping") is None:
            continue
        at = f"{path}[{name}].mapping"
        given = [member for member in members if value["mapping"].get(member) is not None]
        if not given:
            yield invalid(at, "", f"must specify one of: {listed}")
        elif len(given) > 1:
            yield invalid(at, f"{{{', '.join(given)}}}", f"must specify exactly one of: {listed}")


def _mapping(value: dict[str, Any], capacities: dict[str, Any], path: str) -> Errors:
    key, by_capacity, by_device = (
        value.get(name) for name in ("capacityKey", "capacityMultiplier", "deviceMultiplier")
    )
    if key == "":
        yield invalid(f"{path}.capacityKey", "", "capacityKey must not be an empty string")
    elif key is not None and key not in capacities:
        yield not_found(f"{path}.capacityKey", key)
    if key is not None and by_capacity is None:
        yield required(f"{path}.capacityMultiplier", "capacityMultiplier is required when capacityKey is set")
    elif key is not None and by_capacity is not None:
        yield from _positive(by_capacity, f"{path}.capacityMultiplier")
    if by_device is not None:
        yield from _positive(by_device, f"{path}.deviceMultiplier")
    if by_capacity is not None and key is None:
        yield required(f"{path}.capacityKey", "capacityKey is required when capacityMultiplier is set")


def _overhead(value: dict[str, Any], path: str) -> Errors:
    if value.get("perPod") is None and value.get("perContainer") is None:
        yield invalid(path, "", "at least one of perPod or perContainer must be set")
    for name in ("perPod", "perContainer"):
        if value.get(name) is not None and Quantity.parse(value[name]) < ZERO:
            yield invalid(f"{path}.{name}", value[name], "must be non-negative")


def _positive(value: str, path: str) -> Errors:
    if Quantity.parse(value) <= ZERO:
        yield invalid(path, value, "must be positive")
