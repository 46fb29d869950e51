"""The levels of a search: generators that yield the level below, are sent how it ended, and return how they ended.

The search keeps their stack, not Python, for three reasons: a pod may have more devices than Python has stack frames, a
caller may want to do other things in between, and limits are checked in one place.
"""

from __future__ import annotations

import enum
from collections.abc import Generator
from typing import TypeAlias


class Outcome(enum.Enum):
    """How a part of the search ended. EXCEEDED: only smaller subrequests of an earlier request can help."""

    SOLVED = enum.auto()
    FAILED = enum.auto()
    EXCEEDED = enum.auto()


Level: TypeAlias = Generator["Level", Outcome, Outcome]
