"""Whether allocations are right, by arithmetic on what the API server stores and on nothing else.

A scheduler that gives the same GPU memory out twice can be as fast as it likes. Nothing of the allocator is used here,
and quantities are parsed by the official client, so that a mistake of drakit could not hide itself.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal

from kubernetes.utils.quantity import parse_quantity

from drakit_api.kubernetes_objects import Object

Device = tuple[str, str, str]  # driver, pool, name
Counter = tuple[str, str, str, str]  # driver, pool, counter set, name

_quantity = functools.cache(parse_quantity)


class Ledger:
    """All devices and counters that slices publish, and who holds them according to the claims."""

    def __init__(self, slices: Sequence[Object], claims: Sequence[Object]) -> None:
        self._devices: dict[Device, tuple[Object, str]] = {}  # with the node
        self._available: dict[Counter, Decimal] = {}
        for spec in (item["spec"] for item in slices):
            pool = (spec["driver"], spec["pool"]["name"])
            for device in spec.get("devices") or []:
                self._devices[*pool, device["name"]] = device, spec["nodeName"]
            for counters in spec.get("sharedCounters") or []:
                for name, value in counters["counters"].items():
                    self._available[*pool, counters["name"], name] = _quantity(value["value"])
        self._claims = {claim["metadata"]["name"]: claim for claim in claims}

    @property
    def held(self) -> int:
        """How many devices are allocated."""
        return sum(len(_results(claim)) for claim in self._claims.values())

    def errors(self, pods: Sequence[Object]) -> list[str]:
        """What is wrong, one line each: nothing, for a scheduler that does its work."""
        return [*self._wrong_devices(), *self._over_committed(), *self._wrong_pods(pods)]

    def _wrong_devices(self) -> Iterator[str]:
        holders: dict[Device, str] = {}
        for name, claim in self._claims.items():
            wanted = [request["exactly"] for request in claim["spec"]["devices"]["requests"]]
            results = _results(claim)
            if results and len(results) != len(wanted):
                yield f"claim {name} has {len(results)} devices for {len(wanted)} requests"
            for result, request in zip(results, wanted, strict=False):
                device = _device(result)
                if device not in self._devices:
                    yield f"claim {name} has {'/'.join(device)}, which nobody publishes"
                    continue
                if device in holders:
                    yield f"{'/'.join(device)} is held by claims {holders[device]} and {name}"
                holders[device] = name
                profile = self._devices[device][0]["attributes"].get("profile", {}).get("string")
                if f'"{profile}"' not in request["selectors"][0]["cel"]["expression"]:
                    yield f"claim {name} has a {profile}, which it did not ask for"

    def _over_committed(self) -> Iterator[str]:
        used: defaultdict[Counter, Decimal] = defaultdict(Decimal)
        for claim in self._claims.values():
            for driver, pool, name in map(_device, _results(claim)):
                published, _ = self._devices.get((driver, pool, name), ({}, ""))
                for consumption in published.get("consumesCounters") or []:
                    for counter, value in consumption["counters"].items():
                        used[driver, pool, consumption["counterSet"], counter] += _quantity(value["value"])
        for key, amount in used.items():
            if amount > self._available.get(key, 0):
                yield f"{'/'.join(key)}: {amount} are used of {self._available.get(key, 0)}"

    def _wrong_pods(self, pods: Sequence[Object]) -> Iterator[str]:
        """A bound pod has its claims allocated on its node and reserved for itself."""
        for pod in pods:
            node = pod["spec"].get("nodeName")
            for reference in pod["spec"].get("resourceClaims") or [] if node else []:
                claim = self._claims.get(_claim_name(pod, reference) or "", {})
                where = {self._devices[_device(result)][1] for result in _results(claim) if self._known(result)}
                users = [user["uid"] for user in claim.get("status", {}).get("reservedFor") or []]
                if where != {node}:
                    yield f"pod {pod['metadata']['name']} is on {node}, its devices on {sorted(where)}"
                if pod["metadata"]["uid"] not in users:
                    yield f"pod {pod['metadata']['name']} is bound, but its claim is not reserved for it"

    def _known(self, result: Object) -> bool:
        return _device(result) in self._devices


def _device(result: Object) -> Device:
    return result["driver"], result["pool"], result["device"]


def _results(claim: Object) -> list[Object]:
    allocation = claim.get("status", {}).get("allocation") or {}
    results: list[Object] = allocation.get("devices", {}).get("results") or []
    return results


def _claim_name(pod: Object, reference: Object) -> str | None:
    """The claim that a pod refers to, or that was made for it from a template."""
    made = {one["name"]: one.get("resourceClaimName") for one in pod["status"].get("resourceClaimStatuses") or []}
    name: str | None = reference.get("resourceClaimName") or made.get(reference["name"])
    return name
