"""What pools have in common whose devices differ in names and attributes only, and what follows from it.

All nodes of one kind have pools of one shape. Which devices a lack of counters stops, which have room for a request and
whose taints it tolerates is worked out once for a shape, as bits in the order of the devices.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

from drakit_allocator.devices.capacity import CapacityError, fits
from drakit_allocator.devices.columns import Column, OneOfEach, remember
from drakit_allocator.devices.counters import Consumers, Draw, PoolCounters
from drakit_allocator.devices.request_kinds import RequestKind
from drakit_allocator.devices.taints import untolerated
from drakit_allocator.devices.traits import Capacity, Traits, capacities_of
from drakit_allocator.pools.occupation import Occupation

NO_COUNTERS = PoolCounters.of(())


class Shape:
    """Compared by identity, made by ``shape_of``."""

    def __init__(self, traits: Column[Traits], counters: PoolCounters | None, overdraft_blocks: bool) -> None:
        """Compute what devices draw. Raises ``KeyError`` for unknown counters; without ``counters`` no device draws."""
        self.traits = traits
        self.counters = counters or NO_COUNTERS
        self.overdraft_blocks = overdraft_blocks
        self.size = len(traits.values)
        self.everything = (1 << self.size) - 1
        nothing = Draw(())
        self.draws: Sequence[Draw] = [
            nothing if counters is None else counters.layout.draw(one.consumption) for one in traits.values
        ]
        consumptions = zip((one.consumption for one in traits.values), self.draws, strict=True)
        self.consumers = Consumers(((published, draw.needs) for published, draw in consumptions), self.counters.layout)
        self.untouched = Occupation.nothing(self.counters, self.consumers, overdraft_blocks=overdraft_blocks)
        self._masks: Mapping[Traits, int] = traits.masks()
        self.capacities: Column[Capacity] = capacities_of(traits)
        self.shareable = self._where(lambda one: one.is_shareable)
        self.bound = self._where(lambda one: bool(one.spec.get("bindingConditions")))
        self.has_binding_conditions = any(one.spec.get("bindingConditions") is not None for one in self._masks)
        self.has_groups = any(draw.compatibility_groups for one in self._masks for draw in one.consumption)
        self.tainted = self._where(lambda one: bool(one.taints))
        self._room: dict[Any, tuple[int, int]] = {}
        self._untolerated: dict[bytes, int] = {}

    @cached_property
    def broken(self) -> int:
        """The devices with a policy that makes no sense."""
        return sum(mask for capacity, mask in self.capacities.masks().items() if capacity.is_broken)

    def _where(self, rule: Callable[[Traits], bool]) -> int:
        """Return the devices whose traits obey a rule, as bits."""
        return sum(mask for traits, mask in self._masks.items() if rule(traits))

    def untolerated(self, kind: RequestKind) -> int:
        """Return the devices whose published taints keep requests of the kind away, as bits."""
        if not self.tainted:
            return 0
        found = self._untolerated.get(kind.tolerated)
        if found is None:
            found = self._where(lambda one: untolerated(one.taints, kind.tolerations) is not None)
            remember(self._untolerated, kind.tolerated, found)
        return found

    def room(self, kind: RequestKind) -> tuple[int, int]:
        """Return the devices with enough capacity for the kind, and those on which asking is an error, as bits."""
        found = self._room.get(kind.asked)
        if found is None:
            enough = failing = 0
            for capacity, mask in self.capacities.masks().items():
                amounts = kind.amounts(capacity)
                if isinstance(amounts, CapacityError):
                    failing |= mask
                elif amounts is not None and fits(capacity.limits, amounts):
                    enough |= mask
            found = remember(self._room, kind.asked, (enough, failing))
        return found


_SHAPES: OneOfEach[Hashable, Shape] = OneOfEach()


def shape_of(traits: Column[Traits], counters: PoolCounters | None, *, overdraft_blocks: bool) -> Shape:
    """Return the shape of a pool of such devices. Raises ``KeyError`` as ``Shape``.

    ``overdraft_blocks`` is ``Defect.OVERDRAFT_BLOCKS_POOL``: one overdrawn counter keeps everybody from all devices of
    the pool that draw from counters, be it from others.
    """
    return _SHAPES.of((traits, counters, overdraft_blocks), Shape, traits, counters, overdraft_blocks)
