"""Clusters of which anything changes by chance: slices, classes, rules, patches, what is allocated, who looks and when.

Made from a ``Random`` and not from strategies: what goes wrong shows after long histories, which cannot be shrunk.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.devices.turns import TurnOver, turn
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.nodes import Node
from drakit_allocator.pools.views import PoolView
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import Object

NODES = ("n0", "n1", "n2")
DRIVERS = ("gpu.example.com", "tpu.example.com")
ATTRIBUTES = ("gpu.example.com/tier", "gpu.example.com/index", "tpu.example.com/tier", "x.example.com/zone")
_CAPACITIES = ("gpu.example.com/memory", "tpu.example.com/memory", "x.example.com/lanes")
_POOLS = (*NODES, "shared", "partitions")
_GPU = "device.attributes['gpu.example.com']"
EXPRESSIONS = (
    f"{_GPU}.tier == 'gold'",
    f"{_GPU}.?index.orValue(0) > 0",
    "device.driver == 'gpu.example.com'",
    "device.capacity['gpu.example.com'].memory.isGreaterThan(quantity('1Gi'))",
    f"'tier' in {_GPU}",
    f"{_GPU}.tier",
    "nonsense(",
    "device.allowMultipleAllocations == true",
    "device.attributes['x.example.com'].?zone.orValue('') != 'b'",
    f"{_GPU}.index == 1 || device.capacity['x.example.com'].lanes.isLessThan(quantity('3'))",
)
_VALUES: tuple[Object, ...] = (
    *({"string": text} for text in ("gold", "silver", "b")),
    *({"int": number} for number in range(3)),
    {"bool": True},
    {"version": "1.0.0"},
    {"version": "no version"},
    {"strings": ["gold"]},
)
_POLICIES: tuple[Object, ...] = (
    {"default": "1", "validRange": {"min": "1", "step": "1"}},
    {"default": "1", "validValues": ["1", "2"]},
    {"default": "1", "validRange": {"step": "0"}},
)


class Making:
    """Makes objects by chance."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._versions = itertools.count(1)

    def chance(self, share: float) -> bool:
        """True in this share of all cases."""
        return self._random.random() < share

    def some(self, make: Callable[[], Any], *counts: int) -> list[Any]:
        """As many as one of the counts says."""
        return [make() for _ in range(self._random.choice(counts))]

    def metadata(self, name: str) -> Object:
        """Metadata of a new version."""
        return {"name": name, "resourceVersion": str(next(self._versions))}

    def slice(self, name: str) -> Object:
        """A slice of some pool, for one node, for some, or with node selection by device; maybe with counters."""
        pool = self._random.choice(_POOLS)
        driver = self._random.choice(DRIVERS)
        published = {"name": pool, "generation": 1 + self.chance(0.2), "resourceSliceCount": 1 + self.chance(0.5)}
        spec: Object = {"driver": driver, "pool": published, **self._placed(pool)}
        if pool == "partitions" and self.chance(0.25):
            spec["sharedCounters"] = [{"name": "set", "counters": {"memory": {"value": "4"}}}]
        else:
            spec["devices"] = self._devices(name, driver, pool)
            for device in spec["devices"] if "perDeviceNodeSelection" in spec else ():
                device["nodeName"] = self._random.choice(NODES)
        return {"metadata": self.metadata(name), "spec": spec}

    def _placed(self, pool: str) -> Object:
        if pool in NODES:
            return {"nodeName": pool}
        if pool == "partitions":
            return {"nodeName": self._random.choice(NODES)}
        terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
        choices = ({"allNodes": True}, {"nodeSelector": {"nodeSelectorTerms": terms}}, {"perDeviceNodeSelection": True})
        return dict(self._random.choice(choices))

    def _devices(self, name: str, driver: str, pool: str) -> list[Object]:
        beginning, devices = self._random.choice(["d", f"{name}-"]), list[Object]()
        for number in range(self._random.choice([0, 1, 2, 3, 4])):
            is_alike = bool(devices) and self.chance(0.5)
            device = copy.deepcopy(devices[-1]) if is_alike else self._device(driver, pool)
            devices.append({**device, "name": f"{beginning}{number}"})
        return devices

    def _device(self, driver: str, pool: str) -> Object:
        def names(known: tuple[str, ...]) -> list[str]:
            every = [*known, *[name.removeprefix(f"{driver}/") for name in known]]
            return self.some(lambda: self._random.choice(every), 0, 1, 2)

        device: Object = {
            "attributes": {name: self._random.choice(_VALUES) for name in names(ATTRIBUTES)},
            "capacity": {name: self._capacity() for name in names(_CAPACITIES)},
            "taints": self._taints(),
            "allowMultipleAllocations": self.chance(0.2),
        }
        if pool == "partitions" and self.chance(0.5):
            device["consumesCounters"] = [{"counterSet": "set", "counters": {"memory": {"value": "2"}}}]
        if self.chance(0.05):
            device |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
        return {field: value for field, value in device.items() if value}

    def _capacity(self) -> Object:
        policy = {"requestPolicy": self._random.choice(_POLICIES)} if self.chance(0.3) else {}
        return {"value": self._random.choice(["0", "2", "3", "1Gi", "4Gi"]), **policy}

    def _taint(self, *effects: str) -> Object:
        return {"key": self._random.choice(["a", "b"]), "effect": self._random.choice(effects)}

    def _taints(self) -> list[Object]:
        return self.some(lambda: self._taint("NoSchedule", "NoExecute", "None"), 0, 0, 0, 1, 2)

    def selectors(self) -> list[Object]:
        """Selectors of a class, a request or a patch."""
        return self.some(lambda: {"cel": {"expression": self._random.choice(EXPRESSIONS)}}, 0, 1, 1, 2)

    def device_class(self, name: str) -> Object:
        """A class with some selectors."""
        return {"metadata": {"name": name}, "spec": {"selectors": self.selectors()}}

    def rule(self, name: str) -> Object:
        """A DeviceTaintRule."""
        selector = self._named({"driver": DRIVERS, "pool": _POOLS, "device": ("d0", "d1")}, 0.4)
        return {"metadata": {"name": name}, "spec": {"deviceSelector": selector, "taint": self._taint("NoSchedule")}}

    def _named(self, known: dict[str, tuple[str, ...]], share: float) -> Object:
        return {field: self._random.choice(names) for field, names in known.items() if self.chance(share)}

    def patch(self, name: str) -> Object:
        """A patch of any age and priority; it may be one without effect."""
        on = self._named({"driver": DRIVERS, "pool": _POOLS, "device": ("d0", "d1", "s1-0")}, 0.3)
        on |= self._named({"deviceClassName": ("gpus", "golden", "unknown")}, 0.2)
        devices: Object = {
            "filter": {**on, "selectors": self.selectors()},
            "priority": self._random.choice([-1, 0, 1]),
            "attributes": dict(self.some(self._patched, 0, 1, 2, 3)),
            "capacity": dict(self.some(lambda: (self._random.choice(_CAPACITIES), self._capacity()), 0, 0, 1, 2)),
            "taints": self._taints(),
        }
        age = f"2026-01-01T00:00:0{self._random.randrange(4)}Z"
        return {"metadata": {**self.metadata(name), "creationTimestamp": age}, "spec": {"devices": devices}}

    def _patched(self) -> tuple[str, Object]:
        return self._random.choice(ATTRIBUTES), {"null": {}} if self.chance(0.25) else self._random.choice(_VALUES)

    def claim(self) -> Object:
        """A claim that may ask for anything, with one or two requests."""
        requests = [{"name": f"r{number}", "exactly": self._request()} for number in range(1 + self.chance(0.4))]
        constraints = [{"matchAttribute": self._random.choice(ATTRIBUTES)}] if self.chance(0.4) else []
        devices = {"requests": requests, "constraints": constraints}
        return {"metadata": {"name": "claim", "namespace": "ns", "uid": "u"}, "spec": {"devices": devices}}

    def _request(self) -> Object:
        mode = {"allocationMode": "All"} if self.chance(0.2) else {"allocationMode": "ExactCount", "count": 1}
        tolerations = [{"key": "a", "operator": "Exists"}] if self.chance(0.3) else []
        name = self._random.choice(["gpus", "any", "any"])
        return {"deviceClassName": name, **mode, "selectors": self.selectors(), "tolerations": tolerations}


class History:
    """A snapshot to which things happen, and the objects that it should have; ``told`` is whose views may change."""

    def __init__(self, seed: int, features: Features) -> None:
        self.random = Random(seed)
        self.making = Making(self.random)
        self.features = features
        self.objects: dict[str, dict[str, Object]] = {"slice": {}, "class": {}, "taint_rule": {}, "patch": {}}
        self.nodes = {name: self._node(name) for name in NODES}
        self.claims: list[Object] = []
        self.taken = AllocatedState(features)
        self._views: dict[str, list[PoolView]] = {}
        self.snapshot = Snapshot(features, changed=self._changed)
        self._put("class", {"metadata": {"name": "any"}, "spec": {}})
        self._put("class", self.making.device_class("gpus"))

    def _node(self, name: str) -> Node:
        return Node.of({"metadata": {"name": name, "labels": {"zone": self.random.choice("ab")}}})

    def _changed(self, nodes: Any) -> None:
        self._views = {name: seen for name, seen in self._views.items() if name not in nodes and "" not in nodes}

    def goes_on(self) -> None:
        """Let something happen."""
        changes = {"slice": 24, "patch": 26, "class": 7, "taint_rule": 8}
        steps: list[tuple[Callable[[], None], int]] = [
            *[(partial(self._change, kind), often) for kind, often in changes.items()],
            *[(self._allocate, 6), (self._look_ahead, 5), (self._look, 14), (self._relabel, 2)],
        ]
        (step,) = self.random.choices([one for one, _ in steps], [often for _, often in steps])
        step()

    def _change(self, kind: str) -> None:
        name = self.random.choice({"class": ("gpus", "golden")}.get(kind, [f"{kind[0]}{n}" for n in range(6)]))
        if self.making.chance(0.25):
            self.objects[kind].pop(name, None)
            getattr(self.snapshot, f"remove_{kind}")(name)
            return
        makers = {"slice": self._slice, "patch": self._patch}
        others = {"class": self.making.device_class, "taint_rule": self.making.rule}
        self._put(kind, makers[kind](name) if kind in makers else others[kind](name))

    def _put(self, kind: str, new: Object) -> None:
        name = new["metadata"]["name"]
        old = self.objects[kind].get(name)
        if kind == "slice" and old is not None and _pool(old) != _pool(new):
            del self.objects[kind][name]  # it is the last one of its pool, not where it stood in another
        self.objects[kind][name] = new
        getattr(self.snapshot, f"put_{kind}")(new)

    def _slice(self, name: str) -> Object:
        """Another slice of a name, the same with another value, or one that is nearly as some other slice."""
        models = [one for one in self.objects["slice"].values() if one["spec"].get("devices")]
        if not models or self.making.chance(0.3):
            return self.making.slice(name)
        old = self.objects["slice"].get(name)
        new = copy.deepcopy(self.random.choice(models) if old not in models or self.making.chance(0.5) else old)
        devices = new["spec"]["devices"]
        if self.making.chance(0.3):
            names = [device["name"] for device in devices]
            for device, other in zip(devices, reversed(names), strict=True):
                device["name"] = other
        if new["spec"].get("nodeName") == new["spec"]["pool"]["name"] and self.making.chance(0.5):
            new["spec"]["nodeName"] = new["spec"]["pool"]["name"] = self.random.choice(NODES)
        attributes = self.random.choice(devices).get("attributes")
        if attributes and self.making.chance(0.7):
            attributes[self.random.choice([*attributes])] = self.random.choice(_VALUES)
        return {**new, "metadata": self.making.metadata(name)}

    def _patch(self, name: str) -> Object:
        """Another patch of a name, or the same with another priority or age."""
        old, new = self.objects["patch"].get(name), self.making.patch(name)
        if old is not None and self.making.chance(0.3):
            new["spec"] = {"devices": {**old["spec"]["devices"], "priority": self.random.choice([-1, 0, 1])}}
        return new

    def _allocate(self) -> None:
        """Give a device, or a share of one, to a claim, or take it back."""
        if self.claims and self.making.chance(0.5):
            self.taken.remove_claim(self.claims.pop(self.random.randrange(len(self.claims))))
            return
        devices = [(one["spec"], device) for one in self.objects["slice"].values() for device in _devices(one)]
        if devices:
            spec, device = self.random.choice(devices)
            result = {"request": "r", "driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
            metadata = self.making.metadata("claim") | {"namespace": "ns"}
            if device.get("allowMultipleAllocations"):
                result |= {"shareID": metadata["resourceVersion"], "consumedCapacity": {"memory": "1"}}
            status = {"allocation": {"devices": {"results": [result]}}}
            self.claims.append({"metadata": metadata, "status": status})
            self.taken.add_claim(self.claims[-1])

    def _look_ahead(self) -> None:
        try:
            with turn(0):
                self.snapshot.slices.look_ahead()
        except TurnOver:
            pass

    def _look(self) -> None:
        """Look at nodes for a turn, as a search does, which may be over in the middle of an evaluation."""
        for name in self.random.choices(NODES, k=self.random.choice([1, 2, 5])):
            try:
                with turn(0):
                    found = self.snapshot.pools(self.nodes[name])
            except (TurnOver, AllocationError):
                continue
            # Whoever remembers what a node sees is told of changes.
            assert self._views.setdefault(name, [*found]) == found
            for view in found:
                view.selection((self.random.choice(EXPRESSIONS),)).is_clean()
                view.occupation(self.taken)

    def _relabel(self) -> None:
        name = self.random.choice(NODES)
        self.nodes[name] = self._node(name)
        self._views.pop(name, None)

    def afresh(self, *more: Object) -> Snapshot:
        """A snapshot that has seen nothing but the objects as they are now, and more patches."""
        patches = self.objects["patch"] | {patch["metadata"]["name"]: patch for patch in more}
        slices, classes, rules = (self.objects[kind].values() for kind in ("slice", "class", "taint_rule"))
        return Snapshot(self.features, slices=slices, classes=classes, taint_rules=rules, patches=patches.values())


def _pool(one: Object) -> tuple[str, str]:
    return one["spec"]["driver"], one["spec"]["pool"]["name"]


def _devices(one: Object) -> Iterator[Object]:
    yield from one["spec"].get("devices") or ()
