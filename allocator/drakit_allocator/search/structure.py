"""The shape of a search: which devices hang together, and which parts of the node are alike.

Eight equal GPUs, each cut into partitions that draw from the GPU's counters, are eight *parts*; devices with a common
value that a matchAttribute constraint asks for, such as those on one NUMA node, form a *group* of parts and of lone
devices, and groups may lie in groups. Where a choice in one of them led nowhere, the same choice in another that is
alike and in the same state leads nowhere either, because exchanging the two turns any solution with the second into one
with the first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from drakit_allocator.attributes import Value
from drakit_allocator.columns import bits
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Item
from drakit_allocator.search.kinds import Family, Kinds
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.parts import Part, blocks, parts_of
from drakit_allocator.search.service import Service
from drakit_allocator.search.values import Match

Key = tuple[Any, ...]
PartKey = Callable[[Part, Sequence[int]], Key]


class Group:
    """Parts, lone devices by kind, and smaller groups, that have a value in common; the whole node is one, too."""

    __slots__ = ("groups", "lone", "mask", "parts", "value")

    def __init__(self, value: tuple[Family, Value] | None, members: Sequence[Part | Group]) -> None:
        self.value = value
        self.groups = [one for one in members if isinstance(one, Group)]
        self.parts = [one for one in members if isinstance(one, Part)]
        self.lone: dict[Hashable, int] = {}
        self.mask = 0
        for one in members:
            self.mask |= one.mask


class Structure:
    """The groups and parts of one search, and keys that are equal for states from which it ends alike."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.kinds = Kinds(board)
        self.service = Service(board)
        self.domain = 0
        for demand in board.demands:
            self.domain |= demand.domain
        parts = parts_of(board, self.domain)
        self.lone = 0  # devices that are only there or not
        for part in parts:
            if len(part.positions) == 1 and not board.partitions.consumers >> part.positions[0] & 1:
                self.lone |= part.mask
        self.lone &= ~board.shareable
        self.joint = [part for part in parts if not part.mask & self.lone]
        self.root = Group(None, self._grouped(parts))
        self._ids: dict[Hashable, int] = {}
        self._describe(self.root, {})
        # Lone devices like no other one are told apart by their bits.
        self._rigid = sum(mask for mask in self.root.lone.values() if mask.bit_count() == 1)
        self.root.lone = {kind: mask for kind, mask in self.root.lone.items() if mask.bit_count() > 1}

    def _grouped(self, parts: list[Part]) -> list[Part | Group]:
        """Join parts by the values that constraints match, the smallest groups first, where groups do not overlap."""
        members: list[Part | Group] = list(parts)
        families: dict[Family, dict[Value, int]] = {}
        for (family, value), mask in self.kinds.holders.items():
            if family in self.kinds.matched:
                families.setdefault(family, {})[value] = mask
        for family, values in sorted(families.items(), key=lambda one: max(map(int.bit_count, one[1].values()))):
            touched = {value: [one for one in members if one.mask & mask] for value, mask in values.items()}
            several = {value: ones for value, ones in touched.items() if len(ones) > 1}
            if len(several) < 2 or sum(map(len, several.values())) > len(
                {id(o) for os in several.values() for o in os}
            ):
                continue
            joined = {id(one) for ones in several.values() for one in ones}
            members = [one for one in members if id(one) not in joined]
            members += [Group((family, value), ones) for value, ones in several.items()]
        return members

    def _describe(self, group: Group, names: dict[tuple[Family, Value], Hashable]) -> None:
        if group.value is not None:
            names = {**names, group.value: ("group", len(names))}
        lone: list[Part] = []
        for part in group.parts:
            if part.mask & self.lone:
                lone.append(part)
                kind = self._id(self.kinds.token(part.positions[0], (), names))
                group.lone[kind] = group.lone.get(kind, 0) | part.mask
            else:
                self._describe_part(part, names)
        group.parts = [part for part in group.parts if not part.mask & self.lone]
        for inner in group.groups:
            self._describe(inner, names)

    def _describe_part(self, part: Part, names: dict[tuple[Family, Value], Hashable]) -> None:
        needs, free = self.board.partitions.needs, self.board.partitions.free
        inside = [
            key for key, holders in self.kinds.holders.items() if holders & part.mask and not holders & ~part.mask
        ]
        inside.sort(key=lambda key: part.local(self.kinds.holders[key]))
        names = {**names, **{key: ("inside", place) for place, key in enumerate(inside) if key not in names}}
        numbers: dict[int, int] = {}
        for position in part.positions:
            draws = tuple((numbers.setdefault(one, len(numbers)), amount) for one, amount in needs(position))
            part.tokens.append(self._id(self.kinds.token(position, draws, names)))
            part.draws.append(draws)
        self._describe_looks(part, names)
        part.counters = [*numbers]
        if len(set(part.tokens)) < len(part.tokens):
            part.classes = [
                sum(
                    1 << position for position, other in zip(part.positions, part.tokens, strict=True) if other == token
                )
                for token in dict.fromkeys(part.tokens)
            ]
        token: Hashable = (tuple(part.tokens), tuple(free[counter] for counter in part.counters))
        if self.board.has_groups and self.board.partitions.consumers >> part.positions[0] & 1:
            token = (token, part.positions[0])  # what groups in use allow is not part of the description
        part.kind = self._id(token)

    def _describe_looks(self, part: Part, names: dict[tuple[Family, Value], Hashable]) -> None:
        looks = [self._id(("look", self.kinds.token(position, (), names))) for position in part.positions]
        numbers = {look: number for number, look in enumerate(sorted(set(looks)))}
        part.looks = [numbers[look] for look in looks]
        part.look_ids, part.look_count = tuple(numbers), len(numbers)
        part.look_masks = [0] * len(numbers)
        for position, look in zip(part.positions, part.looks, strict=True):
            part.look_masks[look] |= 1 << position

    def _id(self, token: Hashable) -> int:
        return self._ids.setdefault(token, len(self._ids))

    def key(self, rest: Rest) -> Hashable:
        """Equal for states in which the same is left to do and open, up to exchanging what is alike."""
        board, kinds = self.board, self.kinds.of_demand
        needs = sorted(rest.needs, key=lambda need: (kinds[need.demand.number], need.missing, need.mask))
        lists = sorted(rest.lists, key=lambda item: (self.kinds.of_item(item), item.claim))
        masks = _masks(board, Rest(needs, lists))
        union = 0
        for mask in masks:
            union |= mask
        names: dict[int, int] = {}
        return (
            tuple([(kinds[need.demand.number], need.missing, self._undecided(need, names)) for need in needs]),
            tuple([self._list_key(item, names) for item in lists]),
            self._group_key(self.root, masks, union),
            tuple([mask & self._rigid for mask in masks]) if union & self._rigid else (),
            board.groups_summary() if board.has_groups else (),
        )

    def _list_key(self, item: Item, names: dict[int, int]) -> Hashable:
        undecided = tuple([self._undecided(Need.whole(demand), names) for demand in item.alternatives])
        return self.kinds.of_item(item), undecided, item.claim, self.board.sizes[item.claim]

    def _undecided(self, need: Need, names: dict[int, int]) -> Hashable:
        """The need's constraints that leave more than one value, numbered as they come.

        What all others allow shows in what is open.
        """
        found: list[Hashable] = []
        for number, _ in need.demand.ties:
            state = self.board.states[number]
            if not isinstance(state, Match):
                found.append(("distinct", names.setdefault(number, len(names))))
            elif state.common is None or len(state.common) > 1:
                common = None if state.common is None else tuple(sorted(map(repr, state.common)))
                found.append((common, names.setdefault(number, len(names))))
        return tuple(found)

    def _group_key(self, group: Group, masks: Sequence[int], union: int, part_key: PartKey | None = None) -> Key:
        key_of = part_key or self._part_key
        lone = [
            (kind, *sorted([(pattern, block.bit_count()) for pattern, block in blocks(masks, mask & union)]))
            for kind, mask in group.lone.items()
            if mask & union
        ]
        return (
            tuple(sorted(lone)),
            tuple(sorted([key_of(part, masks) for part in group.parts if part.mask & union])),
            tuple(sorted([self._group_key(one, masks, union, part_key) for one in group.groups if one.mask & union])),
        )

    def _part_key(self, part: Part, masks: Sequence[int]) -> Key:
        """Equal for parts of which the same can be had, though not by the same places."""
        return self._offer_key(part, masks) or self._exact_key(part, masks)

    def _exact_key(self, part: Part, masks: Sequence[int]) -> Key:
        """Equal for parts in which every place is in the same state."""
        board, free = self.board, self.board.partitions.free
        counters = tuple([free[counter] for counter in part.counters])
        if not part.classes:
            state: Key = part.kind, counters, tuple([part.local(mask) for mask in masks])
            return (*state, *self._shares_key(part)) if part.mask & board.shareable else state
        found = []
        for devices in part.classes:
            if devices & board.shareable:
                found.append(tuple(sorted([self._device_key(position, masks) for position in bits(devices)])))
            else:
                found.append(tuple(sorted([(pattern, block.bit_count()) for pattern, block in blocks(masks, devices)])))
        return part.kind, counters, tuple(found)

    def has_offers(self, part: Part) -> bool:
        """Whether it pays, and is right, to look at the numbers that a part can give instead of at its devices."""
        if not part.counters or part.mask & self.board.shareable or self.board.has_groups:
            return False
        return 2 * part.look_count <= len(part.positions)

    def goes_by_offers(self, position: int, rest: Rest) -> bool:
        """Whether it does not matter which of the devices that look like this one is taken, but for what is left."""
        part = next((part for part in self.joint if part.mask >> position & 1), None)
        return part is not None and self._offer_key(part, _masks(self.board, rest)) is not None

    def _offer_key(self, part: Part, masks: Sequence[int]) -> Key | None:
        """What the part can give to whom, if each need may have either all or none of the devices that look alike."""
        if not self.has_offers(part):
            return None
        union = 0
        for mask in masks:
            union |= mask & part.mask
        patterns = []
        for devices in part.look_masks:
            pattern, present = 0, devices & union
            for number, mask in enumerate(masks):
                inside = mask & devices
                if inside:
                    if inside != present:
                        return None
                    pattern |= 1 << number
            patterns.append(pattern)
        offer = self.service.offer(part, union)
        return None if offer is None else (-1, part.look_ids, tuple(sorted(offer)), tuple(patterns))

    def _shares_key(self, part: Part) -> Key:
        return tuple([self._device_key(position, ()) for position in bits(part.mask & self.board.shareable)])

    def _device_key(self, position: int, masks: Sequence[int]) -> Key:
        board = self.board
        consumed = tuple(sorted(board.consumed.get(position, {}).items()))
        return board.charged >> position & 1, consumed, tuple([mask >> position & 1 for mask in masks])

    def spread(self, mask: int) -> int:
        """All devices of the parts that the mask touches."""
        for part in self.joint:
            if mask & part.mask:
                mask |= part.mask
        return mask

    def alike(self, position: int, rest: Rest) -> int:
        """The devices that can be exchanged with this one as things are, itself included."""
        if self._rigid >> position & 1:
            return 1 << position
        masks = _masks(self.board, rest)
        return self._alike_in(self.root, self.root, position, masks)

    def _alike_in(self, group: Group, own: Group, position: int, masks: Sequence[int]) -> int:
        """The devices of ``group`` that are what ``position`` is in ``own``, which is in the same state."""
        inner = next((one for one in own.groups if one.mask >> position & 1), None)
        found = 0
        if inner is not None:
            state = self._group_key(inner, masks, -1, self._exact_key)
            for other in group.groups:
                if other is inner or (
                    other.lone.keys() == inner.lone.keys()
                    and self._group_key(other, masks, -1, self._exact_key) == state
                ):
                    found |= self._alike_in(other, inner, position, masks)
            return found
        if self.lone >> position & 1:
            kind = next(kind for kind, mask in own.lone.items() if mask >> position & 1)
            return _same_membership(group.lone.get(kind, 0), position, masks)
        part = next(part for part in own.parts if part.mask >> position & 1)
        state, places = self._exact_key(part, masks), self._places(part, position, masks)
        for other_part in group.parts:
            if other_part.kind == part.kind and (other_part is part or self._exact_key(other_part, masks) == state):
                found |= sum(1 << other_part.positions[place] for place in places)
        return found

    def _places(self, part: Part, position: int, masks: Sequence[int]) -> list[int]:
        """Where in the part, or in one like it, devices are that can be exchanged with this one."""
        index = part.positions.index(position)
        state = self._device_key(position, masks)
        return [
            place
            for place, other in enumerate(part.positions)
            if place == index or (part.tokens[place] == part.tokens[index] and self._device_key(other, masks) == state)
        ]

    def different(self, family: Family, values: Sequence[Value], rest: Rest) -> list[Value]:
        """One value of each kind: exchanging two that are alike changes nothing."""
        masks = _masks(self.board, rest)
        found: dict[Hashable, Value] = {}
        for value in values:
            holders = self.kinds.holders[family, value]
            found.setdefault(self._place_of(self.root, family, value, holders, masks), value)
        return list(found.values())

    def _place_of(self, group: Group, family: Family, value: Value, holders: int, masks: Sequence[int]) -> Hashable:
        inner = next((one for one in group.groups if not holders & ~one.mask), None)
        if inner is not None:
            state = self._group_key(inner, masks, -1)
            if inner.value == (family, value):
                return "group", state
            return state, self._place_of(inner, family, value, holders, masks)
        part = next((one for one in group.parts if not holders & ~one.mask), None)
        if part is not None and holders.bit_count() > 1:
            return self._part_key(part, masks), part.local(holders)
        if not holders & (holders - 1) and holders & self.lone & ~self._rigid:
            kind = next(kind for kind, mask in group.lone.items() if mask & holders)
            return kind, tuple([bool(mask & holders) for mask in masks])
        return value


def _masks(board: Board, rest: Rest) -> list[int]:
    masks = [need.mask & board.open_to(need.demand) for need in rest.needs]
    return masks + [board.open_to(demand) for item in rest.lists for demand in item.alternatives]


def _same_membership(mask: int, position: int, masks: Sequence[int]) -> int:
    for one in masks:
        mask &= one if one >> position & 1 else ~one
    return mask
