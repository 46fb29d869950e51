"""Custom resources of the API server beside kube-apiserver: from a definition to its first object, requests a second.

The definition has a schema of forty fields and five rules in CEL, about as much as an operator's. Both servers are
measured in turn by the same client over HTTPS, ours also over plain HTTP.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import msgspec

from bench import clusters
from bench.apiserver import KUBERNETES, OURS, PLAIN, UPSTREAM_CLIENTS, in_turns, row, serving
from bench.report import Report, Step
from bench.servers import NAMESPACE, Endpoint
from bench.traffic import Traffic
from bench.wire import Refused, Request
from drakit_client.processes.ending_signals import run_until_told

_GROUP = "bench.drakit.dev"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FIELDS = 40
_TYPES: tuple[dict[str, Any], ...] = (
    {"type": "string", "maxLength": 64, "pattern": "^[a-z0-9-]*$"},
    {"type": "integer", "minimum": 0, "maximum": 1000, "format": "int32"},
    {"type": "boolean"},
    {"type": "array", "items": {"type": "string", "maxLength": 16}, "maxItems": 8, "x-kubernetes-list-type": "set"},
    {"type": "string", "enum": ["small", "medium", "large"], "default": "small"},
)
_VALUES: tuple[Any, ...] = ("a-value", 7, True, ["x", "y"], "large")
_RULES = (
    "self.field1 <= self.field6",
    "self.field0 == 'x' || size(self.field0) > 2",
    "self.field3.all(item, item in ['x', 'y', 'z'])",
    "!has(self.field11) || self.field11 < 100",
    "self.field4 != 'medium' || self.field2",
)
# Requests a second of kube-apiserver 1.37.1 and etcd 3.7.3 on two cores, at one, four and sixteen clients: those of the
# run of this benchmark that docs/apiserver.md shows.
_UPSTREAM: dict[str, tuple[float, float, float]] = {
    "create": (259, 442, 387),
    "get": (448, 915, 895),
    "merge patch": (133, 111, 95),
}
_TARGETS = {"create": 1.5, "get": 1.0, "merge patch": 1.0}
_DEFINED_TARGET = 0.020
_TIMES, _TIMES_OF_THEIRS = 20, 3


def definition(plural: str) -> dict[str, Any]:
    """Build the definition of a kind with forty fields and five rules."""
    properties = {f"field{number}": _TYPES[number % len(_TYPES)] for number in range(_FIELDS)}
    rules = [{"rule": rule, "message": "the rule does not hold"} for rule in _RULES]
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": rules}
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    kind = plural.capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{**version, "subresources": {"status": {}}}],
        },
    }


def _path(plural: str, name: str = "") -> str:
    return f"/apis/{_GROUP}/v1/namespaces/{NAMESPACE}/{plural}" + (f"/{name}" if name else "")


def _object(plural: str, name: str) -> dict[str, Any]:
    spec = {f"field{number}": _VALUES[number % len(_VALUES)] for number in range(_FIELDS)}
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": plural.capitalize(),
        "metadata": {"name": name},
        "spec": spec,
    }


def _create(endpoint: Endpoint) -> Traffic:
    while True:
        name = f"object-{next(endpoint.numbers)}"
        yield Request("POST", _path("widgets"), msgspec.json.encode(_object("widgets", name)))
        endpoint.config_maps.append(name)


def _get(endpoint: Endpoint) -> Traffic:
    while True:
        yield Request("GET", _path("widgets", random.choice(endpoint.config_maps)))


def _patch(endpoint: Endpoint) -> Traffic:
    creating = _create(endpoint)
    yield next(creating)
    path = _path("widgets", endpoint.config_maps[-1]) if endpoint.config_maps else ""
    number = 0
    while True:
        number += 1
        body = msgspec.json.encode({"spec": {"field6": 7 + number % 900}})
        yield Request("PATCH", path, body, "application/merge-patch+json")


_OPERATIONS: dict[str, Callable[[Endpoint], Traffic]] = {"create": _create, "get": _get, "merge patch": _patch}


def run(step: Step, *, quick: bool = False) -> Report:
    """Measure definitions first, and then requests for objects of one of them."""
    seconds = 0.05 if quick else 2.0
    rates = [PLAIN, OURS, KUBERNETES, "ratio", "target", ""]
    report = Report(
        title=f"Custom resources with {_FIELDS} fields and {len(_RULES)} rules, requests a second ({seconds:g} s each)",
        columns=["operation", "clients", *rates, "p99 ms", "K's", "CPU ms", "K's"],
        notes=["Ratio, p99 and CPU are those of HTTPS on either side; K's are Kubernetes'."],
    )
    with report.kept():
        run_until_told(_measure(report, step, seconds, (1, 4) if quick else UPSTREAM_CLIENTS, quick=quick))
    return report


async def _measure(report: Report, step: Step, seconds: float, clients: tuple[int, ...], *, quick: bool) -> None:
    with clusters.scratch_directory() as directory:
        async with serving(report, directory, step) as endpoints:
            for server, endpoint in endpoints.items():
                step(f"definitions, {server}")
                few = quick or server == KUBERNETES
                report.notes.append(_told(server, await _defined(endpoint, _TIMES_OF_THEIRS if few else _TIMES)))
                await _until_served(endpoint, "widgets")
            for name, traffic in _OPERATIONS.items():
                for number in clients:
                    step(f"{name}, {number} clients")
                    runs = await in_turns(endpoints, traffic, number, seconds)
                    recorded = _UPSTREAM[name][UPSTREAM_CLIENTS.index(number)]
                    report.rows.append(row(name, number, runs, recorded, _TARGETS[name]))


def _told(server: str, seconds: list[float]) -> str:
    median, longest = 1000 * statistics.median(seconds), 1000 * max(seconds)
    wanted = "" if server == KUBERNETES else f" (target {1000 * _DEFINED_TARGET:g} ms)"
    return f"{server}: from a definition to its first object {median:,.1f} ms, at most {longest:,.1f}{wanted}."


async def _defined(endpoint: Endpoint, times: int) -> list[float]:
    """Measure how long it takes from a definition to an object of it, for one definition after the other."""
    return [await _until_served(endpoint, f"kinds{number}") for number in range(times)]


async def _until_served(endpoint: Endpoint, plural: str) -> float:
    async with endpoint.client() as client:
        began = time.monotonic()
        await client.send(Request("POST", _DEFINITIONS, msgspec.json.encode(definition(plural))))
        body = msgspec.json.encode(_object(plural, "first"))
        while True:
            try:
                await client.send(Request("POST", _path(plural), body))
            except Refused:
                continue
            return time.monotonic() - began
