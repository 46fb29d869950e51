"""What an expression can refer to: functions, variables, and the fields of typed objects.

An expression that is stored already may use everything that any supported Kubernetes accepted; a new one only what the
previous minor version knows too, so that a cluster can be rolled back (``k8s.io/apiserver`` v0.37
``pkg/cel/environment``). One engine serves all: what differs is the environment.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Final, Protocol

from drakit_api.cel.frames import Layout
from drakit_api.cel.library import (
    authorizer,
    conversions,
    formats,
    list_extensions,
    lists,
    network,
    operators,
    optionals,
    quantity,
    regex,
    semver,
    sets,
    standard,
    strings,
    times,
    urls,
)
from drakit_api.cel.values import types
from drakit_api.cel.values.declarations import Functions, functions
from drakit_api.cel.values.types import Type

_LIBRARIES: tuple[ModuleType, ...] = (
    *(operators, standard, conversions, times, strings, optionals),  # of cel-go
    *(lists, list_extensions, sets),
    *(quantity, semver, regex, network, urls, formats, authorizer),  # of Kubernetes
)
_TYPE_NAMES = ("bool", "int", "uint", "double", "string", "bytes")


class Structs(Protocol):
    """The types of objects whose fields are known to the checker."""

    def knows(self, name: str) -> bool:
        """Tell whether there is a type of this name."""

    def field(self, name: str, field: str) -> Type | None:
        """Return the type of a field of a type; None if it has none of this name."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Object types as tables: the types of their fields, by name of the type."""

    fields: Mapping[str, Mapping[str, Type]]

    def knows(self, name: str) -> bool:
        """Tell whether there is a type of this name."""
        return name in self.fields

    def field(self, name: str, field: str) -> Type | None:
        """Return the type of a field of a type; None if it has none of this name."""
        return self.fields.get(name, {}).get(field)


@dataclass(frozen=True, slots=True)
class Environment:
    """Functions, names (of variables and types), object types, and where the variables lie in a frame.

    ``binds`` says that ``cel.bind`` is a macro in it.
    """

    functions: Functions
    names: Mapping[str, Type]
    structs: Structs
    layout: Layout
    binds: bool = False

    def named(self, name: str) -> Type | None:
        """Return the type of a variable, or of a type, by its name; None if there is neither."""
        found = self.names.get(name)
        if found is None and self.structs.knows(name):
            return types.type_of(types.struct(name))
        return found


@functools.cache
def library(*, includes: bool) -> Functions:
    """Collect the functions of all libraries; ``includes`` is one of the lists' that new expressions may not use yet.

    ``base.go``: it comes with compatibility version 1.37, and that of Kubernetes 1.37 for new expressions is 1.36.
    """
    libraries = [each.FUNCTIONS for each in _LIBRARIES]
    return functions(*libraries, lists.INCLUDES) if includes else functions(*libraries)


def _type_names() -> dict[str, Type]:
    names = {name: types.type_of(types.parse_type(name)) for name in _TYPE_NAMES}
    names |= {"null_type": types.type_of(types.NULL), "list": types.type_of(types.list_of(types.DYN))}
    names |= {f"google.protobuf.{t.kind.capitalize()}": types.type_of(t) for t in (types.TIMESTAMP, types.DURATION)}
    return names | {"map": types.type_of(types.map_of(types.DYN, types.DYN)), "type": types.type_of(types.TYPE)}


TYPE_NAMES: Final[Mapping[str, Type]] = _type_names()
