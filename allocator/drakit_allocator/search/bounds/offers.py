"""A bound from what parts can really give: not how much of a counter is left, but how much of it can still be used.

Each class of devices, as it looks from outside, gets a weight: what it draws of a counter, or one if it is in some set
of classes and nothing otherwise. No part gives more weight than its best offer, so all needs together must not weigh
more than all best offers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from drakit_allocator.devices.columns import union
from drakit_allocator.search.needs import Need
from drakit_allocator.search.symmetry.parts import Part
from drakit_allocator.search.symmetry.service import Offer, Vector, greatest
from drakit_allocator.search.symmetry.structure import Structure

Look = int  # a class of devices that look alike from outside, whatever they draw
Weights = tuple[tuple[Look, int], ...]

_REMEMBERED = 50_000


class Offers:
    """The bound for the states of one search."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._parts = [part for part in structure.joint if structure.has_offers(part)]
        self._mask = 0
        self._masks: dict[Look, int] = {}
        for part in self._parts:
            self._mask |= part.mask
            for look, mask in zip(part.look_ids, part.look_masks, strict=True):
                self._masks[look] = self._masks.get(look, 0) | mask
        self._drawn = [dict(weights) for weights in {tuple(sorted(one.items())) for one in self._draws()}]
        self._best: dict[Hashable, int] = {}
        self._rests: dict[tuple[Offer, Vector], Offer] = {}

    def _draws(self) -> list[dict[Look, int]]:
        """Return for each name of a counter what a device of each class draws at least."""
        partitions = self._structure.board.partitions
        found: dict[str, dict[Look, int]] = {}
        for part in self._parts:
            for place, look in enumerate(part.looks):
                amounts: dict[str, int] = {}
                for counter, amount in part.draws[place]:
                    name = partitions.name(part.counters[counter])
                    amounts[name] = amounts.get(name, 0) + amount
                for name in {*found, *amounts}:
                    known = found.setdefault(name, {})
                    look_id = part.look_ids[look]
                    known[look_id] = min(known.get(look_id, amounts.get(name, 0)), amounts.get(name, 0))
        return [weights for weights in found.values() if any(weights.values())]

    def suffice(self, needs: Sequence[Need]) -> bool:
        """Tell whether the best offers weigh as much as the needs, by all weights."""
        inside = [need for need in needs if not need.mask & ~self._mask]
        if not inside:
            return True
        asked = union(need.mask for need in needs)
        reserved, free = self._reserved(inside)
        offers = []
        for part in self._parts:
            if part.mask & asked:
                looks = tuple([look for look, devices in enumerate(part.look_masks) if devices & asked])
                offer = self._structure.service.offer(part, looks)
                if offer is None:
                    return True
                if part.positions[0] in reserved:
                    offer = self._left(offer, tuple(reserved[part.positions[0]]))
                    if not offer:
                        return False
                offers.append((part, offer))
        wanted: dict[frozenset[Look], int] = {}
        for need in free:
            ones = frozenset([look for look, mask in self._masks.items() if need.mask & mask])
            wanted[ones] = wanted.get(ones, 0) + need.missing
        sets = {*wanted, *(one | other for one in wanted for other in wanted)}
        weights = self._drawn + [dict.fromkeys(one, 1) for one in sets]
        return all(self._suffice(one, wanted, offers) for one in weights)

    def _reserved(self, needs: Sequence[Need]) -> tuple[dict[int, list[int]], list[Need]]:
        """Split the needs: those that only one class of one part can fill, by the part's first device; and others."""
        reserved: dict[int, list[int]] = {}
        free = []
        for need in needs:
            part = next((part for part in self._parts if not need.mask & ~part.mask), None)
            look = None
            if part is not None:
                look = next((n for n, devices in enumerate(part.look_masks) if not need.mask & ~devices), None)
            if part is None or look is None:
                free.append(need)
            else:
                vector = reserved.setdefault(part.positions[0], [0] * part.look_count)
                vector[look] += need.missing
        return reserved, free

    def _left(self, offer: Offer, reserved: Vector) -> Offer:
        """Return what an offer leaves next to what is reserved; nothing if it does not go with it."""
        key = offer, reserved
        found = self._rests.get(key)
        if found is None:
            rests = {
                tuple([has - takes for has, takes in zip(vector, reserved, strict=True)])
                for vector in offer
                if all(has >= takes for has, takes in zip(vector, reserved, strict=True))
            }
            found = greatest(rests)
            if len(self._rests) >= _REMEMBERED:
                self._rests.clear()
            self._rests[key] = found
        return found

    def _suffice(
        self, weights: Mapping[Look, int], wanted: Mapping[frozenset[Look], int], offers: Sequence[tuple[Part, Offer]]
    ) -> bool:
        heavy = sum(count * min(weights.get(look, 0) for look in looks) for looks, count in wanted.items())
        if not heavy:
            return True
        key = tuple(sorted(weights.items()))
        for part, offer in offers:
            heavy -= self._greatest(key, weights, part, offer)
            if heavy <= 0:
                return True
        return False

    def _greatest(self, key: Weights, weights: Mapping[Look, int], part: Part, offer: Offer) -> int:
        """Return the weight of the best offer of a part."""
        found = self._best.get((key, part.look_ids, offer))
        if found is None:
            by_class = [weights.get(look, 0) for look in part.look_ids]
            found = max(sum(map(int.__mul__, by_class, vector)) for vector in offer)
            if len(self._best) >= _REMEMBERED:
                self._best.clear()
            self._best[key, part.look_ids, offer] = found
        return found
