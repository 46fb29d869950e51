"""Groups of needs that have nothing to do with each other, so that none is filled again because another one fails."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from drakit_allocator.devices.columns import union
from drakit_allocator.requests import MAX_RESULTS
from drakit_allocator.search.board import Board
from drakit_allocator.search.demands import Demand, Item
from drakit_allocator.search.needs import Need, Rest
from drakit_allocator.search.symmetry.structure import Structure
from drakit_allocator.search.values import Match

Bonds = set[Hashable]


def split(board: Board, structure: Structure, rest: Rest) -> list[Rest]:
    """Split the rest into groups that share no device, counter, undecided constraint, or limit of a claim."""
    groups = _grouped(
        (member, structure.spread(mask), _bonds(board, rest, demands))
        for member, mask, demands in _members(board, rest)
    )
    return groups if len(groups) > 1 else [rest]


def bundles(rest: Rest) -> list[Rest]:
    """Split the rest into groups that share no constraint, the largest first."""
    members: list[tuple[Need | Item, Sequence[Demand]]] = [(need, [need.demand]) for need in rest.needs]
    members += [(item, item.alternatives) for item in rest.lists]
    groups = _grouped(
        (member, 0, {number for demand in demands for number, _ in demand.ties}) for member, demands in members
    )
    return sorted(groups, key=lambda one: -len(one.needs) - len(one.lists))


def _grouped(members: Iterable[tuple[Need | Item, int, Bonds]]) -> list[Rest]:
    """Join members that share a device or a bond."""
    groups: list[tuple[list[Need | Item], int, Bonds]] = []
    for member, mask, bonds in members:
        joined: list[Need | Item] = [member]
        apart = []
        for group in groups:
            if group[1] & mask or not bonds.isdisjoint(group[2]):
                joined = group[0] + joined
                mask |= group[1]
                bonds |= group[2]
            else:
                apart.append(group)
        groups = [*apart, (joined, mask, bonds)]
    return [
        Rest([one for one in group if isinstance(one, Need)], [one for one in group if isinstance(one, Item)])
        for group, _, _ in groups
    ]


def _members(board: Board, rest: Rest) -> list[tuple[Need | Item, int, Sequence[Demand]]]:
    members: list[tuple[Need | Item, int, Sequence[Demand]]] = [(need, need.mask, [need.demand]) for need in rest.needs]
    members += [(item, union(map(board.open_to, item.alternatives)), item.alternatives) for item in rest.lists]
    return members


def _bonds(board: Board, rest: Rest, demands: Sequence[Demand]) -> Bonds:
    """Return the constraints that leave more than one value, and the claim if it may become too large."""
    bonds: Bonds = set()
    for demand in demands:
        for number, _ in demand.ties:
            state = board.states[number]
            if not isinstance(state, Match) or state.common is None or len(state.common) > 1:
                bonds.add(number)
    if rest.lists and _may_exceed(board, rest, demands[0].claim):
        bonds.add(("claim", demands[0].claim))
    return bonds


def _may_exceed(board: Board, rest: Rest, claim: int) -> bool:
    lists = [item for item in rest.lists if item.claim == claim]
    if not lists:
        return False
    most = board.sizes[claim] + sum(need.missing for need in rest.needs if need.demand.claim == claim)
    return most + sum(max(demand.count for demand in item.alternatives) for item in lists) > MAX_RESULTS
