"""One state of a search: what is to be filled and what is open to whom, and which other states and devices are like it.

A state lasts as long as nothing is put on the board. Keys of its parts are worked out once and used for all questions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from drakit_allocator.devices.columns import bits, union
from drakit_allocator.pools.compared_attributes import Value
from drakit_allocator.search.demands import Item
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.symmetry.kinds import Family
from drakit_allocator.search.symmetry.parts import Part, blocks
from drakit_allocator.search.symmetry.structure import Group, Structure
from drakit_allocator.search.values import Match

Key = tuple[Any, ...]
Number = int  # of a key
PartNumber = Callable[[Part], Number]


class State:
    """What is left to do in one order, whatever order it was given in, and the masks of what is open to it."""

    def __init__(self, structure: Structure, rest: Rest) -> None:
        self._structure = structure
        self._board = board = structure.board
        self._kinds = structure.kinds
        kinds = self._kinds.of_demand
        self._needs = sorted(rest.needs, key=lambda need: (kinds[need.demand.number], need.missing, need.mask))
        self._lists = sorted(rest.lists, key=lambda item: (self._kinds.of_item(item), item.claim))
        self._masks = [need.mask & board.open_to(need.demand) for need in self._needs]
        self._masks += [board.open_to(demand) for item in self._lists for demand in item.alternatives]
        self._union = union(self._masks)
        self._exact: dict[Part, Number] = {}
        self._offered: dict[Part, Number | None] = {}
        self._grouped: dict[Group, Number] = {}
        self._cells: dict[int, list[tuple[int, int]]] = {}  # by the mask of the need

    def key(self) -> Hashable:
        """Return a key, equal for states in which the same is left to do and open, up to exchanging what is alike."""
        kinds = self._kinds.of_demand
        rigid = self._structure.rigid
        names: dict[int, int] = {}
        claims = self._lists  # what a claim has room for matters only as long as there are lists
        return (
            tuple(
                [
                    (
                        kinds[need.demand.number],
                        need.missing,
                        need.demand.claim if claims else 0,
                        self._undecided(need, names),
                    )
                    for need in self._needs
                ]
            ),
            tuple([self._list_key(item, names) for item in self._lists]),
            self._group_key(self._structure.root, self._part_number),
            tuple([mask & rigid for mask in self._masks]) if self._union & rigid else (),
            self._board.groups_summary() if self._board.has_groups else (),
        )

    def _list_key(self, item: Item, names: dict[int, int]) -> Hashable:
        undecided = tuple([self._undecided(Need.whole(demand), names) for demand in item.alternatives])
        return self._kinds.of_item(item), undecided, item.claim, self._board.sizes[item.claim]

    def _undecided(self, need: Need, names: dict[int, int]) -> Hashable:
        """List the need's constraints that leave more than one value, numbered as they come.

        What all others allow shows in what is open, and so does what these allow if no device has several values.
        """
        found: list[Hashable] = []
        for number, column in need.demand.ties:
            state = self._board.states[number]
            if not isinstance(state, Match):
                found.append(("distinct", names.setdefault(number, len(names))))
            elif state.common is None or len(state.common) > 1:
                is_visible = state.common is None or column.is_single
                common = None if is_visible else tuple(sorted(map(repr, state.common or ())))
                found.append((common, names.setdefault(number, len(names))))
        return tuple(found)

    def _group_key(self, group: Group, number_of: PartNumber) -> Key:
        lone = [
            (
                kind,
                *sorted([(pattern, block.bit_count()) for pattern, block in blocks(self._masks, mask & self._union)]),
            )
            for kind, mask in group.lone.items()
            if mask & self._union
        ]
        return (
            tuple(sorted(lone)),
            tuple(sorted([number_of(part) for part in group.parts if part.mask & self._union])),
            tuple(sorted([self._group_key(one, number_of) for one in group.groups if one.mask & self._union])),
        )

    def _group_number(self, group: Group) -> Number:
        found = self._grouped.get(group)
        if found is None:
            found = self._grouped[group] = self._structure.number(self._group_key(group, self._part_number))
        return found

    def _part_number(self, part: Part) -> Number:
        """Return a number, equal for parts of which the same can be had, though not by the same places."""
        return self._offer_number(part) or self._exact_number(part)

    def _exact_number(self, part: Part) -> Number:
        """Return a number, equal for parts in which every place is in the same state."""
        found = self._exact.get(part)
        if found is None:
            free = self._board.partitions.free
            counters = tuple([free[counter] for counter in part.counters])
            found = self._structure.number((part.kind, counters, *self._places_key(part)))
            self._exact[part] = found
        return found

    def _places_key(self, part: Part) -> Key:
        shareable = self._board.shareable
        if not part.classes:
            shares = [self._device_key(position, ()) for position in bits(part.mask & shareable)]
            return tuple([part.local(mask) for mask in self._masks]), *shares
        found = []
        for devices in part.classes:
            if devices & shareable:
                found.append(tuple(sorted([self._device_key(position, self._masks) for position in bits(devices)])))
            else:
                patterns = blocks(self._masks, devices)
                found.append(tuple(sorted([(pattern, block.bit_count()) for pattern, block in patterns])))
        return tuple(found)

    def _device_key(self, position: int, masks: Sequence[int]) -> Key:
        board = self._board
        consumed = tuple(sorted(board.consumed.get(position, {}).items()))
        return board.charged >> position & 1, consumed, tuple([mask >> position & 1 for mask in masks])

    def _offer_number(self, part: Part) -> Number | None:
        """Return a number for what the part can give; None unless each need may have all or nothing that is alike."""
        if part not in self._offered:
            key = self._offer(part) if self._structure.has_offers(part) else None
            self._offered[part] = None if key is None else self._structure.number(key)
        return self._offered[part]

    def _offer(self, part: Part) -> Key | None:
        untaken = self._board.untaken
        patterns = [0] * part.look_count
        for number, mask in enumerate(self._masks):
            inside = mask & part.mask
            if not inside:
                continue
            for look, devices in enumerate(part.look_masks):
                if inside & devices:
                    if inside & devices != untaken & devices:
                        return None
                    patterns[look] |= 1 << number
        looks = tuple([look for look, pattern in enumerate(patterns) if pattern])
        offer = self._structure.service.offer(part, looks)
        return None if offer is None else (-1, part.look_ids, tuple(sorted(offer)), tuple(patterns))

    def cells(self, need: Need) -> list[tuple[int, int]]:
        """List the classes of devices, part by part, that the need may have, and with each all that are alike.

        The part with the least left comes first, so that others are kept whole. Empty if it may have devices of parts
        that do not go by numbers.
        """
        found = self._cells.get(need.mask)
        if found is None:
            found = self._cells[need.mask] = self._cells_of(need.mask)
        return found

    def _cells_of(self, wanted: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int, Key]] = []
        left = wanted
        for part in self._structure.joint:
            if wanted & part.mask:
                number = self._offer_number(part)
                if number is None:
                    return []
                left &= ~part.mask
                rest = (self._union & part.mask).bit_count()
                path = self._path(self._structure.root, part)
                for look, devices in enumerate(part.look_masks):
                    if wanted & devices:
                        found.append((rest, wanted & devices, (number, look, *path)))
        if left:
            return []
        alike: dict[Key, int] = {}
        for _, mask, key in found:
            alike[key] = alike.get(key, 0) | mask
        found.sort(key=lambda cell: cell[0])
        return [(mask, alike[key]) for _, mask, key in found]

    def _path(self, group: Group, part: Part) -> tuple[Number, ...]:
        """Return the numbers of the groups that the part is in, the largest first."""
        inner = next((one for one in group.groups if one.mask & part.mask), None)
        return () if inner is None else (self._group_number(inner), *self._path(inner, part))

    def alike(self, position: int) -> int:
        """Return the devices that can be exchanged with this one as things are, itself included, as bits."""
        if self._structure.rigid >> position & 1:
            return 1 << position
        return self._alike_in(self._structure.root, self._structure.root, position)

    def _alike_in(self, group: Group, own: Group, position: int) -> int:
        """Return the devices of ``group`` that are what ``position`` is in ``own``, which is in the same state."""
        inner = next((one for one in own.groups if one.mask >> position & 1), None)
        if inner is not None:
            return self._alike_in_groups(group, inner, position)
        if self._structure.lone >> position & 1:
            kind = next(kind for kind, mask in own.lone.items() if mask >> position & 1)
            return self._same_membership(group.lone.get(kind, 0), position)
        part = next(part for part in own.parts if part.mask >> position & 1)
        state, places = self._exact_number(part), self._places(part, position)
        found = 0
        for other in group.parts:
            if other.kind == part.kind and (other is part or self._exact_number(other) == state):
                found |= sum(1 << other.positions[place] for place in places)
        return found

    def _alike_in_groups(self, group: Group, inner: Group, position: int) -> int:
        state = self._group_key(inner, self._exact_number)
        found = 0
        for other in group.groups:
            is_like = other.lone.keys() == inner.lone.keys() and self._group_key(other, self._exact_number) == state
            if other is inner or is_like:
                found |= self._alike_in(other, inner, position)
        return found

    def _same_membership(self, mask: int, position: int) -> int:
        for one in self._masks:
            mask &= one if one >> position & 1 else ~one
        return mask

    def _places(self, part: Part, position: int) -> list[int]:
        """Return where in the part, or in one like it, devices are that can be exchanged with this one."""
        index = part.positions.index(position)
        state = self._device_key(position, self._masks)
        return [
            place
            for place, other in enumerate(part.positions)
            if place == index
            or (part.tokens[place] == part.tokens[index] and self._device_key(other, self._masks) == state)
        ]

    def different(self, family: Family, values: Sequence[Value]) -> list[Value]:
        """Return one value of each kind: exchanging two that are alike changes nothing."""
        found: dict[Hashable, Value] = {}
        for value in values:
            holders = self._kinds.holders[family, value]
            found.setdefault(self._place_of(self._structure.root, family, value, holders), value)
        return list(found.values())

    def _place_of(self, group: Group, family: Family, value: Value, holders: int) -> Hashable:
        inner = next((one for one in group.groups if not holders & ~one.mask), None)
        if inner is not None:
            state = self._group_number(inner)
            if inner.value == (family, value):
                return "group", state
            return state, self._place_of(inner, family, value, holders)
        part = next((one for one in group.parts if not holders & ~one.mask), None)
        if part is not None and holders & (holders - 1):
            return self._part_number(part), part.local(holders)
        if not holders & (holders - 1) and holders & self._structure.lone & ~self._structure.rigid:
            kind = next(kind for kind, mask in group.lone.items() if mask & holders)
            return kind, tuple([bool(mask & holders) for mask in self._masks])
        return value
