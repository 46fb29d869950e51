"""Constraints between the devices of a claim, matchAttribute and distinctAttribute, as a claim states them.

What they still allow while devices are chosen is in ``search/values.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features


class Constraint:
    """A constraint of a claim, for the ``requests`` that it names, or for all if it names none."""

    __slots__ = ("attribute", "is_match", "requests", "uses_sets")

    def __init__(self, constraint: Mapping[str, Any], label: str, features: Features) -> None:
        """Read a v1 constraint. Raises ``AllocationError`` for an unknown kind; ``label`` is how the error names it."""
        match, distinct = constraint.get("matchAttribute"), constraint.get("distinctAttribute")
        if features.variant == "stable":
            distinct = None
        if match is None and distinct is None:
            raise AllocationError(f"{label}: empty constraint (unsupported constraint type?)")
        self.is_match = match is not None
        self.attribute: str = match or distinct or ""
        self.requests = frozenset(constraint.get("requests") or ())
        self.uses_sets = features.list_type_attributes

    def covers(self, request_names: tuple[str, ...]) -> bool:
        """Tell whether it applies to a request, given by its name, or those of parent and ``parent/subrequest``."""
        return not self.requests or not self.requests.isdisjoint(request_names)
