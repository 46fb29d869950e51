"""Random small allocation problems: tight, nearly solvable, and such that what comes first is often wrong.

Made from a ``Random`` and not from strategies of their own: shrinking such problems only makes them easy.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

from drakit_api.kubernetes_objects import Object

GPU, NIC = "gpu.example.com", "nic.example.com"
NODE: Object = {"metadata": {"name": "node-0", "labels": {}}, "spec": {}, "status": {}}
_THEMES = (
    "admin",
    "allocated",
    "broken",
    "capacity",
    "constraints",
    "counters",
    "distinct",
    "everything",
    "faults",
    "groups",
    "lists",
    "nics",
    "prioritized",
    "several",
    "shared",
    "sizes",
    "taints",
    "twins",
)
_RARE = ("admin", "broken", "everything", "faults", "taints")


def attribute(name: str, driver: str = GPU) -> str:
    """How an expression reads an attribute."""
    return f'device.attributes["{driver}"].{name}'


def selector(name: str, operator: str, value: Any, driver: str = GPU) -> Object:
    """A selector of one of the forms that the reference understands."""
    return {"cel": {"expression": f"{attribute(name, driver)} {operator} {json.dumps(value)}"}}


@dataclass
class Maker:
    """Makes one problem; ``themes`` says what there is in it."""

    random: Random
    themes: frozenset[str] = frozenset()
    names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.themes:
            density = self.random.choice([0.2, 0.35, 0.5])
            self.themes = frozenset(
                one for one in _THEMES if self.random.random() < density * (0.3 if one in _RARE else 1)
            )

    def _chance(self, theme: str, probability: float = 1.0) -> bool:
        return theme in self.themes and self.random.random() < probability

    def _any(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def problem(self) -> Object:
        """A line of a problem file."""
        size = self.random.randint(3, 8)
        is_full = self.random.random() < 0.85
        slices = self._pool(GPU, [self._device(number, is_full=is_full) for number in range(size)])
        if "nics" in self.themes:
            slices += self._pool(NIC, [self._nic(number) for number in range(self.random.randint(1, 4))])
        claims = [self._claim(number) for number in range(self._any(1, 2, 2, 3) if "several" in self.themes else 1)]
        return {
            "name": "random",
            "features": {"all": True} if is_full else {"default137": True},
            "node": NODE,
            "classes": [
                {"metadata": {"name": "gpu"}, "spec": {"selectors": [_of_driver(GPU)]}},
                {"metadata": {"name": "nic"}, "spec": {"selectors": [_of_driver(NIC)]}},
                {"metadata": {"name": "any"}, "spec": {}},
            ],
            "slices": slices,
            "claims": claims,
            "allocated": self._allocated(slices),
        }

    def _pool(self, driver: str, devices: list[Object]) -> list[Object]:
        bodies: list[Object] = [{"devices": devices}]
        if len(devices) > 2 and self.random.random() < 0.5:
            bodies = [{"devices": devices[:2]}, {"devices": devices[2:]}]
        if "counters" in self.themes and driver == GPU:
            bodies.insert(0, {"sharedCounters": [self._counter_set(number) for number in range(4)]})
        count = len(bodies)
        if self._chance("broken", 0.4):
            if self.random.random() < 0.5:
                count += 1
            else:
                devices.append(dict(devices[0]))
        pool = {"name": "pool", "generation": 1, "resourceSliceCount": count}
        return [
            {
                "metadata": {"name": f"{driver}-{number}"},
                "spec": {"driver": driver, "nodeName": "node-0", "pool": pool, **body},
            }
            for number, body in enumerate(bodies)
        ]

    def _counter_set(self, number: int) -> Object:
        amounts = [self._any("1", "2", "3", "3", "4", "5", "2500m") for _ in range(2)]
        if "twins" in self.themes:
            amounts = ["3", "2"]
        return {"name": f"s{number}", "counters": {"mem": {"value": amounts[0]}, "cpu": {"value": amounts[1]}}}

    def _device(self, number: int, *, is_full: bool) -> Object:
        width = 2 if "twins" in self.themes else self._any(1, 2, 3)
        kind = number % width if "twins" in self.themes else self.random.randrange(2)
        attributes: Object = {
            "i": {"int": number},
            "kind": {"int": kind},
            "numa": {"int": number // 4},
            "pcie": {"string": f"p{number // 2}"},
            "uuid": {"string": f"u{number // width}"},
        }
        if "lists" in self.themes and (is_full or self.random.random() < 0.5):
            attributes["tags"] = {"ints": sorted(self.random.sample(range(4), self._any(1, 1, 2, 3)))}
            attributes["near"] = {"strings": sorted({f"n{number // 2}", f"n{(number + self._any(1, 2)) // 2 % 4}"})}
        if self._chance("faults", 0.3):
            del attributes[self._any("kind", "numa", "uuid", "pcie")]
        if self.random.random() < 0.1:
            attributes[f"{GPU}/pcie"] = {
                "string": self._any("p0", "p1")
            }  # constraints prefer it, selectors do not look
        device: Object = {"name": f"dev-{number}", "attributes": attributes}
        self._draw(device, number, width, is_full=is_full)
        self._share(device)
        if self._chance("taints", 0.3):
            effect = self._any("NoSchedule", "NoExecute", "None")
            device["taints"] = [{"key": "k", "value": "v", "effect": effect}]
        return device

    def _draw(self, device: Object, number: int, width: int, *, is_full: bool) -> None:
        if not self._chance("counters", 0.85):
            return
        entries = []
        sets = [number // width % 4] if "twins" in self.themes else self.random.sample(range(3), self._any(1, 1, 1, 2))
        for one in sets:
            amounts = {"mem": self._any("1", "1", "2", "3", "0"), "cpu": self._any("1", "2", "500m")}
            if "twins" in self.themes:
                amounts = {"mem": str(1 + number % width), "cpu": "1"}
            names = self._any(["mem"], ["cpu"], ["mem", "cpu"]) if "twins" not in self.themes else ["mem", "cpu"]
            entry: Object = {"counterSet": f"s{one}", "counters": {name: {"value": amounts[name]} for name in names}}
            if is_full and self._chance("groups", 0.8):
                entry["compatibilityGroups"] = self.random.sample(["a", "b", "c"], self._any(1, 1, 2))
            entries.append(entry)
        device["consumesCounters"] = entries

    def _share(self, device: Object) -> None:
        if self._chance("shared", 0.7):
            device["allowMultipleAllocations"] = True
        if self._chance("capacity", 0.8):
            policies: list[Object] = [
                {},
                {"requestPolicy": {"default": "1"}},
                {"requestPolicy": {"default": "2", "validRange": {"min": "1", "step": "1", "max": "4"}}},
                {"requestPolicy": {"default": "1", "validValues": ["1", "2", "4"]}},
            ]
            bandwidth = self._any("3", "4", "5", "6")
            device["capacity"] = {"bw": {"value": bandwidth, **self.random.choice(policies)}}
            if self.random.random() < 0.3:
                device["capacity"]["slots"] = {"value": "2", "requestPolicy": {"default": "1"}}

    def _nic(self, number: int) -> Object:
        attributes: Object = {
            "i": {"int": number},
            f"{GPU}/numa": {"int": number // 2},
            f"{GPU}/pcie": {"string": f"p{number}"},
            f"{GPU}/uuid": {"string": f"u{number % 3}"},
        }
        if "lists" in self.themes:
            attributes[f"{GPU}/tags"] = {"ints": sorted(self.random.sample(range(4), 2))}
        device: Object = {"name": f"nic-{number}", "attributes": attributes}
        self._share(device)
        return device

    def _claim(self, number: int) -> Object:
        self.names = [f"r{position}" for position in range(self._any(1, 2, 2, 3, 3, 4))]
        requests = [self._request(name) for name in self.names]
        constraints = []
        if "constraints" in self.themes:
            constraints = [self._constraint(requests) for _ in range(self._any(0, 1, 1, 2))]
        devices: Object = {"requests": requests, "constraints": constraints}
        return {"metadata": {"name": f"c{number}", "namespace": "default"}, "spec": {"devices": devices}}

    def _constraint(self, requests: list[Object]) -> Object:
        names = ["numa", "pcie", "uuid", "uuid", "kind"] + (["tags", "near", "tags"] if "lists" in self.themes else [])
        kind = "distinctAttribute" if self._chance("distinct", 0.5) else "matchAttribute"
        constraint: Object = {kind: f"{GPU}/{self.random.choice(names)}"}
        if self.random.random() < 0.5:
            known = [*self.names]
            known += [f"{one['name']}/{sub['name']}" for one in requests for sub in one.get("firstAvailable", ())]
            constraint["requests"] = self.random.sample(known, self.random.randint(1, len(known)))
        return constraint

    def _request(self, name: str) -> Object:
        if self._chance("prioritized", 0.5):
            count = self._any(2, 2, 3)
            return {"name": name, "firstAvailable": [{"name": f"s{n}", **self._exactly()} for n in range(count)]}
        exactly = self._exactly()
        if self._chance("admin", 0.35):
            exactly["adminAccess"] = True
        return {"name": name, "exactly": exactly}

    def _exactly(self) -> Object:
        is_nic = self._chance("nics", 0.35)
        request: Object = {"deviceClassName": "nic" if is_nic else self._any("gpu", "gpu", "gpu", "any")}
        if is_nic or request["deviceClassName"] == "any":
            request["selectors"] = []
        else:
            request["selectors"] = self._selectors()
        request["allocationMode"] = "ExactCount"
        request["count"] = self._any(1, 1, 2, 3, 4) if "sizes" in self.themes else self._any(1, 1, 1, 2)
        if self._chance("everything", 0.25):
            request["allocationMode"] = "All"
            del request["count"]
        if self._chance("capacity", 0.7):
            request["capacity"] = {"requests": {"bw": self._any("1", "2", "2", "3", "1500m")}}
            if self._chance("faults", 0.1):
                request["capacity"]["requests"]["bw"] = "-1"
        if self._chance("taints", 0.4):
            request["tolerations"] = [{"key": "k", "operator": "Exists"}]
        return request

    def _selectors(self) -> list[Object]:
        form = self._any("any", "any", "kind", "window", "some", "numa", "not")
        if form == "kind":
            return [selector("kind", "==", self._any(0, 1))]
        if form == "window":
            return [selector("i", self._any("<", ">="), self._any(2, 3, 4))]
        if form == "some":
            return [selector("i", "in", sorted(self.random.sample(range(8), self._any(2, 3, 4))))]
        if form == "numa":
            return [selector(self._any("numa", "kind"), "!=", self._any(0, 1))]
        return [selector("uuid", "!=", "u1")] if form == "not" else []

    def _allocated(self, slices: list[Object]) -> list[Object]:
        results: list[Object] = []
        devices = [(one["spec"]["driver"], device) for one in slices for device in one["spec"].get("devices") or ()]
        for driver, device in {(driver, one["name"]): (driver, one) for driver, one in devices}.values():
            if not self._chance("allocated", 0.25):
                continue
            result: Object = {"driver": driver, "pool": "pool", "device": device["name"], "request": "r"}
            if device.get("allowMultipleAllocations"):
                result["shareID"] = f"share-{len(results)}"
                result["consumedCapacity"] = dict.fromkeys(device.get("capacity") or {}, "1")
            results.append(result)
        allocation = {"devices": {"results": results}}
        return [{"metadata": {"name": "old", "namespace": "default"}, "status": {"allocation": allocation}}]


def _of_driver(driver: str) -> Object:
    return {"cel": {"expression": f'device.driver == "{driver}"'}}


def problem_of(seed: Any) -> Object:
    """The problem with this seed."""
    return Maker(Random(seed)).problem()


problems = st.integers(0, 2**48).map(problem_of)
