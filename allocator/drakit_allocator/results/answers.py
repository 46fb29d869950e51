"""Answers that hold for all nodes that are alike: one of them is searched, the others get what was found there.

A thousand empty nodes of one kind are one question, and so are all nodes on which the same devices of equal pools are
in use, for this pod and for every later one that asks for the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from drakit_allocator.devices.columns import Key, key_of, remember
from drakit_allocator.requests import ClaimRequests
from drakit_allocator.search import Choice

# A node that is full is one more entry, of some 200 bytes, for each kind of pod.
_REMEMBERED = 50_000


class Unknown:
    """The type of ``UNKNOWN``."""


UNKNOWN: Final = Unknown()


class Answers:
    """What searches found, by what was asked for and what the node looked like; None where nothing fits."""

    def __init__(self) -> None:
        self._known: dict[tuple[Key, Hashable], Choice | None] = {}

    def get(self, asked: Key, node: Hashable) -> Choice | Unknown | None:
        """Return the answer for claims with this signature on a node with this ``alike_key``, or ``UNKNOWN``."""
        return self._known.get((asked, node), UNKNOWN)

    def put(self, asked: Key, node: Hashable, choice: Choice | None) -> None:
        """Remember an answer that is no error."""
        remember(self._known, (asked, node), choice, _REMEMBERED)


def signature_of(claims: Sequence[ClaimRequests]) -> Key:
    """Return a key that is equal for claims that get the same devices of the same pools, whatever they are called."""
    return key_of(tuple([_of_claim(claim) for claim in claims]))


def _of_claim(claim: ClaimRequests) -> Hashable:
    requests = [
        tuple([(one.parent is not None, one.kind, one.count, one.wants_all, one.constraints) for one in alternatives])
        for alternatives in claim.requests
    ]
    return tuple(requests), tuple([constraint.is_match for constraint in claim.constraints])
