"""The shape of a search: which devices hang together, and which parts of the node are alike.

Eight equal GPUs, each cut into partitions that draw from the GPU's counters, are eight *parts*; devices with a common
value that a matchAttribute constraint asks for, such as those on one NUMA node, form a *group* of parts and of lone
devices, and groups may lie in groups. Where a choice in one of them led nowhere, the same choice in another that is
alike and in the same state leads nowhere either, because exchanging the two turns any solution with the second into one
with the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from drakit_allocator.devices.columns import union
from drakit_allocator.pools.compared_attributes import Value
from drakit_allocator.search.board import Board
from drakit_allocator.search.symmetry.kinds import Family, Kinds
from drakit_allocator.search.symmetry.parts import Part, parts_of
from drakit_allocator.search.symmetry.service import Service

_REMEMBERED = 100_000


class Group:
    """Parts, lone devices by kind, and smaller groups, that have a value in common; the whole node is one, too."""

    __slots__ = ("groups", "lone", "mask", "parts", "value")

    def __init__(self, value: tuple[Family, Value] | None, members: Sequence[Part | Group]) -> None:
        self.value = value
        self.groups = [one for one in members if isinstance(one, Group)]
        self.parts = [one for one in members if isinstance(one, Part)]
        self.lone: dict[Hashable, int] = {}
        self.mask: int = union(one.mask for one in members)


class Structure:
    """The groups and parts of one search, and keys that are equal for states from which it ends alike."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.kinds = Kinds(board)
        self.service = Service(board)
        parts = parts_of(board, board.domain)
        self.lone = 0  # devices that are only there or not
        for part in parts:
            if len(part.positions) == 1 and not board.partitions.consumers >> part.positions[0] & 1:
                self.lone |= part.mask
        self.lone &= ~board.shareable
        self.joint = [part for part in parts if not part.mask & self.lone]
        self.root = Group(None, self._grouped(parts))
        self._ids: dict[Hashable, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._last_number = 0
        self._describe(self.root, {})
        # Lone devices like no other one are told apart by their bits.
        self.rigid = sum(mask for mask in self.root.lone.values() if mask.bit_count() == 1)
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
            joined = {id(one) for ones in several.values() for one in ones}
            do_overlap = sum(map(len, several.values())) > len(joined)
            if len(several) < 2 or do_overlap:
                continue
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

    def number(self, key: Hashable) -> int:
        """Return a number that stands for a key, so that it is compared but once."""
        found = self._numbers.get(key)
        if found is None:
            if len(self._numbers) >= _REMEMBERED:
                self._numbers.clear()  # the same key gets another number then, and is not recognized: no more than that
            self._last_number += 1
            found = self._numbers[key] = self._last_number
        return found

    def has_offers(self, part: Part) -> bool:
        """Tell whether it pays, and is right, to look at the numbers that a part can give instead of at its devices.

        To who draws nothing, the devices of a part may be open for which the part's counters are not enough.
        """
        if not part.counters or part.mask & self.board.shareable or self.board.has_groups or not self.board.all_draw:
            return False
        return 2 * part.look_count <= len(part.positions)

    def spread(self, mask: int) -> int:
        """Return all devices of the parts that the mask touches."""
        for part in self.joint:
            if mask & part.mask:
                mask |= part.mask
        return mask
