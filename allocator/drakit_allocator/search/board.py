"""The board: which devices are given to which demands, and what that leaves for the others, in bits.

Devices are put and taken back in the manner of a stack. Every rule that depends on what else is chosen is kept as a
mask of the devices that it rules out, brought up to date when a device is put; so "which devices can this demand still
get" is a few operations on integers, however large the node. The checks are those of ``allocateDevice`` of
``structured/internal/experimental/allocator_experimental.go``; what cannot change during a search was checked before
(``candidates.py``).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from drakit_allocator.candidates import Candidates, Situation
from drakit_allocator.devices.columns import bits, union
from drakit_allocator.devices.devices import Device, PoolID
from drakit_allocator.pools.compatibility import Groups, PoolGroups
from drakit_allocator.requests import ClaimRequests, Request
from drakit_allocator.search.demands import Demand, Item, items_of
from drakit_allocator.search.numbering import Numbering
from drakit_allocator.search.partitions import Partitions
from drakit_allocator.search.values import Elements, Match, State, initial_states

Consumed = dict[str, int]

_TRIED = 16  # devices, before the least disturbing of them is taken


@dataclass(frozen=True, slots=True)
class _Move:
    """A device that was put, or values that were imposed, with all that is needed to undo it."""

    demand: Demand | None
    position: int
    short: int
    charged: int
    states: tuple[tuple[int, State], ...]
    drawn: tuple[tuple[int, int], ...] = ()
    consumed: Mapping[str, int] | None = None
    full: tuple[tuple[int, int], ...] = ()
    groups: tuple[PoolGroups, dict[str, Groups | None]] | None = None


class Board:
    """The state of one search on one node."""

    def __init__(
        self, situation: Situation, claims: list[ClaimRequests], candidates: Mapping[Request, Candidates]
    ) -> None:
        self.situation = situation
        self.numbering = Numbering(situation.pools)
        self.items: list[Item] = items_of(claims, candidates, self.numbering)
        self.demands: list[Demand] = [demand for item in self.items for demand in item.alternatives]
        self.sizes = [0] * len(claims)  # devices in each claim
        self.states: list[State] = initial_states(claims)
        self.held = [0] * len(self.demands)  # devices, whole or in part, of each demand
        self.taken = 0  # devices given as a whole
        self.short = 0  # devices that counters or compatibility groups rule out, unless they are charged already
        # Whether a device can be given twice: what a claim has can be given once more to admin access of a later claim.
        self.gives_twice = any(demand.is_admin and demand.claim != self.demands[0].claim for demand in self.demands)
        self.all_draw = all(demand.draws for demand in self.demands)
        self.domain = union(demand.domain for demand in self.demands)  # the devices that anybody may get
        self._number(self.domain)
        self._trail: list[_Move] = []

    def _number(self, domain: int) -> None:
        situation = self.situation
        self.partitions = Partitions(situation, self.numbering)
        self.shareable = 0
        self.charged = 0  # devices of which shares are given out: their counters are drawn
        self.consumed: dict[int, Consumed] = {}
        shared = 0
        if situation.features.consumable_capacity:
            for pool, offset in zip(situation.pools, self.numbering.offsets, strict=True):
                self.shareable |= (pool.shape.shareable << offset) & domain
                shared |= pool.occupation(situation.allocated).shared << offset
            self.charged = shared & self.shareable
        kinds: dict[Hashable, int] = {}
        # Demands that ask for the same amounts run out of the same devices.
        self._kind = [kinds.setdefault(demand.request.kind.asked, len(kinds)) for demand in self.demands]
        self._askers = [next(d for d in self.demands if self._kind[d.number] == kind) for kind in range(len(kinds))]
        self.full = [0] * len(kinds)
        for position in bits(shared & domain):
            self._fill_up(position)
        self._groups: dict[PoolID, PoolGroups] = {}
        knows_groups = situation.features.compatibility_groups and situation.features.partitionable_devices
        if knows_groups and any(pool.has_groups for pool in situation.pools):
            self._start_groups(domain & self.partitions.consumers)

    def device(self, position: int) -> Device:
        """Return the device with this number."""
        return self.numbering.device(position)

    def open_to(self, demand: Demand) -> int:
        """Return the devices that the demand can get next to what is on the board, as bits."""
        mask = demand.domain & ~(self._taken_from(demand) if self.gives_twice else self.taken)
        if self.short and demand.draws:
            mask &= ~self.short | self.charged
        if self.shareable:
            # A device has many shares, but a request gets one of each.
            mask &= ~(self.full[self._kind[demand.number]] | self.held[demand.number])
        for number, column in demand.ties:
            mask &= self.states[number].allowed(column)
        return mask

    @property
    def untaken(self) -> int:
        """The devices that are not given as a whole and for which counters are enough."""
        return ~(self.taken | self.short)

    def is_short(self, demand: Demand, position: int) -> bool:
        """Tell whether counters, or compatibility groups, keep the demand from the device."""
        return demand.draws and bool((self.short & ~self.charged) >> position & 1)

    def is_taken(self, demand: Demand, position: int) -> bool:
        """Tell whether the device is given as a whole to somebody whom the demand minds."""
        taken = self._taken_from(demand) if self.gives_twice else self.taken
        return bool(taken >> position & 1)

    def _taken_from(self, demand: Demand) -> int:
        """Return what the demand may not take: admin access minds its own claim only, nobody minds later demands."""
        mask = 0
        for other in self.demands:
            held = self.held[other.number]
            if held and _are_rivals(demand, other):
                mask |= held
        return mask & ~self.shareable

    def put(self, demand: Demand, position: int) -> None:
        """Give the device, which must be open to the demand."""
        bit = 1 << position
        is_share = bool(self.shareable & bit)
        states = tuple((number, self.states[number]) for number, _ in demand.ties)
        before = self.short, self.charged
        drawn: tuple[tuple[int, int], ...] = ()
        groups = None
        if demand.draws and not (is_share and self.charged & bit):
            drawn = self.partitions.needs(position)
            for counter, amount in drawn:
                self.partitions.free[counter] -= amount
                self.short |= self.partitions.short_of(counter)
            if self._groups and self.partitions.consumers & bit:
                groups = self._join_groups(position)
        consumed: Mapping[str, int] | None = None
        full: tuple[tuple[int, int], ...] = ()
        if is_share:
            self.charged |= bit if demand.draws else 0
            consumed, full = self._consume(demand, position)
        else:
            self.taken |= bit
        for number, column in demand.ties:
            self.states[number] = self.states[number].after(column.elements.get(position, frozenset()))
        self.held[demand.number] |= bit
        self.sizes[demand.claim] += 1
        self._trail.append(_Move(demand, position, *before, states, drawn, consumed, full, groups))

    def least_disturbing(self, demand: Demand, mask: int, wanted: int) -> int:
        """Return, of the devices of ``mask`` that draw least, the one that takes the fewest of the wanted ones away."""
        weights = {position: self.partitions.weight(position) for position in bits(mask)}
        lightest = sorted(weights, key=weights.__getitem__)[:_TRIED]
        return min(lightest, key=lambda position: (self._lost(demand, position, wanted), weights[position], position))

    def _lost(self, demand: Demand, position: int, wanted: int) -> int:
        mark = self.mark
        self.put(demand, position)
        lost = wanted & self.short
        for number, column in demand.ties:
            lost |= wanted & column.having & ~self.states[number].allowed(column)
        self.back_to(mark)
        return lost.bit_count()

    def impose(self, number: int, values: Elements) -> None:
        """Decide that a matchAttribute constraint will have one of these values in common."""
        states = ((number, self.states[number]),)
        self.states[number] = Match(values)
        self._trail.append(_Move(None, 0, self.short, self.charged, states))

    @property
    def mark(self) -> int:
        """The number of moves so far, for ``back_to``."""
        return len(self._trail)

    def back_to(self, mark: int) -> None:
        """Undo all moves since ``mark`` had this value."""
        while len(self._trail) > mark:
            self._undo(self._trail.pop())

    def _undo(self, move: _Move) -> None:
        self.short, self.charged = move.short, move.charged
        for number, state in move.states:
            self.states[number] = state
        demand = move.demand
        if demand is None:
            return
        bit = 1 << move.position
        for counter, amount in move.drawn:
            self.partitions.free[counter] += amount
        if move.groups is not None:
            move.groups[0].swap(move.groups[1])
        for kind, mask in move.full:
            self.full[kind] = mask
        if move.consumed is not None:
            self.consumed[move.position] = dict(move.consumed)
        self.held[demand.number] &= ~bit
        if not self.shareable & bit:
            self.taken &= ~bit
            if self.gives_twice:
                self.taken = union(self.held) & ~self.shareable
        self.sizes[demand.claim] -= 1

    def _consume(self, demand: Demand, position: int) -> tuple[Mapping[str, int], tuple[tuple[int, int], ...]]:
        """Count a share; return what was consumed of the device, and what was full, before."""
        amounts = demand.request.amounts(self.device(position).content)
        assert isinstance(amounts, dict)
        before = self.consumed.get(position, {})
        now = dict(before)
        for name, amount in amounts.items():
            now[name] = now.get(name, 0) + amount.nanos
        self.consumed[position] = now
        full = tuple(enumerate(self.full))
        self._fill_up(position)
        return before, full

    def _fill_up(self, position: int) -> None:
        """Note for which demands the device has not enough capacity left."""
        for kind, asker in enumerate(self._askers):
            if not self._has_room(asker, position):
                self.full[kind] |= 1 << position

    def _has_room(self, demand: Demand, position: int) -> bool:
        device = self.device(position)
        taken = self.situation.allocated.consumed(device.id)
        now = self.consumed.get(position)
        if now:
            taken = {name: taken.get(name, 0) + now.get(name, 0) for name in {*taken, *now}}
        return demand.request.kind.has_room(device.content.traits.capacity, taken)

    def amounts_kind(self, demand: Demand) -> int:
        """Return a number that is equal for demands that ask for the same amounts of capacity."""
        return self._kind[demand.number]

    @property
    def has_groups(self) -> bool:
        """Whether compatibility groups decide which devices go together."""
        return bool(self._groups)

    def groups_summary(self) -> Hashable:
        """Return a key that is equal for equal states of the compatibility groups."""
        return tuple(groups.summary() for groups in self._groups.values())

    def _start_groups(self, consumers: int) -> None:
        for pool in self.situation.pools:
            self._groups[pool.id] = PoolGroups(pool, self.situation.allocated)
        self._grouped = bits(consumers)
        for position in self._grouped:
            if self._admitted(position) is None:
                self.short |= 1 << position

    def _admitted(self, position: int) -> dict[str, Groups | None] | None:
        device = self.device(position)
        return self._groups[device.slice.pool].admit(device.content.consumption)

    def _join_groups(self, position: int) -> tuple[PoolGroups, dict[str, Groups | None]]:
        pool_id = self.device(position).slice.pool
        admitted = self._admitted(position)
        assert admitted is not None
        before = self._groups[pool_id].swap(admitted)
        for other in self._grouped:
            if self.device(other).slice.pool == pool_id and self._admitted(other) is None:
                self.short |= 1 << other
        return self._groups[pool_id], before


def _are_rivals(demand: Demand, other: Demand) -> bool:
    """Tell whether the demand cannot get a device that ``other`` has as a whole.

    Admin access gives a device to whoever comes later but to the same claim; who comes first minds nobody, so between
    two demands the later one decides.
    """
    later = demand if demand.number >= other.number else other
    return not later.is_admin or demand.claim == other.claim
