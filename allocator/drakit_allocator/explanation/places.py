"""Where on a node a defect of upstream can matter at all, and what is to be said of that place.

``can_matter`` looks at a few integers of each pool and is asked after every allocation without the defects. It may be
true where nothing differs, and is never false where something does: each defect is a rule about the things that are
looked for here, and without them the rule says what the rule without the defect says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from drakit_allocator.allocator import PodAllocation
from drakit_allocator.candidates import Situation
from drakit_allocator.defects import UPSTREAM, Defect
from drakit_allocator.devices.capacity import BrokenRange
from drakit_allocator.devices.columns import bits
from drakit_allocator.explanation.holdings import Holdings
from drakit_allocator.explanation.report import EffectPlace
from drakit_allocator.nodes import Node
from drakit_allocator.pools.views import PoolView, by_pool
from drakit_allocator.requests import ClaimRequests, Request
from drakit_allocator.search import Choice


class Places:
    """The pools of one node, as far as the defects go, for the claims of one pod."""

    def __init__(self, pod: PodAllocation, node: Node) -> None:
        """Look up the node's pools. Raises ``AllocationError`` for a broken node selector."""
        self._pod = pod
        self._situation: Situation = pod.situation(node)
        self._pools = [pool for pool in self._situation.pools if pool.problem is None]

    def can_matter(self, defect: Defect) -> bool:
        """Tell whether there is anything on the node that the defect is about."""
        features, allocated = self._situation.features, self._situation.allocated
        match defect:
            case Defect.ADMIN_ACCESS_DRAWS_COUNTERS:
                has_admin = any(request.has_admin_access for request in requests_of(self._pod.claims))
                return features.partitionable_devices and has_admin and any(self._consumers(self._pools))
            case Defect.OVERDRAFT_BLOCKS_POOL:
                overdrawn = (pool.occupation(allocated).overdrawn for pool in self._pools)
                return features.partitionable_devices and any(overdrawn)
            case Defect.SHARES_ARE_NOT_IN_USE:
                return any(pool.occupation(allocated).orphaned for pool in self._pools)
            case Defect.BROKEN_RANGE_PANICS:
                return features.consumable_capacity and any(pool.shape.broken for pool in self._pools)

    @staticmethod
    def _consumers(pools: Iterable[PoolView]) -> Iterator[int]:
        return (pool.shape.consumers.mask for pool in pools)

    def of(self, defect: Defect, upstream: Choice | None, safe: Choice | None) -> tuple[EffectPlace, ...]:
        """List the devices, counter sets and holders of a defect, from what was chosen with and without it."""
        match defect:
            case Defect.ADMIN_ACCESS_DRAWS_COUNTERS:
                return tuple(self._of_admin_access(safe))
            case Defect.OVERDRAFT_BLOCKS_POOL:
                return tuple(self._of_overdrafts(safe))
            case Defect.SHARES_ARE_NOT_IN_USE:
                return tuple(self._of_shares(upstream))
            case Defect.BROKEN_RANGE_PANICS:
                return tuple(self._of_ranges())

    def _of_admin_access(self, safe: Choice | None) -> Iterator[EffectPlace]:
        """Yield the devices given to admin access that draw from counters; if any of them lack counters, only those.

        If nothing is given without the defect either, but an error comes up, the pools that have such devices.
        """
        holdings = Holdings(self._situation)
        chosen = self._chosen(safe, only_admin=True)
        drawing = [mask & one for mask, one in zip(chosen, self._consumers(self._situation.pools), strict=True)]
        lacking = [
            mask & pool.occupation(self._situation.allocated).unaffordable
            for mask, pool in zip(drawing, self._situation.pools, strict=True)
        ]
        if safe is None:
            yield from (EffectPlace(pool.name) for pool in self._pools if pool.shape.consumers.mask)
        for pool, mask in zip(self._situation.pools, lacking if any(lacking) else drawing, strict=True):
            for counter_set, devices in _by_counter_set(pool, mask).items():
                yield EffectPlace(pool.name, devices, counter_set, holdings.drawing(pool, counter_set))

    def _of_overdrafts(self, safe: Choice | None) -> Iterator[EffectPlace]:
        """Yield the overdrawn counter sets, in the pools of the devices that they block, if any is known."""
        holdings = Holdings(self._situation)
        found = []
        for pool, mask in zip(self._situation.pools, self._chosen(safe), strict=True):
            layout = pool.counters.layout
            blocked = tuple(pool.names.values[position] for position in bits(mask & pool.shape.consumers.mask))
            for number in sorted(pool.occupation(self._situation.allocated).overdrawn):
                name = layout.names[number][0]
                found.append(EffectPlace(pool.name, blocked, name, holdings.drawing(pool, name)))
        yield from [one for one in found if one.devices] or found

    def _of_shares(self, upstream: Choice | None) -> Iterator[EffectPlace]:
        """Yield the devices that upstream gives out although shares of them are held; if none, all it might give."""
        holdings = Holdings(self._situation)
        allocated = self._situation.allocated
        orphaned = [pool.occupation(allocated).orphaned for pool in self._situation.pools]
        given = [mask & one for mask, one in zip(self._chosen(upstream), orphaned, strict=True)]
        for pool, mask in zip(self._situation.pools, given if any(given) else orphaned, strict=True):
            for position in bits(mask):
                name = pool.names.values[position]
                yield EffectPlace(pool.name, (name,), holders=holdings.sharers((*pool.id, name)))

    def _of_ranges(self) -> Iterator[EffectPlace]:
        """Yield the devices with a range policy that is broken for one of the requests."""
        kinds = {request.kind for request in requests_of(self._pod.under(UPSTREAM).claims)}
        for pool in self._pools:
            devices = tuple(
                pool.names.values[position]
                for position in bits(pool.shape.broken)
                if any(isinstance(one.amounts(pool.shape.capacities.values[position]), BrokenRange) for one in kinds)
            )
            if devices:
                yield EffectPlace(pool.name, devices)

    def _chosen(self, choice: Choice | None, *, only_admin: bool = False) -> list[int]:
        """Return the chosen devices as bits, pool by pool; only those of admin access with ``only_admin``."""
        alternatives = [one for claim in self._pod.claims for one in claim.requests]
        mask = 0
        for requests, (number, devices) in zip(alternatives, choice or (), strict=choice is not None):
            if requests[number].has_admin_access or not only_admin:
                mask |= devices
        return [inside for _, inside in by_pool(mask, self._situation.pools)]


def requests_of(claims: Sequence[ClaimRequests]) -> Iterator[Request]:
    """Yield all requests and subrequests."""
    return (request for claim in claims for alternatives in claim.requests for request in alternatives)


def _by_counter_set(pool: PoolView, mask: int) -> dict[str, tuple[str, ...]]:
    """Group the names of devices by the counter sets that they draw from."""
    found: dict[str, tuple[str, ...]] = {}
    for position in bits(mask):
        for entry in pool.shape.traits.values[position].consumption:
            found[entry.counter_set] = (*found.get(entry.counter_set, ()), pool.names.values[position])
    return found
