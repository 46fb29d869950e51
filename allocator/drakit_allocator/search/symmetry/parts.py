"""The parts of a node: devices that draw from common counters hang together, all others are parts of their own."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from drakit_allocator.devices.columns import bits, remember
from drakit_allocator.search.board import Board

_REMEMBERED = 10_000  # masks of a part's devices


class Part:
    """Devices that draw from common counters, or a single device; ``kind`` is equal for parts that are alike."""

    __slots__ = (
        "_is_block",
        "_local",
        "classes",
        "counters",
        "draws",
        "kind",
        "look_count",
        "look_ids",
        "look_masks",
        "looks",
        "mask",
        "positions",
        "tokens",
    )

    def __init__(self, positions: list[int], counters: list[int]) -> None:
        self.positions = positions
        self.counters = counters
        self.mask = sum(1 << position for position in positions)
        self.tokens: list[Hashable] = []
        self.classes: list[int] = []  # devices that are alike within the part, if any are
        self.kind = 0
        # How each device looks from outside, whatever it draws: as a number within the part, and what that stands for.
        self.looks: list[int] = []
        self.look_count = 0
        self.look_ids: tuple[int, ...] = ()
        self.look_masks: list[int] = []
        self.draws: list[tuple[tuple[int, int], ...]] = []  # by place: (place of the counter in ``counters``, amount)
        self._local: dict[int, int] = {}
        self._is_block = self.mask >> positions[0] == (1 << len(positions)) - 1

    def local(self, mask: int) -> int:
        """Return the bits of this part's devices, counted from its own first device."""
        inside = mask & self.mask
        if not inside or self._is_block:
            return inside >> self.positions[0]
        found = self._local.get(inside)
        if found is None:
            found = sum(1 << index for index, position in enumerate(self.positions) if inside >> position & 1)
            remember(self._local, inside, found, _REMEMBERED)
        return found


def blocks(masks: Sequence[int], within: int) -> list[tuple[int, int]]:
    """Group the devices by the masks that they are in: (bits of the masks, devices)."""
    found = [(0, within)]
    for number, mask in enumerate(masks):
        split = []
        for pattern, block in found:
            inside = block & mask
            if inside:
                split.append((pattern | 1 << number, inside))
            if inside != block:
                split.append((pattern, block & ~mask))
        found = split
    return [(pattern, block) for pattern, block in found if pattern]


def parts_of(board: Board, domain: int) -> list[Part]:
    """Join devices by counters, in the order of their first devices."""
    leader: dict[int, int] = {}  # device -> another one of its part, or itself

    def leader_of(position: int) -> int:
        while leader[position] != position:
            leader[position] = position = leader[leader[position]]
        return position

    owners: dict[Hashable, int] = {}
    for position in bits(domain):
        leader[position] = position
        for bond in _bonds(board, position):
            first, other = leader_of(owners.setdefault(bond, position)), leader_of(position)
            leader[max(first, other)] = min(first, other)
    parts: dict[int, list[int]] = {}
    for position in leader:
        parts.setdefault(leader_of(position), []).append(position)
    needs = board.partitions.needs
    return [Part(part, sorted({counter for one in part for counter, _ in needs(one)})) for part in parts.values()]


def _bonds(board: Board, position: int) -> list[Hashable]:
    """List what joins the device with others. Compatibility groups are looked at pool by pool."""
    bonds: list[Hashable] = [counter for counter, _ in board.partitions.needs(position)]
    if board.has_groups and board.partitions.consumers >> position & 1:
        bonds.append(board.device(position).slice.pool)
    return bonds
