"""What a part can still give: the greatest numbers of devices of each class that it can give out together.

On a GPU with room for four slices it does not matter which of the slices are in use, but only how many partitions of
each size still fit side by side. States of a part that can give the same are the same for all who ask.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from drakit_allocator.devices.columns import bits
from drakit_allocator.search.board import Board
from drakit_allocator.search.symmetry.parts import Part

Vector = tuple[int, ...]  # devices of each class of a part
Offer = frozenset[Vector]  # those to which nothing can be added

_WORK = 60_000  # devices in all states of one part; whoever has more is looked at device by device
_VECTORS = 32  # in an offer; comparing more with each other takes longer than it saves
_REMEMBERED = 50_000


class Service:
    """Offers of the parts of one board; equal for parts that are alike."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._known: dict[Hashable, Offer] = {}
        self._some: dict[tuple[Offer, tuple[int, ...]], Offer] = {}
        self._too_many: set[int] = set()  # kinds of parts
        self._work = 0

    def offer(self, part: Part, looks: tuple[int, ...]) -> Offer | None:
        """Return the greatest vectors over these classes of ``part.looks``, and 0 for the others.

        None if there are too many states. What a part can give depends on what is taken of it, not on who asks, so it
        is worked out for all classes at once.
        """
        whole = self._whole(part)
        if whole is None or len(looks) == part.look_count:
            return whole
        key = whole, looks
        found = self._some.get(key)
        if found is None:
            found = greatest({tuple([n if look in looks else 0 for look, n in enumerate(one)]) for one in whole})
            if len(self._some) >= _REMEMBERED:
                self._some.clear()
            self._some[key] = found
        return found

    def _whole(self, part: Part) -> Offer | None:
        if part.kind in self._too_many:
            return None
        self._work = 0
        free = [self.board.partitions.free[counter] for counter in part.counters]
        found = self._offer(part, part.local(self.board.untaken), free)
        if found is None:
            self._too_many.add(part.kind)
        return found

    def _offer(self, part: Part, local: int, free: list[int]) -> Offer | None:
        key = part.kind, local, tuple(free)
        if key in self._known:
            return self._known[key]
        self._work += len(part.positions)
        if self._work > _WORK:
            return None
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        found = self._with_or_without_first(part, local, free) if local else frozenset(((0,) * part.look_count,))
        if found is not None:
            self._known[key] = found
        return found

    def _with_or_without_first(self, part: Part, local: int, free: list[int]) -> Offer | None:
        """Return vectors with the first device, and those that lack it although there would be others in its place."""
        first = (local & -local).bit_length() - 1
        left = list(free)
        for counter, amount in part.draws[first]:
            left[counter] -= amount
        rest = local & (local - 1)
        fitting = 0
        for place in range(len(part.positions)):
            if rest >> place & 1 and all(amount <= left[counter] for counter, amount in part.draws[place]):
                fitting |= 1 << place
        with_it = self._offer(part, fitting, left)
        if with_it is None:
            return None
        look = part.looks[first]
        vectors = {(*one[:look], one[look] + 1, *one[look + 1 :]) for one in with_it}
        if not self._is_harmless(part, first, rest, left):
            without = self._offer(part, rest, free)
            if without is None:
                return None
            vectors |= without
        offer = greatest(vectors) if len(vectors) <= 2 * _VECTORS else None
        return offer if offer is None or len(offer) <= _VECTORS else None

    def _is_harmless(self, part: Part, first: int, rest: int, left: Sequence[int]) -> bool:
        """Tell whether all the others can be had together, as far as this device's counters go, next to it."""
        for counter, _ in part.draws[first]:
            wanted = sum(amount for place in bits(rest) for other, amount in part.draws[place] if other == counter)
            if wanted > left[counter]:
                return False
        return True


def greatest(vectors: set[Vector]) -> Offer:
    """Return the vectors that no other one exceeds."""
    found: list[Vector] = []
    for one in sorted(vectors, key=sum, reverse=True):
        if not any(_covers(other, one) for other in found):
            found.append(one)
    return frozenset(found)


def _covers(one: Sequence[int], other: Sequence[int]) -> bool:
    return all(mine >= yours for mine, yours in zip(one, other, strict=True))
