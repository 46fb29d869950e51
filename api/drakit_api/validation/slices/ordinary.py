"""Devices that no rule objects to, told apart quickly: nearly all that drivers publish.

A slice has dozens of devices with a dozen attributes and counters each, and their names are the same few. What is asked
here is no rule of its own: it is all rules together for a device that has nothing but a name, plain attributes,
capacities without a policy, and counters; of any other the rules are asked one by one. A test compares the two.
"""

from __future__ import annotations

import functools
from typing import Any

from drakit_api import formats, limits
from drakit_api.validation.names import is_qualified
from drakit_api.validation.slices.attributes import is_plain

_FIELDS = frozenset({"name", "attributes", "capacity", "consumesCounters"})
_CONSUMPTION_FIELDS = frozenset({"counterSet", "counters"})
_NONE: dict[str, Any] = {}


def is_ordinary(device: dict[str, Any]) -> bool:
    """Tell whether no rule objects to a decoded device, in a slice without ``perDeviceNodeSelection``."""
    if not device.keys() <= _FIELDS or not _is_label(device.get("name", "")):
        return False
    attributes, capacity = device.get("attributes") or _NONE, device.get("capacity") or _NONE
    return (
        len(attributes) + len(capacity) <= limits.ATTRIBUTES_AND_CAPACITIES_PER_DEVICE
        and _are_qualified(tuple(attributes))
        and _are_qualified(tuple(capacity))
        and all(map(is_plain, attributes.values()))
        and not any("requestPolicy" in item for item in capacity.values())
        and _is_ordinary_consumption(device.get("consumesCounters") or [])
    )


def _is_ordinary_consumption(consumed: list[dict[str, Any]]) -> bool:
    if len(consumed) > limits.COUNTER_CONSUMPTIONS_PER_DEVICE:
        return False
    for item in consumed:
        counters = item.get("counters")
        if (
            not item.keys() <= _CONSUMPTION_FIELDS
            or not counters
            or len(counters) > limits.COUNTERS_PER_CONSUMPTION
            or not _is_label(item.get("counterSet", ""))
            or not _are_labels(tuple(counters))
        ):
            return False
    return len(consumed) < 2 or consumed[0]["counterSet"] != consumed[1]["counterSet"]


@functools.lru_cache(maxsize=8192)
def _is_label(name: str) -> bool:
    return not formats.dns_label(name)


@functools.lru_cache(maxsize=1024)
def _are_labels(names: tuple[str, ...]) -> bool:
    return all(map(_is_label, names))


@functools.lru_cache(maxsize=1024)
def _are_qualified(names: tuple[str, ...]) -> bool:
    return all(map(is_qualified, names))
