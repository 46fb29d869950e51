"""What is known about the size of a device's parts before there is one: the limits that the API has for them."""

from __future__ import annotations

from typing import Final

from drakit_api import limits
from drakit_api.cel.cost.ranges import Path, Range

_MAPS: Final = ("attributes", "capacity")


def of_path(path: Path) -> Range | None:
    """Return the size range of what a path through ``device`` leads to; None if nothing is known."""
    greatest = _greatest(path) if path and path[0] == "device" else None
    return None if greatest is None else Range(0, greatest)


def _greatest(path: Path) -> int | None:
    match path[1:]:
        case ():
            return 0
        case ("driver",):
            return limits.DRIVER_NAME_LENGTH
        case ("allowMultipleAllocations",):
            return 1
        case (field,) if field in _MAPS:
            return limits.ATTRIBUTES_AND_CAPACITIES_PER_DEVICE
        case (field, "@keys") if field in _MAPS:
            return limits.ATTRIBUTE_DOMAIN_LENGTH
        case (field, "@values") if field in _MAPS:
            return limits.ATTRIBUTES_AND_CAPACITIES_PER_DEVICE
        case (field, "@values", "@keys") if field in _MAPS:
            return limits.ATTRIBUTE_ID_LENGTH
        case ("attributes", "@values", name) if name not in ("@items", "@indices"):
            return limits.ATTRIBUTE_VALUE_LENGTH
        case ("capacity", "@values", "@values"):
            return 0
    return None
