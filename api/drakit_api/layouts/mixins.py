"""Mixins: properties that many devices, counter sets or consumptions share, written down once.

Kubernetes never stored them (they were in the alpha text of KEP-4815 and are KEP-5234 now), but a layout of eight GPUs
is a page with them and thousands of lines without. ``flatten`` applies them: the included mixins in order, a later one
overriding an earlier one, and what an object says itself overriding all. No mixin includes another.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from drakit_api import limits
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts import pool_rules
from drakit_api.layouts.fields import SPEC
from drakit_api.layouts.pools import Pool, PoolError
from drakit_api.layouts.strict_reading import Place, Problems

# The most mixins that a device, counter set or consumption may include.
INCLUDES = 8
# The most entries of one ResourceSlice in seed 004, devices and mixins together; also the most mixins of a pool.
ENTRIES_PER_SLICE = 128

_KINDS = {
    "counterSet": "counter set mixin",
    "device": "device mixin",
    "deviceCounterConsumption": "device counter consumption mixin",
}
Catalog = Mapping[str, Mapping[str, Object]]


def flatten(source: Pool | Mapping[str, Any]) -> Pool:
    """Apply a pool's mixins. ``source`` is a pool, or the ``spec`` of a ResourceSlice in either spelling.

    A spec is one slice, so seed 004's limit of 128 devices and mixins together holds for it; a pool may be larger, it
    is split later. Flattening a flat pool returns it unchanged. Raises ``PoolError`` with all that is wrong with
    the spec, the mixins and the references to them; errors name the object, the field and the mixin.
    """
    if isinstance(source, Pool):
        pool, errors = source, []
    else:
        problems = Problems()
        pool = pool_of(SPEC(dict(source), Place(), problems))
        errors = [*problems.lines(), *slice_violations(pool)]
    errors += violations(pool)
    if errors:
        raise PoolError(errors)
    return applied(pool)


def pool_of(spec: Mapping[str, Any]) -> Pool:
    """Make the pool that a spec describes, once ``fields.SPEC`` has read it; what it lacks stays empty."""
    return Pool(
        driver=spec.get("driver", ""),
        name=spec.get("pool", {}).get("name", ""),
        shared_counters=spec.get("sharedCounters", []),
        devices=spec.get("devices", []),
        node_name=spec.get("nodeName"),
        node_selector=spec.get("nodeSelector"),
        all_nodes=spec.get("allNodes", False),
        per_device_node_selection=spec.get("perDeviceNodeSelection", False),
        mixins=spec.get("mixins") or None,
        partition_type_attribute=spec.get("partitionTypeAttribute"),
        skip_node_operations=spec.get("skipNodeOperations", []),
    )


def applied(pool: Pool) -> Pool:
    """Apply mixins as ``flatten`` does, without its checks: includes that are not defined count as empty."""
    if pool.mixins is None and not any(map(_references, [*pool.shared_counters, *pool.devices])):
        return pool
    mixins = catalog(pool)
    return replace(
        pool,
        shared_counters=[_merged(each, mixins["counterSet"], ("counters",)) for each in pool.shared_counters],
        devices=[_flat_device(device, mixins) for device in pool.devices],
        mixins=None,
    )


def applied_to(resource_slice: Object) -> Object:
    """Apply the mixins of a ResourceSlice; return a copy, or the slice itself if it has none."""
    spec = resource_slice["spec"]
    pool = pool_of(spec)
    flat = applied(pool)
    if flat is pool:
        return resource_slice
    content = {"sharedCounters": flat.shared_counters, "devices": flat.devices}
    kept = {key: value for key, value in spec.items() if key not in ("mixins", *content)}
    return {**resource_slice, "spec": {**kept, **{key: value for key, value in content.items() if value}}}


def catalog(pool: Pool) -> Catalog:
    """Index a pool's mixins by kind and name."""
    return {kind: {each["name"]: each for each in (pool.mixins or {}).get(kind, [])} for kind in _KINDS}


def violations(pool: Pool) -> Iterator[str]:
    """Yield a line for each broken rule of the mixins of a pool, and of the references to them."""
    mixins = catalog(pool)
    for kind, title in _KINDS.items():
        defined = (pool.mixins or {}).get(kind, [])
        yield from pool_rules.duplicates(title, defined)
        for each in defined:
            yield from _size(f"{title} {each['name']}", each)
            yield from _own_domain(f"{title} {each['name']}", each, pool.driver)
    yield from pool_rules.too_many("mixins", sum(map(len, mixins.values())), ENTRIES_PER_SLICE)
    for counter_set in pool.shared_counters:
        yield from _unresolved(f"counter set {counter_set['name']}: includes", counter_set, mixins, "counterSet")
    for device in pool.devices:
        place = f"device {device['name']}"
        yield from _unresolved(f"{place}: includes", device, mixins, "device")
        if device.get("includes"):
            yield from _own_domain(place, device, pool.driver)
        for index, consumption in enumerate(device.get("consumesCounters", [])):
            where = f"{place}: consumesCounters[{index}].includes"
            yield from _unresolved(where, consumption, mixins, "deviceCounterConsumption")


def slice_violations(pool: Pool) -> Iterator[str]:
    """Check seed 004's limit on devices and mixins in one slice."""
    mixins = sum(map(len, catalog(pool).values()))
    if mixins:
        yield from pool_rules.too_many("devices and mixins together", mixins + len(pool.devices), ENTRIES_PER_SLICE)


def _references(each: Mapping[str, Any]) -> bool:
    consumptions: list[Object] = each.get("consumesCounters", [])
    return "includes" in each or any("includes" in consumption for consumption in consumptions)


def _flat_device(device: Object, mixins: Catalog) -> Object:
    flat = _merged(device, mixins["device"], ("attributes", "capacity"))
    if consumptions := device.get("consumesCounters"):
        consumed = mixins["deviceCounterConsumption"]
        flat["consumesCounters"] = [_merged(each, consumed, ("counters",)) for each in consumptions]
    return flat


def _merged(each: Object, mixins: Mapping[str, Object], members: Iterable[str]) -> Object:
    """Copy an object with its includes applied to ``members``; their keys are sorted, as the API server prints them."""
    flat = {key: value for key, value in each.items() if key != "includes"}
    included = [mixins.get(name, {}) for name in each.get("includes", [])]
    if not included:
        return flat
    for member in members:
        merged: Object = {}
        for source in [*included, each]:
            merged |= source.get(member, {})
        if merged:
            flat[member] = dict(sorted(merged.items()))
    return flat


def _size(place: str, mixin: Mapping[str, Any]) -> Iterator[str]:
    yield from pool_rules.too_many_properties(place, mixin)
    yield from pool_rules.too_many(f"{place}: counters", len(mixin.get("counters", {})), limits.COUNTERS_PER_SET)
    if mixin.get("counters") == {}:
        # If a device also includes other mixins, nobody would notice that this one adds nothing.
        yield f"{place}: counters: required; a mixin without counters adds nothing"


def _own_domain(place: str, each: Mapping[str, Any], driver: str) -> Iterator[str]:
    """Refuse names with the driver's own domain: they are other keys than the bare names, so do not override them."""
    for member in ("attributes", "capacity"):
        for name in each.get(member, {}):
            domain, slash, bare = name.rpartition("/")
            if slash and domain == driver:
                yield f"{place}: {member}[{name}]: names in the driver's own domain are written bare; write {bare}"


def _unresolved(place: str, each: Mapping[str, Any], mixins: Catalog, kind: str) -> Iterator[str]:
    includes = each.get("includes", [])
    yield from pool_rules.too_many(place, len(includes), INCLUDES)
    for index, name in enumerate(includes):
        if name in mixins[kind]:
            continue
        elsewhere = [_KINDS[other] for other in _KINDS if name in mixins[other]]
        close = difflib.get_close_matches(name, mixins[kind], n=1)
        hint = f'; did you mean "{close[0]}"?' if close else ""
        hint = f"; there is a {elsewhere[0]} of that name" if elsewhere else hint
        yield f'{place}[{index}]: there is no {_KINDS[kind]} "{name}"{hint}'
