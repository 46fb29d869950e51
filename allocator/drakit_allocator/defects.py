"""What upstream's allocator gets wrong, by name, and the setting that switches it off.

An allocator that is to predict Kubernetes must repeat its mistakes; one that people rely on had better not. So each
mistake is a ``Defect``, and a set of them is part of the rules (``Features.defects``): all of them with
``compat="upstream"``, none with ``compat="safe"``. There is one search for both. Each defect is looked up in one place,
where what follows from it becomes part of an object that everything is remembered by: the kind of a request
(``requests.py``) or the view of a pool (``pools/views.py``). ``explanation/defect_effects.py`` says where one makes a
difference.
"""

from __future__ import annotations

import enum
from typing import Literal

Compat = Literal["upstream", "safe"]
COMPATS: tuple[Compat, ...] = ("upstream", "safe")


class Defect(enum.Enum):
    """A mistake of ``k8s.io/dynamic-resource-allocation/structured`` 0.37.1; the values are its names for users."""

    text: str  # what Kubernetes does, as one sentence without its full stop
    instead: str  # what is done without the defect
    source: str  # where it is in upstream's code, in all variants unless one is named

    def __new__(cls, value: str, text: str, instead: str, source: str) -> Defect:
        """Take the name as the value, and keep beside it what is told of the defect."""
        made = object.__new__(cls)
        made._value_, made.text, made.instead, made.source = value, text, instead, source
        return made

    ADMIN_ACCESS_DRAWS_COUNTERS = (
        "adminAccessDrawsCounters",
        "admin access charges shared counters, although it takes nothing from anyone",
        # Compatibility groups say which partitions may draw from a counter set together; who draws nothing is no party.
        "admin access neither needs nor draws counters, nor does it join the compatibility groups on a counter set",
        "structured/internal/*/allocator_*.go, allocateDevice: checkAvailableCounters is called for admin access, too",
    )
    OVERDRAFT_BLOCKS_POOL = (
        "overdraftBlocksPool",
        "one overdrawn counter blocks all devices of its pool that draw from counters, be it from other counter sets",
        # A counter set stands for a physical device, of which nothing more is given out while more is gone than it has.
        "an overdrawn counter blocks the devices that draw from its own counter set",
        "structured/internal/*/allocator_*.go, checkAvailableCounters: it compares every counter set of the pool",
    )
    SHARES_ARE_NOT_IN_USE = (
        "sharesAreNotInUse",
        "a device of which shares are held counts as free once it does not allow multiple allocations any more",
        "a device of which shares are held is in use, unless it can be shared",
        "structured/internal/{incubating,experimental}, deviceInUse: it does not look at AllocatedSharedDeviceIDs",
    )
    BROKEN_RANGE_PANICS = (
        "brokenRangePanics",
        "a validRange with step 0, or with a step but no min, makes the scheduler panic; here it is a fatal error",
        "a device with such a validRange is passed over",
        "structured/internal/{incubating,experimental}/consumable_capacity.go, roundUpRange and violateValidRange",
    )


UPSTREAM: frozenset[Defect] = frozenset(Defect)
SAFE: frozenset[Defect] = frozenset()


def defects_of(compat: Compat) -> frozenset[Defect]:
    """Return the defects that an allocator with this setting has."""
    return UPSTREAM if compat == "upstream" else SAFE
