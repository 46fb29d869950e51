"""Cutting a pool into ResourceSlices that an API server takes.

Since Kubernetes 1.35 counter sets and devices stand in separate slices and several small limits hold; before, a device
and the counter sets it uses had to be in the same slice. The order of devices is kept, and the slices are named so that
they sort in that order: the scheduler goes through slices by name and takes the first device that fits.

Sources: ``k8s.io/kubernetes`` 1.37.1 (and 1.34.3) ``pkg/apis/resource/validation``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from drakit_api import limits
from drakit_api.features import MIXINS_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.layouts import mixins, pool_rules
from drakit_api.layouts.pools import Pool, PoolError
from drakit_api.layouts.slice_names import generate_name
from drakit_api.objects.device_attributes import is_advanced

API_VERSION = "resource.k8s.io/v1"

# Kubernetes 1.34: counters of all sets of a slice together, of all devices together, and of one device.
COMBINED_COUNTERS_PER_SLICE = 32
COMBINED_CONSUMED_PER_SLICE = 1024
COMBINED_CONSUMED_PER_DEVICE = 32


def resource_slices(pool: Pool, *, gates: FeatureGates, generation: int = 1, combined: bool = False) -> list[Object]:
    """Cut one pool into ResourceSlices (v1), in the order in which they must sort; names are left to ``generateName``.

    Mixins are applied first, unless the gate ``DRAResourceSliceMixins`` is on: then each slice keeps, in KEP-5234's
    form, the mixins that it uses. ``combined`` makes slices for a real API server of Kubernetes 1.34, which wants
    counter sets beside the devices that use them; later ones refuse such slices, whatever version they emulate.
    A pool without devices makes one empty slice: the driver is up, and has nothing. Raises ``PoolError``.
    """
    flat = mixins.flatten(pool)
    native = pool if pool.mixins is not None and gates.enabled(MIXINS_GATE) and not combined else flat
    broken = list(pool_rules.violations(flat))
    if broken:
        raise PoolError(broken)
    separate = [*_counter_slices(native), *_device_slices(native, _advanced(flat))]
    contents = (list(_combined(flat)) if combined else separate) or [{"devices": []}]
    return [_slice(pool, index, content, len(contents), generation) for index, content in enumerate(contents)]


def _slice(pool: Pool, index: int, content: Object, count: int, generation: int) -> Object:
    spec: Object = {
        "driver": pool.driver,
        "pool": {"name": pool.name, "generation": generation, "resourceSliceCount": count},
        **pool.node_selection(),
        **content,
    }
    if pool.partition_type_attribute and any(each.get("consumesCounters") for each in content.get("devices", [])):
        spec["partitionTypeAttribute"] = pool.partition_type_attribute
    if pool.skip_node_operations:
        spec["skipNodeOperations"] = pool.skip_node_operations
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceSlice",
        "metadata": {"generateName": generate_name(index, count, pool.driver, pool.node_name)},
        "spec": spec,
    }


def _counter_slices(pool: Pool) -> Iterator[Object]:
    for start in range(0, len(pool.shared_counters), limits.SLICE_COUNTER_SETS):
        chosen = pool.shared_counters[start : start + limits.SLICE_COUNTER_SETS]
        yield {**_used_mixins(pool, "sharedCounters", chosen), "sharedCounters": chosen}


def _device_slices(pool: Pool, advanced: Set[str]) -> Iterator[Object]:
    groups = _groups(pool.devices) if pool.slice_per_group else [pool.devices]
    for group in groups:
        for chosen in _filled(group, advanced):
            yield {**_used_mixins(pool, "devices", chosen), "devices": chosen}


def _advanced(flat: Pool) -> Set[str]:
    """Return the names of the devices that lower the limit of a slice, once their mixins are applied."""
    return {device["name"] for device in flat.devices if is_advanced(device)}


def _filled(devices: Sequence[Object], advanced: Set[str]) -> Iterator[list[Object]]:
    """Split devices into runs, each as long as one slice can be."""
    chosen: list[Object] = []
    used: set[tuple[str, str]] = set()
    lowered = False
    for device in devices:
        referenced = used | set(_device_mixins(device))
        limited = lowered or device["name"] in advanced
        limit = limits.SLICE_DEVICES_WITH_ADVANCED_FEATURES if limited else limits.SLICE_DEVICES
        if chosen and (len(chosen) >= limit or len(chosen) + 1 + len(referenced) > mixins.ENTRIES_PER_SLICE):
            yield chosen
            chosen, referenced, limited = [], set(_device_mixins(device)), device["name"] in advanced
        chosen.append(device)
        used, lowered = referenced, limited
    if chosen:
        yield chosen


def _groups(devices: Sequence[Object]) -> list[list[Object]]:
    """Group devices that share counter sets, directly or through others, and those without, by their first devices."""
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    for device in devices:
        names = [each["counterSet"] for each in device.get("consumesCounters", [])]
        for name in names[1:]:
            leader[find(name)] = find(names[0])
    groups: dict[str, list[Object]] = {}
    for device in devices:
        consumptions = device.get("consumesCounters", [])
        groups.setdefault(find(consumptions[0]["counterSet"]) if consumptions else "", []).append(device)
    return list(groups.values())


def _device_mixins(device: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from (("device", name) for name in device.get("includes", []))
    for consumption in device.get("consumesCounters", []):
        yield from (("deviceCounterConsumption", name) for name in consumption.get("includes", []))


def _used_mixins(pool: Pool, member: str, chosen: Iterable[Object]) -> Object:
    """Return the ``mixins`` that a slice refers to: a mixin must be in the slice that uses it."""
    if pool.mixins is None:
        return {}
    if member == "sharedCounters":
        used = {("counterSet", name) for each in chosen for name in each.get("includes", [])}
    else:
        used = {reference for each in chosen for reference in _device_mixins(each)}
    kept = {kind: [each for each in defined if (kind, each["name"]) in used] for kind, defined in pool.mixins.items()}
    kept = {kind: defined for kind, defined in kept.items() if defined}
    return {"mixins": kept} if kept else {}


def _combined(pool: Pool) -> Iterator[Object]:
    """Yield slices in the form of 1.34: each group of devices with all of its counter sets."""
    errors: list[str] = []
    for group in _groups(pool.devices):
        names = {each["counterSet"] for device in group for each in device.get("consumesCounters", [])}
        chosen = [each for each in pool.shared_counters if each["name"] in names]
        if not chosen:
            yield from ({"devices": devices} for devices in _filled(group, _advanced(pool)))
            continue
        errors += _combined_violations(chosen, group)
        yield {"sharedCounters": chosen, "devices": group}
    if errors:
        raise PoolError(errors)
    unused = {each["name"] for each in pool.shared_counters} - {
        each["counterSet"] for device in pool.devices for each in device.get("consumesCounters", [])
    }
    yield from ({"sharedCounters": [each]} for each in pool.shared_counters if each["name"] in unused)


def _combined_violations(counter_sets: Sequence[Object], devices: Sequence[Object]) -> Iterator[str]:
    names = ", ".join(each["name"] for each in counter_sets)
    place = f"Kubernetes 1.34 wants counter set {names} and all devices that use it in one slice"
    counters = sum(len(each["counters"]) for each in counter_sets)
    consumed = {
        device["name"]: sum(len(each["counters"]) for each in device.get("consumesCounters", [])) for device in devices
    }
    yield from pool_rules.too_many(f"{place}: devices", len(devices), limits.SLICE_DEVICES)
    yield from pool_rules.too_many(f"{place}: counters", counters, COMBINED_COUNTERS_PER_SLICE)
    yield from pool_rules.too_many(f"{place}: consumed counters", sum(consumed.values()), COMBINED_CONSUMED_PER_SLICE)
    for name, count in consumed.items():
        yield from pool_rules.too_many(f"device {name}: consumed counters", count, COMBINED_CONSUMED_PER_DEVICE)
