"""A hundred ResourceSlicePatches for each of some recorded clusters, half of them with CEL.

None of them changes what recorded pods get: these must go where upstream puts them without patches.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bench.partitions import DRIVER
from bench.recorded import VECTORS, Workload, decoded, nearly_full, read
from drakit_api.kubernetes_objects import Object
from drakit_api.slice_patches.definition import API_VERSION, KIND

_SEED = 1
_CLASS = "mig.nvidia.com"
_MODELS = ("gold", "silver", "bronze")
_UNTOLERATED = {"key": "example.com/maintenance", "effect": "NoSchedule"}
# What nobody asks for, so that nobody notices when it is tainted.
_UNWANTED = "7g.40gb"
_PROFILES = ("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", _UNWANTED)
CHANGING = "changing"  # the name of the patch that changes
_PERF_DRIVER = "test-driver.cdi.k8s.io"


def patch(name: str, wanted: Object, says: Object, priority: int = 0) -> Object:
    """A patch with this filter; ``says`` are attributes, capacity and taints."""
    metadata = {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
    devices = {"filter": wanted, "priority": priority, **says}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": {"devices": devices}}


def cel(*expressions: str) -> list[Object]:
    """Selectors of a filter, or of a request."""
    return [{"cel": {"expression": one}} for one in expressions]


def parent_is(number: int) -> str:
    """An expression for all partitions of one GPU of each node, which is one device of eight."""
    return f'device.attributes["{DRIVER}"].?parentIndex.orValue(-1) == {number}'


def _profile_is(number: int) -> str:
    """An expression for partitions of one of the profiles; whole GPUs have none."""
    profile = _PROFILES[number % len(_PROFILES)]
    return f'device.attributes["{DRIVER}"].type == "mig" && device.attributes["{DRIVER}"].profile == "{profile}"'


def filter_of(whom: str, place: Mapping[str, Any]) -> Object:
    """A filter for one of ``CHANGES``, among them the device that a pod gets at this place."""
    device = place["devices"][0].partition("=")[2]
    filters: dict[str, Object] = {
        "one device": {"driver": DRIVER, "pool": place["node"], "device": device},
        "one pool": {"driver": DRIVER, "pool": place["node"]},
        "every eighth device": {"selectors": cel(parent_is(int(device.split("-")[1])))},
        "every device": {},
    }
    return filters[whom]


def reserving(wanted: Object, *, is_reserved: bool) -> Object:
    """The patch that changes: it says whether devices are reserved."""
    return patch(CHANGING, wanted, _with("example.com/reserved", {"bool": is_reserved}), 50)


def asking_for_reserved(claim: Object) -> Object:
    """A claim with one request that asks for the same, but wants a reserved device."""
    (request,) = claim["spec"]["devices"]["requests"]
    exactly = request["exactly"]
    selectors = [*exactly["selectors"], *cel('device.attributes["example.com"].?reserved.orValue(false)')]
    wanting = {**request, "exactly": {**exactly, "selectors": selectors}}
    return {**claim, "spec": {"devices": {"requests": [wanting]}}}


def _with(name: str, value: Object) -> Object:
    return {"attributes": {name: value}}


def _dgx(nodes: int) -> tuple[Workload, list[Object]]:
    """DGX nodes of which nine of ten are full."""
    workload, chance = nearly_full(nodes), random.Random(_SEED)
    pools = [one["metadata"]["name"] for one in workload.nodes]
    slices = [decoded(one) for one in workload.slices[:5]]
    devices = [device["name"] for one in slices for device in one["spec"].get("devices") or []]
    without_cel = [*_by_place(pools, devices, chance), *_by_kind()]
    return workload, [*without_cel, *_by_profile(), *_by_profile_and_place(pools, chance), *_by_uuid(pools, chance)]


def _by_place(pools: Sequence[str], devices: Sequence[str], chance: random.Random) -> Iterator[Object]:
    for number in range(25):
        wanted = {"driver": DRIVER, "pool": chance.choice(pools), "device": chance.choice(devices)}
        yield patch(f"device-{number}", wanted, _with("example.com/ticket", {"int": number}), 10)
    for number in range(15):
        says = _with("example.com/rack", {"string": f"rack-{number}"})
        if number % 3 == 0:
            says["attributes"][f"{DRIVER}/brand"] = {"null": {}}
        yield patch(f"pool-{number}", {"driver": DRIVER, "pool": chance.choice(pools)}, says, number % 3)


def _by_kind() -> Iterator[Object]:
    for number in range(6):
        says = _with(f"example.com/tier-{number % 4}", {"string": _MODELS[number % len(_MODELS)]})
        yield patch(f"driver-{number}", {"driver": DRIVER}, says, number)
    for number in range(4):
        says = _with(f"example.com/class-{number % 2}", {"bool": True})
        yield patch(f"class-{number}", {"deviceClassName": _CLASS}, says, -number)


def _by_profile() -> Iterator[Object]:
    for number in range(16):
        says = _with(f"example.com/weight-{number % 5}", {"null": {}} if number % 7 == 0 else {"int": number})
        yield patch(f"profile-{number}", {"selectors": cel(_profile_is(number))}, says, number % 4)
    for number in range(10):
        wanted = {"driver": DRIVER, "selectors": cel(_profile_is(number))}
        says = {"capacity": {f"{DRIVER}/multiprocessors": {"value": f"{20 + number}"}}}
        yield patch(f"capacity-{number}", wanted, says, number % 5)
    for number in range(4):
        says = _with("example.com/room", {"version": f"1.{number}.0"})
        yield patch(f"gpus-{number}", {"selectors": cel(parent_is(number))}, says, 5)


def _by_profile_and_place(pools: Sequence[str], chance: random.Random) -> Iterator[Object]:
    for number in range(12):
        wanted = {"pool": chance.choice(pools), "selectors": cel(_profile_is(number))}
        yield patch(f"pool-profile-{number}", wanted, _with("example.com/tier-0", {"string": "gold"}), 20)
    for number in range(4):
        unwanted = cel(_profile_is(_PROFILES.index(_UNWANTED)))
        wanted = {"driver": DRIVER, "pool": chance.choice(pools), "selectors": unwanted}
        yield patch(f"taint-{number}", wanted, {"taints": [_UNTOLERATED]})


def _by_uuid(pools: Sequence[str], chance: random.Random) -> Iterator[Object]:
    """Partitions of single GPUs: no two slices are alike in what these read."""
    for number in range(4):
        expression = f'device.attributes["{DRIVER}"].?parentUUID.orValue("") == "GPU-{chance.choice(pools)}-{number}"'
        says = _with("example.com/faults", {"int": number})
        yield patch(f"gpu-{number}", {"selectors": cel(expression)}, says, 30)


def _scheduler_perf(policy: str, _: int) -> tuple[Workload, list[Object]]:
    """The 500 nodes of ``test/integration/scheduler_perf/dra``, half full; the class reads what patches say."""
    workload = read(VECTORS / "bench" / f"bench-d-basic-half-500-{policy}.json.gz")
    attribute = f'device.attributes["{_PERF_DRIVER}"]'
    (device_class,) = workload.classes
    spec = device_class["spec"]
    selectors = [*spec["selectors"], *cel(f'{attribute}.health != "Failed"')]
    degraded = _with(f"{_PERF_DRIVER}/health", {"string": "Degraded"})
    pools = [decoded(one)["spec"]["pool"]["name"] for one in workload.slices[::10]]
    by_place = [patch(f"pool-{pool}", {"driver": _PERF_DRIVER, "pool": pool}, degraded) for pool in pools]
    by_bus = [
        patch(f"bus-{n}", {"selectors": cel(f'{attribute}.pciAddress == "0000:0{n % 8}:00.0"')}, degraded, n)
        for n in range(50)
    ]
    return replace(workload, classes=[{**device_class, "spec": {**spec, "selectors": selectors}}]), by_place + by_bus


# What each is called, and what makes it for so many nodes if they are not fixed: the cluster and its patches.
SCENARIOS: Mapping[str, Callable[[int], tuple[Workload, list[Object]]]] = {
    "dgx": _dgx,
    "scheduler_perf first-fit": partial(_scheduler_perf, "first-fit"),
    "scheduler_perf all-nodes": partial(_scheduler_perf, "all-nodes"),
}
