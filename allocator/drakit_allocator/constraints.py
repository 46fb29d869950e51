"""Constraints between the devices of a claim: matchAttribute and distinctAttribute.

Both are monotonic: once a set of devices violates one, more devices do not help, so the search may turn back at once.
Semantics: ``matchAttributeConstraint`` and ``distinctAttributeConstraint`` of ``structured/internal/experimental``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any

from drakit_allocator.attributes import Value, is_unknown
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features


class ConstraintState(ABC):
    """The values of the devices chosen so far, for one constraint of one claim during one search."""

    fixes_value = False  # whether the first device decides on the one value that all others must have

    def __init__(self) -> None:
        self.values: list[Value] = []

    @abstractmethod
    def add(self, value: Value | None) -> bool:
        """Take a device's value; False, and no change, when the constraint forbids it."""

    def remove(self) -> None:
        """Undo the last successful ``add``."""
        self.values.pop()

    @abstractmethod
    def summary(self) -> Hashable:
        """Equal for states that allow the same from now on."""


class _Match(ConstraintState):
    """What is to come is compared with the last value alone."""

    def summary(self) -> Hashable:
        return tuple(self.values[-1:])


class _Distinct(ConstraintState):
    """What is to come is compared with all values, in whatever order they came."""

    def summary(self) -> Hashable:
        return frozenset(self.values)


class MatchScalar(_Match):
    """All devices have the same value. The first may have any, even one of a type that nothing equals."""

    fixes_value = True

    def add(self, value: Value | None) -> bool:
        if value is None or (self.values and (is_unknown(value) or value != self.values[0])):
            return False
        self.values.append(value)
        return True


class MatchSet(_Match):
    """All devices have a value in common; ``values`` are the intersections after each device."""

    def add(self, value: Value | None) -> bool:
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


class DistinctScalar(_Distinct):
    """No two devices have the same value."""

    def add(self, value: Value | None) -> bool:
        if value is None or (self.values and (is_unknown(value) or value in self.values)):
            return False
        self.values.append(value)
        return True


class DistinctSet(_Distinct):
    """No two devices have any value in common."""

    def add(self, value: Value | None) -> bool:
        if value is None or is_unknown(value):
            return False
        if any(value.type == other.type and value.content & other.content for other in self.values):
            return False
        self.values.append(value)
        return True


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
