"""The slices that a pool becomes, and what of the stored ones must live on in them."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Literal

from drakit_api.features import MIXINS_GATE
from drakit_api.kubernetes_objects import Object, ReadOnlyObject
from drakit_api.layouts.mixins import flatten
from drakit_api.layouts.slices import resource_slices
from drakit_api.typed_objects import ResourceSliceSpec
from drakit_driver.publishing.pool_plan import Desired

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates
    from drakit_api.layouts.pools import Pool

# With its mixins, if it has any and the gate is on; without; or without, and counters beside the devices using them.
Form = Literal["native", "flat", "combined"]


def has_mixins(pool: Pool, gates: FeatureGates) -> bool:
    """Tell whether the pool is to be published with its mixins."""
    return pool.mixins is not None and gates.enabled(MIXINS_GATE)


def wanted(pool: Pool, gates: FeatureGates, form: Form = "native") -> list[Desired]:
    """Make the slices of a pool in one of its forms. Raises ``PoolError``."""
    source = pool if form == "native" else flatten(pool)
    slices = resource_slices(source, generation=1, gates=gates, combined=form == "combined")
    return [Desired.of(slice_["spec"]) for slice_ in slices]


def pool_name(slice_: ReadOnlyObject) -> str:
    """Return the name of the pool that a slice belongs to."""
    name: str = slice_["spec"]["pool"]["name"]
    return name


def with_taint_times(spec: Object, stored: ResourceSliceSpec) -> Object:
    """Copy ``timeAdded`` of taints that are stored already into ``spec``: an update must not restart their clocks."""
    times = {
        (device["name"], taint.get("key"), taint.get("value"), taint.get("effect")): taint["timeAdded"]
        for device in stored.get("devices") or []
        for taint in device.get("taints") or []
        if "timeAdded" in taint
    }
    if not times:
        return spec
    spec = deepcopy(spec)
    for device in spec.get("devices") or []:
        for taint in device.get("taints") or []:
            known = times.get((device["name"], taint.get("key"), taint.get("value"), taint.get("effect")))
            if known and "timeAdded" not in taint:
                taint["timeAdded"] = known
    return spec
