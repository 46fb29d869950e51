"""What problems are made of: devices, pools, requests and claims, as short as they can be said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drakit_api.kubernetes_objects import Object

Draws = Mapping[str, Mapping[str, int]]

DRIVER = "gpu.example.com"
OTHER = "nic.example.com"
NODE = "node-1"
_DEVICES_PER_SLICE = 64  # what API validation allows where counters are consumed
_SETS_PER_SLICE = 8


class Version(str):
    """A semver attribute, which would otherwise be a string."""


def _attribute(value: Any) -> Object:
    if isinstance(value, (list, tuple)):
        kind = {bool: "bools", int: "ints", str: "strings", Version: "versions"}[type(value[0])]
        return {kind: list(value)}
    return {{bool: "bool", int: "int", str: "string", Version: "version"}[type(value)]: value}


def device(name: str, draws: Draws | None = None, **attributes: Any) -> Object:
    """A device; attributes of Python types, lists become list attributes."""
    made: Object = {"name": name}
    if attributes:
        made["attributes"] = {key: _attribute(value) for key, value in attributes.items()}
    if draws:
        made["consumesCounters"] = [
            {"counterSet": name, "counters": {key: {"value": str(value)} for key, value in counters.items()}}
            for name, counters in draws.items()
        ]
    return made


def shared(made: Object, **capacity: Any) -> Object:
    """The device, shareable by capacity: an amount, or an amount and a requestPolicy."""
    made["allowMultipleAllocations"] = True
    made["capacity"] = {
        name: {"value": str(one[0]), "requestPolicy": one[1]} if isinstance(one, tuple) else {"value": str(one)}
        for name, one in capacity.items()
    }
    return made


def pool(
    devices: Sequence[Object], counters: Draws | None = None, *, driver: str = DRIVER, name: str = NODE, **spec: Any
) -> list[Object]:
    """The slices of a pool: counter sets first, then the devices."""
    sets = [
        {"name": key, "counters": {counter: {"value": str(value)} for counter, value in of_set.items()}}
        for key, of_set in (counters or {}).items()
    ]
    contents: list[Object] = [{"sharedCounters": part} for part in _parts(sets, _SETS_PER_SLICE)]
    contents += [{"devices": part} for part in _parts(devices, _DEVICES_PER_SLICE)]
    about = {"name": name, "generation": 1, "resourceSliceCount": len(contents)}
    where = spec or {"nodeName": NODE}
    return [
        {
            "metadata": {"name": f"{name}-{driver}-{number:03}"},
            "spec": {"driver": driver, "pool": about, **where, **content},
        }
        for number, content in enumerate(contents)
    ]


def _parts(things: Sequence[Object], size: int) -> list[list[Object]]:
    return [list(things[start : start + size]) for start in range(0, len(things), size)]


def where(name: str, operator: str, value: Any, driver: str = DRIVER) -> str:
    """An expression about an attribute."""
    return f'device.attributes["{driver}"].{name} {operator} {json.dumps(value)}'


def of_driver(driver: str) -> str:
    """An expression that selects the devices of a driver."""
    return f'device.driver == "{driver}"'


def exactly(*expressions: str, count: int = 1, of: str = "any", **more: Any) -> Object:
    """What a request, or a subrequest, asks for."""
    asked: Object = {"deviceClassName": of, "allocationMode": "ExactCount", "count": count, **more}
    if expressions:
        asked["selectors"] = [{"cel": {"expression": one}} for one in expressions]
    return asked


def everything(*expressions: str, **more: Any) -> Object:
    """A request for all devices that are selected."""
    asked = exactly(*expressions, **more)
    del asked["count"]
    return {**asked, "allocationMode": "All"}


def request(name: str, asked: Object) -> Object:
    """A request."""
    return {"name": name, "exactly": asked}


def first_of(name: str, alternatives: Iterable[Object]) -> Object:
    """A prioritized list."""
    return {"name": name, "firstAvailable": [{"name": f"s{at}", **one} for at, one in enumerate(alternatives)]}


def requests(asked: Iterable[Object]) -> list[Object]:
    """Requests r00, r01, ... in order."""
    return [request(f"r{number:02}", one) for number, one in enumerate(asked)]


def match(attribute: str, *names: str, driver: str = DRIVER) -> Object:
    """A matchAttribute constraint over requests, of all if none is named."""
    return {**({"requests": list(names)} if names else {}), "matchAttribute": f"{driver}/{attribute}"}


def distinct(attribute: str, *names: str, driver: str = DRIVER) -> Object:
    """A distinctAttribute constraint over requests, of all if none is named."""
    return {**({"requests": list(names)} if names else {}), "distinctAttribute": f"{driver}/{attribute}"}


def claim(asked: Sequence[Object], *constraints: Object, name: str = "c0") -> Object:
    """A claim of these requests."""
    devices: Object = {"requests": list(asked)}
    if constraints:
        devices["constraints"] = list(constraints)
    return {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": {"devices": devices}}


def claims(each: Iterable[Sequence[Object]], *constraints: Object) -> list[Object]:
    """Claims c0, c1, ... with the same constraints."""
    return [claim(asked, *constraints, name=f"c{number}") for number, asked in enumerate(each)]


def holding(devices: Iterable[str], *, driver: str = DRIVER, name: str = NODE) -> list[Object]:
    """Allocated claims: one that has these devices."""
    results = [{"request": "r", "driver": driver, "pool": name, "device": one} for one in devices]
    held = claim([request("r", exactly(count=len(results)))], name="held")
    return [{**held, "status": {"allocation": {"devices": {"results": results}}}}]


def problem(
    slices: Sequence[Object],
    claimed: Sequence[Object],
    *,
    classes: Sequence[Object] = (),
    allocated: Sequence[Object] = (),
    features: str = "default137",
) -> Object:
    """A problem, but for its name."""
    made: Object = {
        "features": {features: True},
        "node": {"metadata": {"name": NODE, "labels": {"kubernetes.io/hostname": NODE}}},
        "classes": [{"metadata": {"name": "any"}, "spec": {}}, *classes],
        "slices": list(slices),
        "claims": list(claimed),
    }
    if allocated:
        made["allocated"] = list(allocated)
    return made
