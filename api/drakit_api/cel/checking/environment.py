"""What a selector can refer to, depending on when it was written.

An expression that is stored already may use everything that any supported Kubernetes accepted; a new one only what the
previous minor version knows too, so that a cluster can be rolled back (``k8s.io/apiserver`` v0.37
``pkg/cel/environment``, ``k8s.io/dynamic-resource-allocation`` v0.37 ``cel/compile.go``).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

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


@dataclass(frozen=True, slots=True)
class Environment:
    """Functions, names, the fields of ``device``, and the type of its attributes: that of which nothing is known."""

    functions: Functions
    names: Mapping[str, Type]
    device_fields: Mapping[str, Type]
    attribute: Type


@functools.cache
def stored() -> Environment:
    """Make the environment for expressions in stored objects: every field and function, gated ones, too."""
    return new(consumable_capacity=True, list_attributes=True)


@functools.cache
def new(*, consumable_capacity: bool = True, list_attributes: bool = False, includes: bool = False) -> Environment:
    """Make the environment for expressions in a request; the gates are DRAConsumableCapacity and DRAListTypeAttributes.

    ``includes``: lists have that function without the gate, too (``base.go``: from compatibility version 1.37 on).
    """
    libraries = [library.FUNCTIONS for library in _LIBRARIES]
    if list_attributes or includes:
        libraries.append(lists.INCLUDES)
    attribute = types.DYN if list_attributes else types.ANY
    fields = {
        "driver": types.STRING,
        "attributes": types.map_of(types.STRING, types.map_of(types.STRING, attribute)),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
    }
    if consumable_capacity:
        fields["allowMultipleAllocations"] = types.BOOL
    names = {"device": types.DEVICE, **{name: types.type_of(types.parse_type(name)) for name in _TYPE_NAMES}}
    names |= {"null_type": types.type_of(types.NULL), "list": types.type_of(types.list_of(types.DYN))}
    names |= {f"google.protobuf.{t.kind.capitalize()}": types.type_of(t) for t in (types.TIMESTAMP, types.DURATION)}
    names |= {"map": types.type_of(types.map_of(types.DYN, types.DYN)), "type": types.type_of(types.TYPE)}
    return Environment(functions(*libraries), names, fields, attribute)
