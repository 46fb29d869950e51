"""Nodes that are alike to the claims of a pod, so that one answer serves for all of them.

Two nodes are alike when their pools have, device by device and in the same order, the same traits, the same verdicts of
the selectors, the same devices equal in the attributes that constraints compare, and the same devices given out. Names
of devices and pools play no part, nor do values of attributes: a search on one node takes the steps that it takes on
the other, and a solution holds for both when it is written down as positions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.devices.columns import Key, OneOfEach, bits, key_of, remember
from drakit_allocator.devices.request_kinds import RequestKind
from drakit_allocator.errors import AllocationError
from drakit_allocator.nodes import Node
from drakit_allocator.pools.compared_attributes import Attribute, Value, is_unknown
from drakit_allocator.pools.views import PoolView
from drakit_allocator.requests import ClaimRequests

_STATE = "state of alike nodes"  # a key of a pool's findings


class Criteria:
    """What of devices decides for claims: kinds of requests, and compared attributes. Made by ``criteria_of``."""

    __slots__ = ("__weakref__", "attributes", "kinds")

    def __init__(self, kinds: tuple[RequestKind, ...], attributes: tuple[Attribute, ...]) -> None:
        self.kinds = kinds
        self.attributes = attributes


_KNOWN: OneOfEach[Any, Criteria] = OneOfEach()


def criteria_of(claims: Iterable[ClaimRequests]) -> Criteria:
    """Return the criteria of these claims; the same object for claims with the same."""
    requests = [one for claim in claims for alternatives in claim.requests for one in alternatives]
    kinds = tuple(dict.fromkeys(request.kind for request in requests))
    attributes = tuple(dict.fromkeys(attribute for request in requests for _, attribute in request.constraints))
    return _KNOWN.of((kinds, attributes), Criteria, kinds, attributes)


def alike_key(pools: Sequence[PoolView], criteria: Criteria, allocated: AllocatedState, node: Node) -> Hashable | None:
    """Return a key that is equal for nodes that are alike to claims with these criteria.

    None is for a node that is to be asked by itself. To be used together with the claims that were asked for: their
    counts and constraints are not in it.
    """
    if len(pools) == 1:
        (pool,) = pools
        look = _look(pool, criteria, node)
        return None if look is None else (look, _state(pool, allocated))
    if not pools:
        return ()
    looks = [_look(pool, criteria, node) for pool in pools]
    if None in looks:
        return None
    states = [_state(pool, allocated) for pool in pools]
    return (*looks, *states, *[_across(pools, attribute) for attribute in criteria.attributes])


def _look(pool: PoolView, criteria: Criteria, node: Node) -> Hashable | None:
    """Return what the pool publishes, as far as the criteria look at it."""
    findings = pool.findings
    if criteria in findings:
        look: Key | None = findings[criteria]
    else:
        look = remember(findings, criteria, _published(pool, criteria))
    if look is None or not pool.depends_on_node:
        return look
    reached = pool.reached(pool.shape.everything, node)
    return None if reached is None else (look, reached, pool.unoffered(node))


def _published(pool: PoolView, criteria: Criteria) -> Key | None:
    if pool.has_others and pool.features.compatibility_groups:
        return None  # what is given out elsewhere decides which groups are left here
    verdicts = []
    for kind in criteria.kinds:
        selection = pool.selection(kind.expressions)
        if not selection.is_clean():
            return None
        verdicts.append((selection.mask, pool.barred(kind)))
    try:
        patterns = tuple(_pattern([pool], attribute) for attribute in criteria.attributes)
    except AllocationError:
        return None
    return key_of((pool.shape, pool.problem, tuple(verdicts), patterns))


def _state(pool: PoolView, allocated: AllocatedState) -> Key:
    """Return which devices and capacities of the pool are allocated."""
    token = allocated.token(pool.id)
    known: tuple[object, Key] | None = pool.findings.get(_STATE)
    if known is not None and known[0] is token:
        return known[1]
    occupation = pool.occupation(allocated)
    consumed = tuple(
        (position, tuple(sorted(allocated.consumed((*pool.id, pool.names.values[position])).items())))
        for position in bits(occupation.shared)
    )
    # What is free follows from it, unless others whom the node does not see draw from the same counters.
    free = tuple(occupation.availability.free) if pool.has_others else None
    state = key_of((occupation.in_use, occupation.shared, consumed, free))
    remember(pool.findings, _STATE, (token, state))
    return state


def _across(pools: Sequence[PoolView], attribute: Attribute) -> Key:
    """Return which devices are equal in an attribute, in whatever pool they are."""
    findings, asked = pools[0].findings, (attribute, *[pool.number for pool in pools])
    known: Key | None = findings.get(asked)
    return known or remember(findings, asked, key_of(_pattern(pools, attribute)))


def _pattern(pools: Sequence[PoolView], attribute: Attribute) -> tuple[Hashable, ...]:
    """Return which devices are equal in an attribute. Raises ``AllocationError`` where its expression fails."""
    return pattern([value for pool in pools for value in attribute.values(pool)])


def pattern(values: Iterable[Value | None]) -> tuple[Hashable, ...]:
    """Return which values are equal, or for sets which elements they have in common: the same for other values if so.

    Values are numbered in the order in which they come up.
    """
    numbers: dict[Hashable, int] = {}
    values = list(values)
    labels = {key: _label(value, numbers) for key, value in {id(value): value for value in values}.items()}
    return tuple([labels[id(value)] for value in values])


def _label(value: Value | None, numbers: dict[Hashable, int]) -> Hashable:
    if value is None:
        return None
    if is_unknown(value):
        return -1  # equal to nothing
    if isinstance(value.content, frozenset):
        elements = [(value.type, element) for element in sorted(value.content)]
        return (value.type, *(numbers.setdefault(element, len(numbers)) for element in elements))
    return numbers.setdefault(value, len(numbers))
