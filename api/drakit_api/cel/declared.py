"""Types that follow from the schema of an object, with what is known about the sizes of their values.

A schema has no names for its objects. Each gets one from its place, when the checker first comes there: ``T.spec`` for
the field of an object of type ``T``, and ``T.@idx`` and ``T.@elem`` for what a list and a map hold
(``k8s.io/apiserver`` v0.37 ``pkg/cel/types.go``, ``MaybeAssignTypeName``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drakit_api.cel.checking.environment import Structs
from drakit_api.cel.cost.ranges import Path, Range
from drakit_api.cel.values import types
from drakit_api.cel.values.types import Type


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """The type of a value. ``kind`` is ``object``, ``list``, ``map`` or the name of another type.

    ``most`` is how many characters, bytes, elements or entries it has at most; ``least_size`` how many bytes it takes
    at least when it is serialized. ``fields`` have the names that they have in expressions.
    """

    kind: str
    type: Type
    most: int = 0
    least_size: int = 1
    fields: Mapping[str, Declared] = field(default_factory=dict)
    element: Declared | None = None


@dataclass(frozen=True, slots=True)
class DeclaredStructs:
    """The object types of an environment, and those that follow from schemas."""

    others: Structs
    _tables: dict[str, Declared] = field(default_factory=dict)

    def declare(self, name: str, declared: Declared) -> Type:
        """Name a type, if it has no name, and return it for the checker."""
        match declared:
            case Declared(kind="object"):
                self._tables[name] = declared
                return types.struct(name)
            case Declared(kind="list", element=Declared() as element):
                return types.list_of(self.declare(f"{name}.@idx", element))
            case Declared(kind="map", element=Declared() as element):
                return types.map_of(types.STRING, self.declare(f"{name}.@elem", element))
        return declared.type

    def knows(self, name: str) -> bool:
        """Tell whether there is a type of this name that the checker has come to."""
        return name in self._tables or self.others.knows(name)

    def field(self, name: str, field: str) -> Type | None:
        """Return the type of a field of a type; None if it has none of this name."""
        table = self._tables.get(name)
        if table is None:
            return self.others.field(name, field)
        found = table.fields.get(field)
        return None if found is None else self.declare(f"{name}.{field}", found)


def size(root: Declared, path: Path) -> Range | None:
    """Return how many characters, elements or entries a part of a value has; None if nothing is known.

    The first step of the path is taken for the variable's name, whatever it is (``sizeEstimator`` of
    ``apiextensions-apiserver`` v0.37 ``pkg/apiserver/schema/cel/compilation.go``).
    """
    if not path:
        return None
    found: Declared | None = root
    for step in path[1:]:
        if found is None:
            return None
        if step in ("@items", "@values"):
            found = found.element
        elif step == "@keys":
            found = _KEY if found.kind == "map" else None
        else:
            found = found.fields.get(step)
    return None if found is None else Range(0, found.most)


_KEY = Declared("string", types.STRING)
