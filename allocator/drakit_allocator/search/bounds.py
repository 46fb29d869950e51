"""Counting bounds: whether what is missing can be had at all, counter by counter and demand by demand.

Both are relaxations: they may let pass what is impossible, but rule out nothing that has a solution.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from drakit_allocator.attributes import Value
from drakit_allocator.columns import bits
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.offers import Offers
from drakit_allocator.search.parts import Part, blocks
from drakit_allocator.search.propagation import ties_of
from drakit_allocator.search.structure import Structure
from drakit_allocator.search.values import Match

_UNLIMITED = 1 << 30
_REMEMBERED = 10_000


class Bounds:
    """Bounds for the states of one search."""

    def __init__(self, board: Board, structure: Structure) -> None:
        self.board = board
        self.structure = structure
        self._known: dict[Hashable, int] = {}
        self._totals = _Totals(board)
        self._shares = _Shares(board)
        self._offers = Offers(structure)

    def allow(self, rest: Rest) -> bool:
        """Whether counting leaves hope for all that is to be filled."""
        lists = [need for need in map(self._least, rest.lists) if need.missing]
        # Admin access takes nothing away from requests before it, so that only the others are counted.
        needs = self._crowds([*(need for need in rest.needs if not need.demand.is_admin), *lists])
        return (
            self._totals.suffice(needs)
            and self._shares.suffice(rest)
            and (self.board.has_admin or self._offers.suffice(needs))
            and self._flow_suffices(needs)
            and self._values_suffice(rest.needs)
        )

    def _crowds(self, needs: Sequence[Need]) -> list[Need]:
        """Needs for the same devices as one, unless they may share a device."""
        crowds: dict[int, Need] = {}
        shareable = self.board.shareable
        apart = []
        for need in needs:
            if need.mask & shareable:
                apart.append(need)
                continue
            known = crowds.get(need.mask)
            crowds[need.mask] = need if known is None else Need(need.demand, known.missing + need.missing, need.mask)
        return [*crowds.values(), *apart]

    def _least(self, item: Item) -> Need:
        """A need that every alternative of a list implies."""
        demands = item.alternatives
        mask = 0
        for demand in demands:
            mask |= self.board.open_to(demand)
        return Need(demands[0], min(demand.count for demand in demands), mask)

    def _flow_suffices(self, needs: Sequence[Need]) -> bool:
        """Whether the needs can be distributed over parts and groups of lone devices, by their numbers alone."""
        units, caps, free = [], [], []
        union = 0
        for need in needs:
            union |= need.mask
        for _, block in blocks([need.mask for need in needs], union & self.structure.lone):
            units.append(block)
            caps.append(block.bit_count())
        confined: set[int] = set()
        for part in self.structure.joint:
            if not part.mask & union:
                continue
            inside = [index for index, need in enumerate(needs) if not need.mask & ~part.mask]
            capacity = self._capacity(part, union, [needs[index] for index in inside])
            if capacity < 0:
                return False
            if not part.mask & union & self.board.shareable:
                confined.update(inside)
            units.append(part.mask)
            caps.append(capacity)
        free = [need for index, need in enumerate(needs) if index not in confined]
        edges = [
            [
                (unit, min(need.missing, (need.mask & mask).bit_count()))
                for unit, mask in enumerate(units)
                if need.mask & mask
            ]
            for need in free
        ]
        return _Flow(edges, caps).carries([need.missing for need in free])

    def _values_suffice(self, needs: Sequence[Need]) -> bool:
        """Whether the devices of a distinctAttribute constraint can have a value each of their own."""
        for number, ties in ties_of(needs).items():
            if isinstance(self.board.states[number], Match):
                continue
            values: dict[Value, int] = {}
            edges = [
                [
                    (values.setdefault(value, len(values)), 1)
                    for value, mask in column.groups.items()
                    if need.mask & mask
                ]
                for need, column in ties
            ]
            if not _Flow(edges, [1] * len(values)).carries([need.missing for need, _ in ties]):
                return False
        return True

    def _capacity(self, part: Part, union: int, inside: Sequence[Need]) -> int:
        """How many devices of a part can be given out at most, next to the needs that have no other part.

        Less than nothing if these do not fit; they have their devices then, and only what they must draw counts.
        """
        board = self.board
        mask = union & part.mask
        if mask & board.shareable:
            return self._share_capacity(part, mask)
        state = tuple([board.partitions.free[counter] for counter in part.counters])
        key = part.positions[0], mask, state, tuple([(need.mask, need.missing) for need in inside])
        known = self._known.get(key)
        if known is None:
            known = self._openable(part, mask, inside)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = known
        return known

    def _openable(self, part: Part, mask: int, inside: Sequence[Need] = ()) -> int:
        """How many of these devices the counters are enough for, one counter at a time."""
        partitions = self.board.partitions
        most = mask.bit_count() - sum(need.missing for need in inside)
        for counter in part.counters:
            left = max(0, partitions.free[counter])  # devices that draw nothing do not mind an overdrawn counter
            left -= sum(partitions.least(counter, need.mask, need.missing) for need in inside)
            if left < 0:
                return -1
            most = min(most, partitions.most(counter, mask, left))
        return most

    def _share_capacity(self, part: Part, mask: int) -> int:
        """How many shares and whole devices: of those that are opened already, and of the best that may be opened."""
        board = self.board
        fresh = mask & ~board.charged
        caps = sorted((self._shares.most(position) for position in bits(fresh)), reverse=True)
        opened = sum(self._shares.most(position) for position in bits(mask & board.charged))
        return opened + sum(caps[: self._openable(part, fresh)])


class _Shares:
    """Shares of devices: how much is left of their capacities, and what demands take at least."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._left: dict[int, dict[str, int]] = {}
        self._least: dict[int, dict[str, int]] = {}
        self._tables: dict[tuple[int, str], list[tuple[int, int]]] = {}
        self._names: set[str] = set()
        domain = 0
        for demand in board.demands:
            domain |= demand.domain
        for position in bits(domain & board.shareable):
            self._look_at(position)

    def _look_at(self, position: int) -> None:
        board, device = self.board, self.board.device(position)
        taken = board.situation.allocated.consumed(device.id)
        limits = device.content.limits
        self._left[position] = {name: limit.value.nanos - taken.get(name, 0) for name, limit in limits.items()}
        self._names |= limits.keys()
        least: dict[str, int] = {}
        for demand in board.demands:
            amounts = demand.request.amounts(device.content) if demand.domain >> position & 1 else None
            if isinstance(amounts, dict):
                for name, amount in amounts.items():
                    least[name] = min(least.get(name, amount.nanos), amount.nanos)
        self._least[position] = least

    def left(self, position: int, name: str) -> int:
        """What is left of a capacity."""
        return self._left[position].get(name, 0) - self.board.consumed.get(position, {}).get(name, 0)

    def most(self, position: int) -> int:
        """How many shares of a device there can still be."""
        if not self.board.shareable >> position & 1:
            return 1
        least = self._least[position]
        room = (max(0, self.left(position, name)) // amount for name, amount in least.items() if amount > 0)
        return min([_UNLIMITED, *room])

    def suffice(self, rest: Rest) -> bool:
        """Whether what is left of each capacity, over all devices, is as much as is taken at least."""
        board = self.board
        wanted = [[(need.demand, need.missing, need.mask)] for need in rest.needs]
        wanted += [[(one, one.count, board.open_to(one)) for one in item.alternatives] for item in rest.lists]
        union = 0
        for choices in wanted:
            for _, _, mask in choices:
                union |= mask & board.shareable
        for name in self._names:
            taken = sum(
                min(missing * self._taken(demand, mask, name) for demand, missing, mask in choices)
                for choices in wanted
            )
            if taken and taken > sum(max(0, self.left(position, name)) for position in bits(union)):
                return False
        return True

    def _taken(self, demand: Demand, mask: int, name: str) -> int:
        """What a share of one of these devices takes at least; nothing if one of them can be given as a whole."""
        if mask & ~self.board.shareable:
            return 0
        table = self._tables.get((demand.number, name))
        if table is None:
            masks: dict[int, int] = {}
            for position in bits(demand.domain & self.board.shareable):
                amounts = demand.request.amounts(self.board.device(position).content)
                amount = amounts[name].nanos if isinstance(amounts, dict) and name in amounts else 0
                masks[amount] = masks.get(amount, 0) | 1 << position
            table = self._tables[demand.number, name] = sorted(masks.items())
        return next((amount for amount, devices in table if mask & devices), 0)


class _Totals:
    """For each name of a counter, over all sets: what is left, and what the needs draw at least."""

    def __init__(self, board: Board) -> None:
        self.board = board
        partitions = board.partitions
        self._counters: dict[Hashable, list[int]] = {}
        for counter in range(len(partitions.free)):
            if partitions.levels(counter)[0]:
                self._counters.setdefault(partitions.name(counter), []).append(counter)
        self._tables = {name: _by_amount(board, counters) for name, counters in self._counters.items()}

    def suffice(self, needs: Sequence[Need]) -> bool:
        board = self.board
        for name, counters in self._counters.items():
            table = self._tables[name]
            drawn = 0
            for _, missing, mask in needs:
                if mask & board.shareable:
                    continue
                drawn += _least(table, mask, missing)
            if drawn > sum(max(0, board.partitions.free[counter]) for counter in counters):
                return False
        return True


def _least(table: Sequence[tuple[int, int]], mask: int, missing: int) -> int:
    """What so many of these devices draw at least."""
    drawn = 0
    for amount, devices in table:
        number = min(missing, (mask & devices).bit_count())
        drawn += number * amount
        missing -= number
        if not missing:
            break
    return drawn


def _by_amount(board: Board, counters: Sequence[int]) -> list[tuple[int, int]]:
    """(amount, devices that draw so much of these counters in all), the least first."""
    wanted = set(counters)
    masks: dict[int, int] = {}
    domain = 0
    for demand in board.demands:
        domain |= demand.domain
    for position in bits(domain):
        amount = sum(drawn for counter, drawn in board.partitions.needs(position) if counter in wanted)
        masks[amount] = masks.get(amount, 0) | 1 << position
    return sorted(masks.items())


class _Flow:
    """A flow from needs to units, by augmenting paths."""

    def __init__(self, edges: list[list[tuple[int, int]]], caps: list[int]) -> None:
        self._edges = edges
        self._left = list(caps)
        self._sent: list[dict[int, int]] = [{} for _ in edges]
        self._users: list[set[int]] = [set() for _ in caps]

    def carries(self, amounts: Sequence[int]) -> bool:
        """Whether every need can send its amount."""
        missing = [amount - self._send_directly(need, amount) for need, amount in enumerate(amounts)]
        return all(self._augment(need) for need, count in enumerate(missing) for _ in range(count))

    def _send_directly(self, need: int, amount: int) -> int:
        sent = 0
        for unit, limit in self._edges[need]:
            step = min(limit, self._left[unit], amount - sent)
            if step > 0:
                self._move(need, unit, step)
                self._left[unit] -= step
                sent += step
        return sent

    def _move(self, need: int, unit: int, step: int) -> None:
        now = self._sent[need].get(unit, 0) + step
        self._sent[need][unit] = now
        if now:
            self._users[unit].add(need)
        else:
            self._users[unit].discard(need)

    def _augment(self, need: int) -> bool:
        """One more from this need, by way of others that give up a place for another one."""
        came: dict[int, tuple[int, int] | None] = {need: None}  # need -> the need before it, and the unit between
        queue = [need]
        seen: set[int] = set()
        for current in queue:
            for unit, limit in self._edges[current]:
                if unit in seen or self._sent[current].get(unit, 0) >= limit:
                    continue
                seen.add(unit)
                if self._left[unit] > 0:
                    self._left[unit] -= 1
                    self._shift(current, unit, came)
                    return True
                for user in self._users[unit]:
                    if user not in came:
                        came[user] = (current, unit)
                        queue.append(user)
        return False

    def _shift(self, need: int, unit: int, came: dict[int, tuple[int, int] | None]) -> None:
        while True:
            self._move(need, unit, 1)
            step = came[need]
            if step is None:
                return
            before, freed = step
            self._move(need, freed, -1)
            need, unit = before, freed
