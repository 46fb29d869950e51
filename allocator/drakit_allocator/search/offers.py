"""A bound from what parts can really give: not how much of a counter is left, but how much of it can still be used.

Each class of devices, as it looks from outside, gets a weight: what it draws of a counter, or one if it is in some set
of classes and nothing otherwise. No part gives more weight than its best offer, so all needs together must not weigh
more than all best offers.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from drakit_allocator.search.needs import Need
from drakit_allocator.search.parts import Part
from drakit_allocator.search.service import Offer
from drakit_allocator.search.structure import Structure

Look = int
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

    def _draws(self) -> list[dict[Look, int]]:
        """For each name of a counter, what a device of each class draws at least."""
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
        """Whether the best offers weigh as much as the needs, by all weights."""
        wanted = [need for need in needs if not need.mask & ~self._mask]
        if not wanted:
            return True
        looks = [[look for look, mask in self._masks.items() if need.mask & mask] for need in wanted]
        union = 0
        for need in needs:
            union |= need.mask
        offers = []
        for part in self._parts:
            if part.mask & union:
                offer = self._structure.service.offer(part, part.mask & union)
                if offer is None:
                    return True
                offers.append((part, offer))
        sets = {frozenset(one) for one in looks}
        sets |= {one | other for one in sets for other in sets}
        weights = self._drawn + [dict.fromkeys(one, 1) for one in sets]
        return all(self._suffice(one, wanted, looks, offers) for one in weights)

    def _suffice(
        self,
        weights: dict[Look, int],
        wanted: Sequence[Need],
        looks: Sequence[Sequence[Look]],
        offers: Sequence[tuple[Part, Offer]],
    ) -> bool:
        heavy = sum(
            need.missing * min(weights.get(look, 0) for look in ones) for need, ones in zip(wanted, looks, strict=True)
        )
        key = tuple(sorted(weights.items()))
        return heavy <= sum(self._greatest(key, weights, part, offer) for part, offer in offers)

    def _greatest(self, key: Weights, weights: dict[Look, int], part: Part, offer: Offer) -> int:
        """The weight of the best offer of a part."""
        found = self._best.get((key, part.look_ids, offer))
        if found is None:
            by_class = [weights.get(look, 0) for look in part.look_ids]
            found = max(sum(map(int.__mul__, by_class, vector)) for vector in offer)
            if len(self._best) >= _REMEMBERED:
                self._best.clear()
            self._best[key, part.look_ids, offer] = found
        return found
