"""Smallest sets for which something holds that also holds for every larger set, found by asking.

Both questions of an explanation are of this kind: which requests and constraints cannot go together, and which claims
must give back their devices. An answer takes a search of the allocator, so how many may be asked is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TypeVar

_Member = TypeVar("_Member")
# Answers whether something holds for these members; None if there was no time to find out.
Question = Callable[[Sequence[_Member]], bool | None]


def smallest(members: Sequence[_Member], holds: Question[_Member], cheap: int) -> list[_Member]:
    """Find a set from which nothing can be dropped; a smallest one if each size takes at most ``cheap`` questions.

    It must hold for all ``members`` together.
    """
    found = irreducible(members, holds)
    for size in range(1, len(found)):
        if math.comb(len(members), size) > cheap:
            break
        for some in combinations(members, size):
            if holds(some):
                return irreducible(some, holds)
    return found


def irreducible(members: Sequence[_Member], holds: Question[_Member]) -> list[_Member]:
    """Find a set from which no single member can be dropped; first ones are kept rather than last ones.

    It must hold for all ``members`` together.
    """
    kept = list(members)
    dropped = True
    while dropped:  # Once more after a change: what was kept may be dispensable now, if larger sets are not always so.
        dropped = False
        for member in reversed(kept):
            rest = [other for other in kept if other != member]
            if rest and holds(rest):
                kept, dropped = rest, True
    return kept
