"""How near a device comes to what a request asks for: who reads an explanation wants to hear of the nearest ones.

A device of the wanted driver that is in use says more than the devices of other drivers, however many there are.
"""

from __future__ import annotations

from drakit_allocator.explanation.reasons import DeviceReason, SelectorFalse, WrongNode

# A sort key, the nearest lowest: by the selectors of class and request in their order, then by the place in their text.
Distance = tuple[int, int, int]
FARTHEST: Distance = (3, 0, 0)  # as if there were no device


def distance(reason: DeviceReason) -> Distance:
    """Return how far a device is that is ruled out for this reason."""
    if isinstance(reason, WrongNode):
        return 2, 0, 0
    if isinstance(reason, SelectorFalse):
        place = reason.expression.find(reason.failed[0].expression)
        return int(reason.owner_kind == "class"), -reason.number, -place
    return -1, 0, 0
