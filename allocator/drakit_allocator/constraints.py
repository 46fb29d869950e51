"""Constraints between the devices of a claim: matchAttribute and distinctAttribute.

Both are monotonic: once a set of devices violates one, more devices do not help, so the search may turn back at once.
Semantics: ``matchAttributeConstraint`` and ``distinctAttributeConstraint`` of ``structured/internal/experimental``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Protocol

from drakit_allocator.attributes import Value, is_unknown
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features


class ConstraintState(Protocol):
    """The values of the devices chosen so far, for one constraint of one claim during one search."""

    values: list[Value]
    fixes_value: bool  # whether the first device decides on the one value that all others must have

    def add(self, value: Value | None) -> bool:
        """Take a device's value; False, and no change, when the constraint forbids it."""

    def remove(self) -> None:
        """Undo the last successful ``add``."""

    def summary(self) -> Hashable:
        """Equal for states that allow the same from now on."""


class MatchScalar:
    """All devices have the same value. The first may have any, even one of a type that nothing equals."""

    def __init__(self) -> None:
        self.fixes_value = True
        self.values: list[Value] = []

    def add(self, value: Value | None) -> bool:
        """See ``ConstraintState``."""
        if value is None or (self.values and (is_unknown(value) or value != self.values[0])):
            return False
        self.values.append(value)
        return True

    def remove(self) -> None:
        """See ``ConstraintState``."""
        self.values.pop()

    def summary(self) -> Hashable:
        """See ``ConstraintState``."""
        return tuple(self.values[-1:])


class MatchSet:
    """All devices have a value in common; ``values`` are the intersections after each device."""

    def __init__(self) -> None:
        self.fixes_value = False
        self.values: list[Value] = []

    def add(self, value: Value | None) -> bool:
        """See ``ConstraintState``."""
        if value is None or is_unknown(value):
            return False
        if self.values:
            common = self.values[-1]
            shared = value.content & common.content if value.type == common.type else None
            if not shared:
                return False
            value = Value(value.type, shared)
        self.values.append(value)
        return True

    def remove(self) -> None:
        """See ``ConstraintState``."""
        self.values.pop()

    def summary(self) -> Hashable:
        """See ``ConstraintState``."""
        return tuple(self.values[-1:])


class DistinctScalar:
    """No two devices have the same value."""

    def __init__(self) -> None:
        self.fixes_value = False
        self.values: list[Value] = []

    def add(self, value: Value | None) -> bool:
        """See ``ConstraintState``."""
        if value is None or (self.values and (is_unknown(value) or value in self.values)):
            return False
        self.values.append(value)
        return True

    def remove(self) -> None:
        """See ``ConstraintState``."""
        self.values.pop()

    def summary(self) -> Hashable:
        """See ``ConstraintState``."""
        return frozenset(self.values)


class DistinctSet:
    """No two devices have any value in common."""

    def __init__(self) -> None:
        self.fixes_value = False
        self.values: list[Value] = []

    def add(self, value: Value | None) -> bool:
        """See ``ConstraintState``."""
        if value is None or is_unknown(value):
            return False
        if any(value.type == other.type and value.content & other.content for other in self.values):
            return False
        self.values.append(value)
        return True

    def remove(self) -> None:
        """See ``ConstraintState``."""
        self.values.pop()

    def summary(self) -> Hashable:
        """See ``ConstraintState``."""
        return frozenset(self.values)


class Constraint:
    """A constraint of a claim, without state; ``start`` gives the state for one search."""

    __slots__ = ("attribute", "is_match", "requests", "uses_sets")

    def __init__(self, constraint: Mapping[str, Any], label: str, features: Features) -> None:
        """``label`` names claim and position for the error, an ``AllocationError``, about an unknown kind."""
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
        """Whether it applies to a request, given by its name, or those of parent and ``parent/subrequest``."""
        return not self.requests or not self.requests.isdisjoint(request_names)

    def start(self) -> ConstraintState:
        """A state without devices."""
        if self.is_match:
            return MatchSet() if self.uses_sets else MatchScalar()
        return DistinctSet() if self.uses_sets else DistinctScalar()
