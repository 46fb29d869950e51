"""A bound for counters: what is left of all with the same name, against what the needs draw of them at least."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from drakit_allocator.devices.columns import bits, union
from drakit_allocator.search.board import Board
from drakit_allocator.search.needs import Need


class Totals:
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
        """Tell whether of each name as much is left as is drawn. Needs that may get shares are not counted."""
        board = self.board
        wanted = union(need.mask for need in needs)
        for name, counters in self._counters.items():
            table = self._tables[name]
            drawn = 0
            for _, missing, mask in needs:
                if mask & board.shareable:
                    continue
                drawn += _least(table, mask, missing)
            for counter in counters if drawn else ():
                drawn -= board.partitions.usable(counter, wanted)
                if drawn <= 0:
                    break
            if drawn > 0:
                return False
        return True


def _least(table: Sequence[tuple[int, int]], mask: int, missing: int) -> int:
    """Return the least that ``missing`` of these devices draw."""
    drawn = 0
    for amount, devices in table:
        number = min(missing, (mask & devices).bit_count())
        drawn += number * amount
        missing -= number
        if not missing:
            break
    return drawn


def _by_amount(board: Board, counters: Sequence[int]) -> list[tuple[int, int]]:
    """List (amount, devices that draw so much of these counters in all), the least first."""
    wanted = set(counters)
    masks: dict[int, int] = {}
    for position in bits(board.domain):
        amount = sum(drawn for counter, drawn in board.partitions.needs(position) if counter in wanted)
        masks[amount] = masks.get(amount, 0) | 1 << position
    return sorted(masks.items())
