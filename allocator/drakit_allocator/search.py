"""The search: an explicit depth-first walk over requests, alternatives and devices, in upstream's order.

The first solution in that order is the answer (``allocateOne`` and ``allocateDevice`` of
``structured/internal/experimental/allocator_experimental.go``). The walk keeps its own stack, for a pod may have more
devices than Python has stack frames, and leaves out only what cannot hold a solution (``interchange.py``).
"""

from __future__ import annotations

import enum
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from drakit_allocator.candidates import Candidates, Situation
from drakit_allocator.capacity import Amounts, CapacityError, fits
from drakit_allocator.compatibility import Groups, PoolGroups
from drakit_allocator.constraints import ConstraintState
from drakit_allocator.counters import Availability, Layout, Needs
from drakit_allocator.devices import Device, PoolID
from drakit_allocator.errors import AllocationAborted, AllocationError
from drakit_allocator.interchange import Interchange
from drakit_allocator.requests import MAX_RESULTS, ClaimRequests, Request

_STEPS_BETWEEN_CLOCKS = 256


class Outcome(enum.Enum):
    """How an attempt ended. EXCEEDED: only smaller subrequests of an earlier request can help."""

    SOLVED = enum.auto()
    FAILED = enum.auto()
    EXCEEDED = enum.auto()


@dataclass(frozen=True, slots=True)
class Limits:
    """When to give up: upstream's filter timeout as a ``time.monotonic`` moment, and a bound on steps."""

    deadline: float | None = None
    steps: int | None = None


NO_LIMITS = Limits()


@dataclass(slots=True)
class Placement:
    """A device given to a request, and what to undo when that leads nowhere."""

    request: Request
    device: Device
    amounts: Amounts | None  # of capacity, for a share of the device
    needs: Needs
    groups: dict[str, Groups | None]


class _PoolState:
    """What the placements of the running search draw from one pool."""

    __slots__ = ("availability", "groups", "layout", "used")

    def __init__(self, situation: Situation, pool_id: PoolID) -> None:
        pool = next(pool for pool in situation.pools if pool.id == pool_id)
        self.layout: Layout = pool.counters.layout
        self.availability: Availability = pool.availability(situation.allocated)
        self.used = [0] * len(self.layout.names)
        self.groups: PoolGroups | None = None
        if situation.features.compatibility_groups:
            self.groups = PoolGroups(pool, situation.allocated)


@dataclass(slots=True)
class Search:
    """One search: the claims, their candidates on the node, and the state of the attempt in progress."""

    situation: Situation
    claims: list[ClaimRequests]
    candidates: Mapping[Request, Candidates]
    limits: Limits = NO_LIMITS
    steps: int = 0
    results: list[list[Placement]] = field(default_factory=list)
    chosen: dict[tuple[int, int], int] = field(default_factory=dict)  # (claim, request) -> alternative
    _constraints: list[list[ConstraintState]] = field(default_factory=list)
    _taken: dict[Device, list[int]] = field(default_factory=dict)  # devices of this attempt -> claims
    _shares: dict[Device, list[Amounts]] = field(default_factory=dict)
    _pools: dict[PoolID, _PoolState] = field(default_factory=dict)
    interchange: Interchange | None = None

    def run(self) -> bool:
        """Whether there is a solution, which is then in ``results`` and ``chosen``. Raises ``AllocationError``."""
        self.results = [[] for _ in self.claims]
        self._constraints = [[constraint.start() for constraint in claim.constraints] for claim in self.claims]
        self.interchange = Interchange.of(self.situation, self.candidates)
        stack = [self.enter(0, 0)]
        outcome: Outcome | None = None
        while stack:
            self._count_step()
            step = stack[-1].advance(self, outcome)
            if isinstance(step, Outcome):
                if step is Outcome.SOLVED:
                    return True
                stack.pop()
                outcome = step
            else:
                stack.append(step)
                outcome = None
        if outcome is Outcome.EXCEEDED:
            raise AllocationError("allocation max size exceeded")
        return False

    def _count_step(self) -> None:
        self.steps += 1
        if self.limits.steps is not None and self.steps > self.limits.steps:
            raise AllocationAborted(f"filter operation aborted: no answer after {self.limits.steps} steps")
        is_time_to_look = self.limits.deadline is not None and self.steps % _STEPS_BETWEEN_CLOCKS == 1
        if is_time_to_look and time.monotonic() > (self.limits.deadline or 0.0):
            raise AllocationAborted("filter operation aborted: context deadline exceeded")

    def enter(self, claim: int, request: int) -> Frame:
        """The frame that allocates from this request on."""
        if claim >= len(self.claims):
            return _Settled(Outcome.SOLVED)
        requests = self.claims[claim].requests
        if request >= len(requests):
            return _ClaimDone(claim)
        if requests[request][0].parent is not None:
            return _PrioritizedList(claim, request)
        return self.begin(claim, request, 0)

    def begin(self, claim: int, request: int, alternative: int) -> Frame:
        """The frame that allocates one request or subrequest."""
        self.chosen[claim, request] = alternative
        candidates = self.candidates[self.claims[claim].requests[request][alternative]]
        if candidates.request.wants_all and not candidates.devices:
            return _Settled(Outcome.FAILED)
        return self.next_device(claim, request, candidates, 0, 0)

    def next_device(self, claim: int, request: int, candidates: Candidates, number: int, position: int) -> Frame:
        """The frame for the request's device ``number``, from the candidate at ``position`` on."""
        if number >= candidates.count:
            return self.enter(claim, request + 1)
        if candidates.request.wants_all:
            return _EveryDevice(claim, request, candidates, number)
        return _OneDevice(claim, request, candidates, number, position)

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
            if states[number].add(attribute.of(device)):
                continue
            for passed, _ in request.constraints[:done]:
                states[passed].remove()
            if must:
                why = "because a claim constraint would not be satisfied"
                raise AllocationError(f"{request.label}: cannot add device {device.name} {why}")
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


class Frame:
    """One level of the walk."""

    __slots__ = ()

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        """Start (``outcome`` None), or go on after the level below: the next level below, or how this one ended."""
        raise AssertionError("every kind of frame has its own advance")


class _Settled(Frame):
    """A level whose outcome is known without looking."""

    __slots__ = ("known",)

    def __init__(self, known: Outcome) -> None:
        self.known = known

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        return self.known


class _ClaimDone(Frame):
    """Between two claims. Too many devices in a later claim may be cured by any other choice in an earlier one."""

    __slots__ = ("claim",)

    def __init__(self, claim: int) -> None:
        self.claim = claim

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        return search.enter(self.claim + 1, 0) if outcome is None else Outcome.FAILED


class _PrioritizedList(Frame):
    """Tries the subrequests of a request in order."""

    __slots__ = ("alternative", "claim", "only_exceeded", "request")

    def __init__(self, claim: int, request: int) -> None:
        self.claim = claim
        self.request = request
        self.alternative = -1
        self.only_exceeded = True

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        if outcome is Outcome.FAILED:
            self.only_exceeded = False
        self.alternative += 1
        if self.alternative < len(search.claims[self.claim].requests[self.request]):
            return search.begin(self.claim, self.request, self.alternative)
        return Outcome.EXCEEDED if self.only_exceeded else Outcome.FAILED


class _DeviceFrame(Frame):
    __slots__ = ("candidates", "claim", "number", "placement", "request")

    def __init__(self, claim: int, request: int, candidates: Candidates, number: int) -> None:
        self.claim = claim
        self.request = request
        self.candidates = candidates
        self.number = number
        self.placement: Placement | None = None

    def below(self, search: Search, position: int) -> Frame:
        """The frame for the device after this one."""
        return search.next_device(self.claim, self.request, self.candidates, self.number + 1, position)


class _EveryDevice(_DeviceFrame):
    """Takes the next of all devices: there is no choice, and no solution without it."""

    __slots__ = ()

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        if outcome is not None:
            assert self.placement is not None
            search.remove(self.placement)
            return outcome
        if search.exceeds(self.claim, self.candidates.count - self.number):
            return Outcome.EXCEEDED
        request, device = self.candidates.request, self.candidates.devices[self.number]
        if device in self.candidates.unusable or search.is_taken(request, device):
            return Outcome.FAILED
        self.placement = search.place(request, device, must=True)
        return Outcome.FAILED if self.placement is None else self.below(search, 0)


class _OneDevice(_DeviceFrame):
    """Tries one candidate after the other; devices of one request are taken in increasing order only."""

    __slots__ = ("hopeless", "position")

    def __init__(self, claim: int, request: int, candidates: Candidates, number: int, position: int) -> None:
        super().__init__(claim, request, candidates, number)
        self.position = position
        self.hopeless: set[int] = set()  # kinds of devices that led nowhere here

    def advance(self, search: Search, outcome: Outcome | None) -> Frame | Outcome:
        if outcome is None:
            if search.exceeds(self.claim, self.candidates.count - self.number):
                return Outcome.EXCEEDED
        elif (failed := self._withdraw(search, outcome)) is not None:
            return failed
        request, faults = self.candidates.request, self.candidates.faults
        interchange = search.interchange
        last = len(self.candidates.devices) - 1
        if interchange is not None:  # enough candidates must remain for the devices after this one
            last -= self.candidates.count - self.number - 1
        while self.position <= last:
            device = self.candidates.devices[self.position]
            self.position += 1
            if search.is_taken(request, device):
                continue
            if device in faults:
                raise faults[device]
            if self.hopeless and interchange is not None and interchange.kind(device) in self.hopeless:
                continue
            self.placement = search.place(request, device)
            if self.placement is not None:
                return self.below(search, self.position)
        return Outcome.FAILED

    def _withdraw(self, search: Search, outcome: Outcome) -> Outcome | None:
        assert self.placement is not None
        search.remove(self.placement)
        if search.interchange is not None:
            self.hopeless.add(search.interchange.kind(self.placement.device))
        return outcome if outcome is Outcome.EXCEEDED else None
