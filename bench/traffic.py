"""Requests that an API server is measured by: those that DRA is made of, and small objects beside them.

Claims whose status the scheduler writes, slices of 52 devices and 40 KB, lists of them, and config maps.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Generator
from typing import Any

import msgspec

from bench.partitions import claim_spec, recorded_slice
from bench.report import Step
from bench.servers import NAMESPACE, Endpoint
from bench.wire import Request
from drakit_client.resources import CONFIG_MAPS, RESOURCE_CLAIMS, RESOURCE_SLICES

_PLACEHOLDER = "name-of-the-node"

# Yields requests for ever, is sent each answer.
Traffic = Generator[Request, bytes, None]


def config_map_create(endpoint: Endpoint) -> Traffic:
    """A small object, 100 bytes of data."""
    while True:
        name = f"config-{next(endpoint.numbers)}"
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "x" * 100}}
        yield Request("POST", CONFIG_MAPS.path(NAMESPACE), msgspec.json.encode(obj))
        endpoint.config_maps.append(name)


def config_map_get(endpoint: Endpoint) -> Traffic:
    """Any of those that were created."""
    while True:
        yield Request("GET", CONFIG_MAPS.path(NAMESPACE, random.choice(endpoint.config_maps)))


def config_map_cycle(endpoint: Endpoint) -> Traffic:
    """Created and deleted in turn."""
    creating = config_map_create(endpoint)
    request = next(creating)
    while True:
        answer = yield request
        request = creating.send(answer)
        yield Request("DELETE", CONFIG_MAPS.path(NAMESPACE, endpoint.config_maps.pop()))


def _claim(endpoint: Endpoint) -> Generator[Request, bytes, dict[str, Any]]:
    name = f"claim-{next(endpoint.numbers)}"
    obj = {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": RESOURCE_CLAIMS.kind,
        "metadata": {"name": name},
        "spec": claim_spec("1g.5gb"),
    }
    answer = yield Request("POST", RESOURCE_CLAIMS.path(NAMESPACE), msgspec.json.encode(obj))
    created: dict[str, Any] = msgspec.json.decode(answer)
    return created


def claim_status(endpoint: Endpoint) -> Traffic:
    """In turn allocated and reserved as the scheduler does, and freed."""
    claim = yield from _claim(endpoint)
    path = RESOURCE_CLAIMS.path(NAMESPACE, claim["metadata"]["name"], "status")
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]
    device = {"request": "mig", "driver": "gpu.nvidia.com", "pool": "node-1", "device": "gpu-0-mig-1g5gb-19-0"}
    held = {
        "allocation": {"devices": {"results": [device]}, "nodeSelector": {"nodeSelectorTerms": terms}},
        "reservedFor": [{"resource": "pods", "name": "user", "uid": "user"}],
    }
    while True:
        claim["status"] = {} if claim.get("status") else held
        claim = msgspec.json.decode((yield Request("PUT", path, msgspec.json.encode(claim))))


def claim_patch(endpoint: Endpoint) -> Traffic:
    """An annotation, by merge patch."""
    claim = yield from _claim(endpoint)
    path = RESOURCE_CLAIMS.path(NAMESPACE, claim["metadata"]["name"])
    for number in itertools.count():
        body = msgspec.json.encode({"metadata": {"annotations": {"bench.drakit.dev/n": str(number)}}})
        yield Request("PATCH", path, body, "application/merge-patch+json")


@functools.cache
def _slice_body() -> bytes:
    """Built and encoded once: to write 40 KB of JSON is work of the driver."""
    return msgspec.json.encode(recorded_slice(_PLACEHOLDER))


def slice_create(endpoint: Endpoint) -> Traffic:
    """Of a node with eight GPUs, a part of their MIG partitions."""
    while True:
        name = f"node-{next(endpoint.numbers)}"
        yield Request("POST", RESOURCE_SLICES.path(), _slice_body().replace(_PLACEHOLDER.encode(), name.encode()))
        endpoint.slices.append(name)


def slice_get(endpoint: Endpoint) -> Traffic:
    """Any of those that were created."""
    while True:
        yield Request("GET", RESOURCE_SLICES.path(name=random.choice(endpoint.slices)))


def slice_list(endpoint: Endpoint) -> Traffic:
    """All slices there are."""
    while True:
        yield Request("GET", RESOURCE_SLICES.path())


# In this order: what is got must have been created.
OPERATIONS: dict[str, Callable[[Endpoint], Traffic]] = {
    "config map create": config_map_create,
    "config map get": config_map_get,
    "claim status update": claim_status,
    "claim merge patch": claim_patch,
    "slice create": slice_create,
    "slice get": slice_get,
    "list 1,000 slices": slice_list,
}


async def have_slices(endpoint: Endpoint, count: int, step: Step) -> None:
    """Create or delete slices until there are exactly so many."""
    async with endpoint.client() as client:
        creating = slice_create(endpoint)
        request = next(creating)
        while len(endpoint.slices) < count:
            step(f"{len(endpoint.slices)} of {count} slices created")
            request = creating.send(await client.send(request))
        while len(endpoint.slices) > count:
            step(f"{len(endpoint.slices)} slices, {count} are wanted")
            await client.send(Request("DELETE", RESOURCE_SLICES.path(name=endpoint.slices.pop())))
