"""A solution out of a known one, or out of nothing, without looking back: what still fits is kept, the rest put anew.

Two questions in a row differ by a device or two, so most of the time the solution of the first, a little changed, is
one for the second. Whatever hangs together by constraints is placed as one, next to what was placed before; who finds
no place chooses first in the next round. If that leads nowhere, nothing follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from drakit_allocator.devices.columns import bits
from drakit_allocator.requests import MAX_RESULTS
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.feasibility import Feasibility
from drakit_allocator.search.independence import bundles
from drakit_allocator.search.levels import Level, Outcome
from drakit_allocator.search.needs import Need, Rest

_ROUNDS = 8
_PATIENCE = 100  # choices until somebody is thought to have no place


class Known(NamedTuple):
    """A solution: the devices by demand, and what it took of lists."""

    devices: Sequence[int]
    alternatives: Mapping[Item, Demand]


class Repair:
    """Repairs on one board, by means of small questions."""

    def __init__(self, board: Board, asked: Feasibility) -> None:
        self._board = board
        self._asked = asked

    def attempt(self, rest: Rest, known: Known | None) -> Level:
        """Try to make a solution, out of a known one if there is one: end SOLVED with it on the board.

        FAILED, with the board as it was, proves nothing.
        """
        mark = self._board.mark
        waiting, first = bundles(rest), []
        if len(waiting) < 2:
            return Outcome.FAILED
        if known is None:
            waiting, first = [], waiting
        for _ in range(_ROUNDS):
            misfits: list[Rest] = []
            yield self._fill(first, misfits)
            moved = [bundle for bundle in waiting if known is None or not self._keep(bundle, known)]
            if not misfits:
                yield self._fill(moved, misfits)
            if not misfits and max(self._board.sizes) <= MAX_RESULTS:
                return Outcome.SOLVED
            self._board.back_to(mark)
            if first and misfits and misfits[0] is first[0]:  # nobody was in its way
                break
            first = [*misfits, *_without(first, misfits), *_without(moved, misfits)]
            waiting = _without(waiting, first)
        return Outcome.FAILED

    def _fill(self, waiting: Sequence[Rest], misfits: list[Rest]) -> Level:
        """Fill one bundle after the other; note those that find no place."""
        for bundle in waiting:
            outcome = yield self._asked.try_out(bundle, _PATIENCE)
            if outcome is not Outcome.SOLVED:
                misfits.append(bundle)
        return Outcome.SOLVED

    def _keep(self, bundle: Rest, known: Known) -> bool:
        """Give a bundle what it had, if all of that can still be had."""
        mark = self._board.mark
        chosen = {item: known.alternatives[item] for item in bundle.lists}
        for need in [*bundle.needs, *map(Need.whole, chosen.values())]:
            if not self._put(need, known.devices[need.demand.number]):
                self._board.back_to(mark)
                return False
        self._asked.propagation.chosen |= chosen
        return True

    def _put(self, need: Need, known: int) -> bool:
        known &= need.mask
        if known.bit_count() < need.missing:
            return False
        for position in islice(bits(known), need.missing):
            if not self._board.open_to(need.demand) >> position & 1:
                return False
            self._board.put(need.demand, position)
        return True


def _without(bundles: Sequence[Rest], others: Sequence[Rest]) -> list[Rest]:
    known = set(map(id, others))
    return [bundle for bundle in bundles if id(bundle) not in known]
