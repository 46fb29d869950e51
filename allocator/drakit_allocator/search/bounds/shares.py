"""A bound for consumable capacity: what is left of it, over all devices, against what shares take at least."""

from __future__ import annotations

from drakit_allocator.devices.columns import bits
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand
from drakit_allocator.search.needs import Rest
from drakit_allocator.search.sums import usable

_UNLIMITED = 1 << 30


class Shares:
    """Shares of devices: how much is left of their capacities, and what demands take at least."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._left: dict[int, dict[str, int]] = {}
        self._least: dict[int, dict[str, int]] = {}
        self._amounts: dict[int, dict[str, tuple[int, ...]]] = {}  # of shares of a device, each once
        self._tables: dict[tuple[int, str], list[tuple[int, int]]] = {}
        self._names: set[str] = set()
        for position in bits(board.domain & board.shareable):
            self._look_at(position)

    def _look_at(self, position: int) -> None:
        board, device = self.board, self.board.device(position)
        taken = board.situation.allocated.consumed(device.id)
        limits = device.content.limits
        self._left[position] = {name: limit.value.nanos - taken.get(name, 0) for name, limit in limits.items()}
        self._names |= limits.keys()
        asked: dict[str, set[int]] = {}
        for demand in board.demands:
            amounts = demand.request.amounts(device.content) if demand.domain >> position & 1 else None
            if isinstance(amounts, dict):
                for name, amount in amounts.items():
                    asked.setdefault(name, set()).add(amount.nanos)
        self._least[position] = {name: min(amounts) for name, amounts in asked.items()}
        self._amounts[position] = {name: tuple(sorted(amounts - {0})) for name, amounts in asked.items()}

    def left(self, position: int, name: str) -> int:
        """Return what is left of a device's capacity, in 1e-9 units."""
        return self._left[position].get(name, 0) - self.board.consumed.get(position, {}).get(name, 0)

    def most(self, position: int) -> int:
        """Count the shares of a device that there can still be."""
        if not self.board.shareable >> position & 1:
            return 1
        least = self._least[position]
        room = (max(0, self.left(position, name)) // amount for name, amount in least.items() if amount > 0)
        return min([_UNLIMITED, *room])

    def suffice(self, rest: Rest) -> bool:
        """Tell whether what is left of each capacity, over all devices, is as much as is taken at least."""
        if not self._names:
            return True
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
            if taken and taken > sum(self._usable(position, name) for position in bits(union)):
                return False
        return True

    def _usable(self, position: int, name: str) -> int:
        """Return what is left of a capacity, without what no shares can fill."""
        return usable(self.left(position, name), self._amounts[position].get(name, ()))

    def _taken(self, demand: Demand, mask: int, name: str) -> int:
        """Return the least that a share of one of these devices takes; 0 if one of them can be given as a whole."""
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
