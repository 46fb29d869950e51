"""What the ResourceSlices of a pool take in etcd, and which of them are too large for it.

A cluster of GPUs is mostly ResourceSlices, and mixins exist to make them smaller; whether they do is a matter of
figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from drakit_api.etcd import limits
from drakit_api.etcd.sizes import stored
from drakit_api.features import MIXINS_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.mixins import flatten
from drakit_api.layouts.pools import Pool
from drakit_api.layouts.slices import resource_slices

_RANDOM_SUFFIX = "xxxxx"
_GENERATED_BASE = 58
_UID = "00000000-0000-0000-0000-000000000000"
_MANAGER = "drakit"
_WAY_OUT = "give its devices fewer or shorter attributes and node selectors, or put them into several pools"


@dataclass(frozen=True, slots=True)
class PoolSizes:
    """Bytes of each slice of a pool, as written with mixins (None if there are none) and flattened."""

    with_mixins: list[int] | None
    flattened: list[int]


def pool_sizes(pool: Pool, gates: FeatureGates, *, combined: bool = False) -> PoolSizes:
    """Measure the slices of a pool when mixins are stored, and when they are applied first. Raises ``PoolError``."""
    flat = resource_slices(flatten(pool), generation=1, gates=gates, combined=combined)
    native = None
    if pool.mixins is not None:
        overrides = {**gates.overrides, MIXINS_GATE: True}
        native = resource_slices(pool, generation=1, gates=FeatureGates(gates.emulated_version, overrides))
    return PoolSizes(
        None if native is None else [stored(as_created(each)) for each in native],
        [stored(as_created(each)) for each in flat],
    )


def too_large(slices: Iterable[Mapping[str, Any]]) -> list[str]:
    """List the slices that no API server can store, a line each, with its size, the limit, and what to do.

    An API server leaves out ``managedFields`` before it gives up (k8s.io/apiserver ``pkg/endpoints/handlers``).
    """
    found = []
    for number, each in enumerate(slices, start=1):
        made = as_created(each)
        del made["metadata"]["managedFields"]
        metadata, size = made["metadata"], stored(made)
        refusal = limits.refusal(limits.key_of("resourceslices", "", metadata["name"]), size)
        if refusal is not None:
            name = metadata.get("generateName", metadata["name"])
            which = f"slice {number}, {name} (pool {each['spec']['pool']['name']}, {_contents(each['spec'])})"
            found.append(f"{which}: {size:,} bytes, and etcd takes {limits.REQUEST_BYTES:,} in a request: {_WAY_OUT}")
    return found


def _contents(spec: Mapping[str, Any]) -> str:
    parts = {"devices": spec.get("devices"), "counter sets": spec.get("sharedCounters")}
    return ", ".join(f"{len(items)} {name}" for name, items in parts.items() if items)


def as_created(resource_slice: Mapping[str, Any]) -> Object:
    """Copy a slice with the metadata that the API server adds at creation."""
    metadata = {**resource_slice["metadata"]}
    base = metadata.get("generateName", "")[:_GENERATED_BASE]
    metadata.setdefault("name", base + _RANDOM_SUFFIX)
    now = "2026-01-01T00:00:00Z"
    managed = {
        "manager": _MANAGER,
        "operation": "Update",
        "apiVersion": resource_slice["apiVersion"],
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:generateName": {}}, "f:spec": _owned_fields(resource_slice["spec"])},
    }
    metadata |= {"uid": _UID, "generation": 1, "creationTimestamp": now, "managedFields": [managed]}
    return {**resource_slice, "metadata": metadata}


def _owned_fields(spec: Mapping[str, Any]) -> Object:
    """List the fields of a spec as ``fieldsV1``: lists and node selectors are atomic in the schema, the pool is not."""
    pool: Object = {f"f:{name}": {} for name in spec["pool"]}
    return {f"f:{name}": pool if name == "pool" else {} for name in sorted(spec)}
