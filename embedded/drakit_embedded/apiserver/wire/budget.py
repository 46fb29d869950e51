"""How deep a body may be nested, and how many values it may hold.

kube-apiserver reads 10,000 levels and whatever 3 MiB hold. Python has a limit of 1,000 calls inside each other, some of
which each level takes, and a value costs it a hundred times as much: what no client has a use for is refused before
anything else looks at it.
"""

from __future__ import annotations

from drakit_embedded.apiserver.statuses import StatusError

DEEPEST = 256
MOST_VALUES = 200_000


class TooDeepError(ValueError):
    """A value is nested deeper than ``DEEPEST`` levels."""

    def __init__(self) -> None:
        super().__init__(f"exceeded max depth: drakit's API server reads {DEEPEST} levels")


def check(value: object, raw: bytes | None = None) -> None:
    """Check how deep a value is nested, and how many values it holds.

    ``raw`` is the JSON that it was read from, by which small ones are told at once.

    Raises:
        TooDeepError: if it is nested too deep.
        StatusError: 413 if it holds too many values.
    """
    if raw is not None and raw.count(b"{") + raw.count(b"[") <= DEEPEST and raw.count(b",") < MOST_VALUES:
        return
    level, values = [value] if isinstance(value, dict | list) else [], 0
    depth = 0
    while level:
        depth += 1
        values += sum(map(len, level))
        if depth > DEEPEST:
            raise TooDeepError
        if values > MOST_VALUES:
            raise too_many_values()
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]


def too_many_values() -> StatusError:
    """Build the 413 for a body that would take too long to check."""
    message = f"Request entity too large: drakit's API server reads {MOST_VALUES} values at once, and these are more"
    return StatusError(413, "RequestEntityTooLarge", message)
