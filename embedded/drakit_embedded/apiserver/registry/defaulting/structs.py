"""Defaults of whole objects: each struct's own, and then those of the structs below it.

Go has no missing fields: what is not omitted when empty is shown with its zero value, and a struct that is no pointer
is there, and gets its defaults, even if nobody sent it. Both are done here, too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from drakit_api.kubernetes_objects import Object
from drakit_api.objects.schema import Field, Schema, Type
from drakit_embedded.apiserver.registry.defaulting.gates import enabled, table
from drakit_embedded.apiserver.registry.defaulting.statements import Statement, compiled
from drakit_embedded.apiserver.scheme import structures

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates

Walk = Callable[[Any], None]

# Zero values of fields that are not left out when empty; None, which JSON calls null, of all other types.
_ZEROS: dict[str, Any] = {"string": "", "bool": False, "int": 0, "quantity": "0", "intorstring": 0}


def set_defaults(obj: Object, struct: str, gates: FeatureGates) -> None:
    """Set the defaults of a decoded object in place; ``struct`` is its Go type, such as "batch/v1.Job"."""
    _plans(_enabled(gates)).of(struct)(obj)


@functools.lru_cache(maxsize=8)
def _enabled(gates: FeatureGates) -> frozenset[str]:
    """Select the gates that are on and that defaults depend on."""
    return frozenset(name for name in table().gates if enabled(name, gates))


class _Plan:
    """The steps that set the defaults of one struct."""

    __slots__ = ("below", "made", "statements", "zeros")

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        # Fields that are set if they are missing: to a zero value, or (``made``) to an empty struct with its defaults.
        self.zeros: list[tuple[str, Any]] = []
        self.made: list[str] = []
        self.below: list[tuple[str, Walk]] = []

    def __call__(self, obj: Object) -> None:
        """Set the defaults of an object and of all below it."""
        for statement in self.statements:
            statement(obj)
        for name in self.made:
            if obj.get(name) is None:
                obj[name] = {}
        for name, zero in self.zeros:
            if obj.get(name) is None:
                obj[name] = zero
        for name, walk in self.below:
            value = obj.get(name)
            if value is not None:
                walk(value)

    @property
    def is_empty(self) -> bool:
        return not (self.statements or self.zeros or self.made or self.below)


class _Plans:
    """The plans of all structs for some gates, each compiled on first use."""

    def __init__(self, types: Schema, gates: Collection[str]) -> None:
        self._types, self._gates = types, gates
        self._made: dict[str, _Plan] = {}

    def of(self, struct: str) -> _Plan:
        """Build the plan of a struct, once; no struct of Kubernetes' stored kinds contains itself."""
        plan = self._made.get(struct)
        if plan is None:
            plan = self._made[struct] = _Plan()
            plan.statements = compiled(self._statements(struct), self._gates)
            for field in self._types.flat_fields(struct):
                self._add(plan, field)
        return plan

    def _statements(self, struct: str) -> list[Object]:
        """List the statements of a struct, and of the structs that are embedded in it."""
        found = list(table().structs.get(struct, ()))
        for field in self._types.fields(struct):
            if not field.name:
                found += self._statements(field.type.struct)
        return found

    def _add(self, plan: _Plan, field: Field) -> None:
        if field.type.shape == "struct" and not field.type.pointer:
            plan.made.append(field.name)
        elif not field.omit:
            plan.zeros.append((field.name, None if field.type.pointer else _ZEROS.get(field.type.shape)))
        walk = self._walk(field.type)
        if walk is not None:
            plan.below.append((field.name, walk))

    def _walk(self, kind: Type) -> Walk | None:
        """Build the function that sets the defaults below a value; None if there are none."""
        if kind.shape == "struct":
            plan = self.of(kind.struct)
            return None if plan.is_empty else plan
        inner = None if kind.item is None else self._walk(kind.item)
        if inner is None:
            return None
        return _each_item(inner) if kind.shape == "list" else _each_value(inner)


def _each_item(walk: Walk) -> Walk:
    def run(items: list[Any]) -> None:
        for item in items:
            if item is not None:
                walk(item)

    return run


def _each_value(walk: Walk) -> Walk:
    def run(values: Object) -> None:
        for value in values.values():
            if value is not None:
                walk(value)

    return run


@functools.lru_cache(maxsize=8)
def _plans(gates: frozenset[str]) -> _Plans:
    return _Plans(structures.others(), gates)
