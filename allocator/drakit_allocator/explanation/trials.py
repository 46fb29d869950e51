"""Asking the allocator what would be: with fewer requests, with claims released, with devices a little different."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.devices.devices import PoolID
from drakit_allocator.errors import AllocationAborted, AllocationError
from drakit_allocator.explanation.inventory import Inventory, pool_of
from drakit_allocator.nodes import Node
from drakit_allocator.search import Limits
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import ReadOnlyObject

# One question must not take the time of all others.
_SECONDS_PER_TRIAL = 1.0
_SECONDS = 20.0  # where no limit is given


class Clock:
    """The time that a part of an explanation may take; ``ran_out`` once something was left undecided."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self.ran_out = False

    @staticmethod
    def of(limits: Limits) -> Clock:
        """Make a clock for as long as a search with these limits may take."""
        return Clock(_SECONDS if limits.deadline is None else limits.deadline - time.monotonic())

    @property
    def remaining(self) -> float:
        """Seconds that are left; negative when the time is over."""
        return self.deadline - time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether nothing may be started any more."""
        return self.remaining <= 0

    def limits(self, seconds: float) -> Limits:
        """Return the limits of a search that may take so long by itself."""
        return Limits(deadline=min(self.deadline, time.monotonic() + seconds))


@dataclass(frozen=True, slots=True)
class Trial:
    """A node and the devices that claims are tried on there."""

    node: Node
    snapshot: Snapshot
    allocated: AllocatedState
    clock: Clock

    def fits(self, claims: Sequence[ReadOnlyObject]) -> bool | None:
        """Tell whether the claims fit; None if that could not be found out in time. Errors count as not fitting."""
        if self.clock.is_over:
            self.clock.ran_out = True
            return None
        limits = self.clock.limits(_SECONDS_PER_TRIAL)
        try:
            return PodAllocation(claims, self.snapshot, self.allocated).on(self.node, limits) is not None
        except AllocationAborted:
            self.clock.ran_out = True
            return None
        except AllocationError:
            return False


@dataclass(frozen=True, slots=True)
class Bench:
    """The part of an inventory that a node can see, to be varied."""

    node: Node
    inventory: Inventory
    clock: Clock

    @staticmethod
    def of(node: Node, inventory: Inventory, pools: Iterable[PoolID], clock: Clock) -> Bench:
        """Make a bench with the slices of these pools alone, and the claims that hold devices of them."""
        visible = list(pools)
        slices = tuple(one for pool in visible for one in inventory.slices_by_pool.get(pool, ()))
        holding = [claim for pool in visible for claim in inventory.claims_by_pool.get(pool, ())]
        # A claim may hold devices of several pools; dicts cannot be in a set, so their ids are the keys.
        claims = tuple({id(claim): claim for claim in holding}.values())
        return Bench(node, replace(inventory, slices=slices, claims=claims), clock)

    def trial(self, change: Callable[[ReadOnlyObject], ReadOnlyObject] | None = None, **different: Any) -> Trial:
        """Make a trial in which ``change`` is applied to the spec of each slice, or inventory fields are different."""
        inventory = replace(self.inventory, **different)
        if change is not None:
            slices = tuple(changed(one, change(one["spec"])) for one in inventory.slices)
            inventory = replace(inventory, slices=slices)
        return Trial(self.node, inventory.snapshot(), inventory.allocated(), self.clock)

    def counters(self) -> list[tuple[PoolID, str, str]]:
        """List all counters: pool, counter set, counter."""
        return list(
            dict.fromkeys(
                (pool_of(one), counter_set["name"], counter)
                for one in self.inventory.slices
                for counter_set in one["spec"].get("sharedCounters") or ()
                for counter in counter_set.get("counters") or ()
            )
        )


def changed(resource_slice: ReadOnlyObject, spec: ReadOnlyObject) -> ReadOnlyObject:
    """Copy a slice with another spec, and without the resource version, by which it would be taken for the same."""
    metadata = {key: value for key, value in resource_slice["metadata"].items() if key != "resourceVersion"}
    return {**resource_slice, "metadata": metadata, "spec": spec}
