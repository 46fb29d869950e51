"""The environments of device selectors (``k8s.io/dynamic-resource-allocation`` v0.37 ``cel/compile.go``)."""

from __future__ import annotations

import functools
from typing import Final

from drakit_api.cel.checking.environment import TYPE_NAMES, Environment, Tables, library
from drakit_api.cel.device import LAYOUT
from drakit_api.cel.values import types

_DEVICE: Final = types.struct("kubernetes.DRADevice")


@functools.cache
def stored() -> Environment:
    """Make the environment for expressions in stored objects: every field and function, gated ones, too."""
    return new(consumable_capacity=True, list_attributes=True)


@functools.cache
def new(*, consumable_capacity: bool = True, list_attributes: bool = False, includes: bool = False) -> Environment:
    """Make the environment for expressions in a request; the gates are DRAConsumableCapacity and DRAListTypeAttributes.

    ``includes``: lists have that function without the gate, too (``base.go``: from compatibility version 1.37 on).
    """
    attribute = types.DYN if list_attributes else types.ANY
    fields = {
        "driver": types.STRING,
        "attributes": types.map_of(types.STRING, types.map_of(types.STRING, attribute)),
        "capacity": types.map_of(types.STRING, types.map_of(types.STRING, types.QUANTITY)),
    }
    if consumable_capacity:
        fields["allowMultipleAllocations"] = types.BOOL
    return Environment(
        functions=library(includes=list_attributes or includes),
        names={"device": _DEVICE, **TYPE_NAMES},
        structs=Tables({_DEVICE.name: fields}),
        layout=LAYOUT,
        binds=True,
    )
