"""Attributes of devices: under which names they are published, and what they may hold besides a single value.

Source: ``DeviceAttribute`` in ``k8s.io/api`` v0.37.1 ``resource/v1/types.go``; ``haveListAttributes`` and its siblings
in ``pkg/apis/resource/validation/validation.go`` of ``k8s.io/kubernetes`` 1.37.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The fields with lists of values (gate DRAListTypeAttributes), in the order of the type.
LIST_VALUES = ("ints", "bools", "strings", "versions")
_is_single = frozenset(LIST_VALUES).isdisjoint


def value_count(attribute: Mapping[str, Any]) -> int:
    """Count the values of an attribute: the elements of its lists; a single value or an empty list counts as one."""
    if _is_single(attribute):
        return 1
    return sum(len(attribute.get(name) or ()) for name in LIST_VALUES) or 1


def is_advanced(device: Mapping[str, Any]) -> bool:
    """Tell whether the lower limit of devices holds for a slice with this one: taints, consumed counters or a list."""
    return bool(
        device.get("taints")
        or device.get("consumesCounters")
        or not all(map(_is_single, (device.get("attributes") or {}).values()))
    )


def published_names(name: str, driver: str) -> tuple[str, ...]:
    """Return the names under which a device may publish a fully qualified attribute or capacity, that one first.

    In the driver's own domain, it may be published without the domain.
    """
    domain, slash, identifier = name.partition("/")
    return (name, identifier) if slash and domain == driver else (name,)


def overridden(published: Mapping[str, Any], values: Mapping[str, Any], driver: str) -> dict[str, Any]:
    """Return attributes or capacities with others of these fully qualified names in their place; None removes one.

    They are replaced where they are published, which may be under two names; what is not published gets its full name.
    """
    result = dict(published)
    for name, value in values.items():
        for there in [one for one in published_names(name, driver) if one in published] or [name]:
            if value is None:
                result.pop(there, None)
            else:
                result[there] = value
    return result
