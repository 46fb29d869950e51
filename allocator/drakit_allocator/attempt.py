"""An attempt: which devices the running search has given to which requests, and what that leaves for the next one.

Devices are placed and removed in the manner of a stack. The checks and their order are those of ``allocateDevice`` of
``structured/internal/experimental/allocator_experimental.go``; what cannot change during a search was checked before
(``candidates.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from drakit_allocator.attributes import Value
from drakit_allocator.candidates import Situation
from drakit_allocator.capacity import Amounts, CapacityError, fits
from drakit_allocator.compatibility import Groups, PoolGroups
from drakit_allocator.constraints import ConstraintState
from drakit_allocator.counters import Availability, Layout, Needs
from drakit_allocator.devices import Device, PoolID
from drakit_allocator.errors import AllocationError
from drakit_allocator.outlook import Outlook
from drakit_allocator.requests import MAX_RESULTS, ClaimRequests, Request


@dataclass(slots=True)
class Placement:
    """A device given to a request, and what to undo when that leads nowhere."""

    request: Request
    device: Device
    amounts: Amounts | None  # of capacity, for a share of the device
    needs: Needs
    groups: dict[str, Groups | None]


class _PoolState:
    """What the placements draw from one pool."""

    __slots__ = ("availability", "groups", "layout", "used")

    def __init__(self, situation: Situation, pool_id: PoolID) -> None:
        pool = situation.pool(pool_id)
        self.layout: Layout = pool.counters.layout
        self.availability: Availability = pool.availability(situation.allocated)
        self.used = [0] * len(self.layout.names)
        self.groups: PoolGroups | None = None
        if situation.features.compatibility_groups:
            self.groups = PoolGroups(pool, situation.allocated)

    def summary(self) -> tuple[Hashable, Hashable]:
        """Equal for equal states."""
        return tuple(self.used), None if self.groups is None else self.groups.summary()


class Attempt:
    """The placements so far; ``results`` has them by claim."""

    def __init__(self, situation: Situation, claims: list[ClaimRequests]) -> None:
        self.situation = situation
        self.outlook: Outlook | None = None
        self.results: list[list[Placement]] = [[] for _ in claims]
        self._constraints: list[list[ConstraintState]] = [
            [constraint.start() for constraint in claim.constraints] for claim in claims
        ]
        self._taken: dict[Device, list[int]] = {}  # devices used as a whole -> claims
        self._shares: dict[Device, list[Amounts]] = {}
        self._pools: dict[PoolID, _PoolState] = {}

    def exceeds(self, claim: int, missing: int) -> bool:
        """Whether so many more devices do not fit into the claim's results."""
        return missing > MAX_RESULTS - len(self.results[claim])

    def is_taken(self, request: Request, device: Device) -> bool:
        """Whether this attempt uses the device already; admin access minds only its own claim."""
        claims = self._taken.get(device)
        return bool(claims) and (not request.has_admin_access or request.claim in (claims or ()))

    def place(self, request: Request, device: Device, *, must: bool = False) -> Placement | None:
        """Give the device to the request, if that is possible next to the other placements.

        With ``must`` a constraint in the way is an ``AllocationError``: a claim for all devices that forbids itself.
        """
        is_share = self.situation.charges_once(device)
        needs: Needs = ()
        groups: dict[str, Groups | None] = {}
        if device.content.consumption and not self._is_charged(device, is_share):
            pool = self.pool(device.slice.pool)
            if pool.groups is not None:
                admitted = pool.groups.admit(device.content.consumption)
                if admitted is None:
                    return None
                groups = admitted
            needs = device.content.needs(pool.layout)
            if pool.availability.shortage(needs, pool.used) is not None:
                return None
        if not self._satisfies_constraints(request, device, must):
            return None
        amounts = self._amounts(request, device, is_share)
        if amounts is None:
            self._leave_constraints(request)
            return None
        placement = Placement(request, device, amounts if is_share else None, needs, groups)
        self._commit(placement)
        return placement

    def pool(self, pool_id: PoolID) -> _PoolState:
        """What this attempt draws from a pool."""
        state = self._pools.get(pool_id)
        if state is None:
            state = self._pools[pool_id] = _PoolState(self.situation, pool_id)
        return state

    def _is_charged(self, device: Device, is_share: bool) -> bool:
        return is_share and (device in self._shares or self.situation.allocated.is_shared(device.id))

    def _satisfies_constraints(self, request: Request, device: Device, must: bool) -> bool:
        states = self._constraints[request.claim]
        for done, (number, attribute) in enumerate(request.constraints):
            if self._accepts(request, states[number], number, attribute.of(device)):
                continue
            for passed, _ in request.constraints[:done]:
                states[passed].remove()
            if must:
                why = "because a claim constraint would not be satisfied"
                raise AllocationError(f"{request.label}: cannot add device {device.name} {why}")
            return False
        return True

    def _accepts(self, request: Request, state: ConstraintState, number: int, value: Value | None) -> bool:
        if not state.add(value):
            return False
        if self.outlook is None or value is None or not state.fixes_value or len(state.values) > 1:
            return True
        if not self.outlook.allows(request, number, value):
            state.remove()
            return False
        return True

    def _leave_constraints(self, request: Request) -> None:
        states = self._constraints[request.claim]
        for number, _ in request.constraints:
            states[number].remove()

    def _amounts(self, request: Request, device: Device, is_share: bool) -> Amounts | None:
        """What the device gives of its capacities, nothing without that feature; None when it has too little left."""
        if not self.situation.features.consumable_capacity:
            return {}
        amounts = request.amounts(device.content)
        if amounts is None or isinstance(amounts, CapacityError):
            return None
        taken = [self.situation.allocated.consumed(device.id)]
        if is_share:
            taken += [{name: one.nanos for name, one in share.items()} for share in self._shares.get(device, ())]
        return amounts if fits(device.content.limits, amounts, *taken) else None

    def _commit(self, placement: Placement) -> None:
        device = placement.device
        if placement.needs:
            used = self.pool(device.slice.pool).used
            for number, amount in placement.needs:
                used[number] += amount
        if placement.groups:
            placement.groups = self._swap_groups(device, placement.groups)
        if placement.amounts is None:
            self._taken.setdefault(device, []).append(placement.request.claim)
        else:
            self._shares.setdefault(device, []).append(placement.amounts)
        self.results[placement.request.claim].append(placement)

    def remove(self, placement: Placement) -> None:
        """Undo the last placement."""
        device, request = placement.device, placement.request
        self.results[request.claim].pop()
        users: list[int] | list[Amounts] = self._taken[device] if placement.amounts is None else self._shares[device]
        users.pop()
        if not users:
            del (self._taken if placement.amounts is None else self._shares)[device]
        self._leave_constraints(request)
        if placement.groups:
            self._swap_groups(device, placement.groups)
        if placement.needs:
            used = self.pool(device.slice.pool).used
            for number, amount in placement.needs:
                used[number] -= amount

    def _swap_groups(self, device: Device, groups: dict[str, Groups | None]) -> dict[str, Groups | None]:
        known = self.pool(device.slice.pool).groups
        return known.swap(groups) if known is not None else {}

    def fingerprint(self, claim: int, kind: Callable[[Device], int]) -> Hashable:
        """Equal for two moments from which the search for the rest of this claim and the claims after it ends alike.

        ``kind`` is equal for devices that need not be told apart. A device that is taken and could not be given again
        for want of counters counts only by what it draws.
        """
        taken = sorted((kind(one), tuple(claims)) for one, claims in self._taken.items() if self._is_affordable(one))
        shares = sorted(
            (kind(device), sorted(sorted((name, amount.nanos) for name, amount in one.items()) for one in amounts))
            for device, amounts in self._shares.items()
        )
        return (
            tuple(taken),
            repr(shares) if shares else "",
            frozenset((pool_id, *state.summary()) for pool_id, state in self._pools.items() if any(state.used)),
            tuple(state.summary() for state in self._constraints[claim]) if claim < len(self._constraints) else (),
            len(self.results[claim]) if claim < len(self.results) else 0,
        )

    def _is_affordable(self, device: Device) -> bool:
        """Whether the counters would allow the device once more."""
        pool = self._pools.get(device.slice.pool)
        if pool is None or not device.content.consumption:
            return True
        return pool.availability.shortage(device.content.needs(pool.layout), pool.used) is None
