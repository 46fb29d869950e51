"""A bound over all counters at once: prices at which what is wanted costs more than all that is left is worth.

Let every counter have a price. A device costs what it draws, so needs together cost at least their cheapest devices;
if that is more than the worth of everything that is left, there is no solution, whatever the prices. On a chess board
without two white corners, dominoes cost one where only white squares have a price, and there is one square too few.
The prices are sought for: what is wanted too much becomes dearer, what is left over cheaper (the dual of the linear
relaxation, by subgradient steps). How good they are is a matter of luck; what they prove is checked in whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from drakit_allocator.devices.columns import bits, union
from drakit_allocator.search.board import Board
from drakit_allocator.search.needs import Rest

_WHOLE = 1 << 20  # the dearest counter in whole numbers
_MARGIN = 0.02  # by how much of its worth what is left should be exceeded
_FIRST_STEP = 1.6
_COOLING = 0.97

Prices = Mapping[int, float]  # by counter
Wanted = Sequence[tuple[int, int]]  # alternatives of a need or list: devices, and how many of them
Draws = Mapping[int, Sequence[tuple[int, int]]]  # by device: (counter, amount)


class _Bill(NamedTuple):
    """What the cheapest devices cost, and what these draw."""

    cost: float
    drawn: Mapping[int, int]


class PriceBound:
    """The bound for the states of one search; it starts from the prices that it ended with."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._prices: dict[int, float] = {}
        self.is_useful = self._has_combinations()

    def _has_combinations(self) -> bool:
        """Tell whether some device draws from several counters; else other bounds say the same."""
        needs = self._board.partitions.needs
        return any(len(needs(position)) > 1 for position in bits(self._board.domain))

    def allows(self, rest: Rest, steps: int) -> bool:
        """Tell whether no prices are found, in so many steps, at which ``rest`` is too dear."""
        wanted = self._wanted(rest)
        devices = union(mask for alternatives in wanted for mask, _ in alternatives)
        free = self._free(devices)
        if not free or not wanted:
            return True
        draws = {position: self._board.partitions.needs(position) for position in bits(devices)}
        prices = {counter: self._prices.get(counter, 1.0 / max(1, left)) for counter, left in free.items()}
        step = _FIRST_STEP
        for _ in range(steps):
            bill = _bill(wanted, draws, prices)
            worth = sum(prices[counter] * left for counter, left in free.items())
            if bill.cost > worth and _is_proven(wanted, draws, prices, free):
                self._prices.update(prices)
                return False
            prices = _moved(prices, bill, worth, free, step)
            step *= _COOLING
        self._prices.update(prices)
        return True

    def _wanted(self, rest: Rest) -> list[Wanted]:
        shareable = self._board.shareable
        found: list[Wanted] = [[(need.mask, need.missing)] for need in rest.needs if need.demand.draws]
        lists = [item.alternatives for item in rest.lists if all(one.draws for one in item.alternatives)]
        found += [[(self._board.open_to(one), one.count) for one in alternatives] for alternatives in lists]
        return [one for one in found if not any(mask & shareable for mask, _ in one)]

    def _free(self, devices: int) -> dict[int, int]:
        partitions = self._board.partitions
        counters = {counter for position in bits(devices) for counter, _ in partitions.needs(position)}
        return {counter: max(0, partitions.free[counter]) for counter in sorted(counters)}


def _bill(wanted: Sequence[Wanted], draws: Draws, prices: Prices) -> _Bill:
    """Compute the least that everything can cost, each need for itself."""
    costs = {position: sum(prices[one] * amount for one, amount in drawn) for position, drawn in draws.items()}
    order = sorted(costs, key=costs.__getitem__)
    total: float = 0  # a whole number if all prices are
    drawn = dict.fromkeys(prices, 0)
    for alternatives in wanted:
        cost, chosen = min(
            (_cheapest(order, costs, mask, count) for mask, count in alternatives), key=lambda one: one[0]
        )
        total += cost
        for position in chosen:
            for counter, amount in draws[position]:
                drawn[counter] += amount
    return _Bill(total, drawn)


def _cheapest(order: Sequence[int], costs: Mapping[int, float], mask: int, count: int) -> tuple[float, list[int]]:
    chosen: list[int] = []
    for position in order:
        if len(chosen) == count:
            break
        if mask >> position & 1:
            chosen.append(position)
    if len(chosen) < count:
        return float("inf"), []
    return sum(costs[position] for position in chosen), chosen


def _moved(prices: Prices, bill: _Bill, worth: float, free: Mapping[int, int], step: float) -> dict[int, float]:
    """Raise prices where more is wanted than there is, and lower them where less is; by how much after Polyak."""
    # Counters differ in size by orders of magnitude: each moves by shares of what is left of it.
    over = {counter: (bill.drawn[counter] - left) / max(1, left) for counter, left in free.items()}
    norm = sum(one * one for one in over.values())
    if not norm:
        return dict(prices)
    length = step * max(0.0, worth * (1 + _MARGIN) - bill.cost) / norm
    moved = {counter: max(0.0, prices[counter] + length * over[counter] / max(1, free[counter])) for counter in prices}
    return moved if any(moved.values()) else dict(prices)


def _is_proven(wanted: Sequence[Wanted], draws: Draws, prices: Prices, free: Mapping[int, int]) -> bool:
    """Check in whole numbers that what is wanted costs more than what is left is worth."""
    dearest = max(prices.values())
    whole = {counter: round(price / dearest * _WHOLE) for counter, price in prices.items()}
    return _bill(wanted, draws, whole).cost > sum(whole[counter] * left for counter, left in free.items())
