"""Requests a second of the API server, in a process of its own over plain HTTP, with 1, 4 and 16 clients.

Each client sends one request after the other. The kinds are those that DRA is made of: claims whose status the
scheduler writes, slices of 40 KB, lists and watches of them; config maps are the small objects beside them. The server
keeps its data in a file, as a cluster's does: what it acknowledged survives that it is killed, as with etcd.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import random
import secrets
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bench import clusters, interruptible, processes
from bench.partitions import claim_spec, recorded_slice
from bench.report import Report, Step, percentile, ratio
from bench.watchers import ANNOTATION, Assignment, Result
from bench.wire import Client, Request
from drakit_client.resources import CONFIG_MAPS, RESOURCE_CLAIMS, RESOURCE_SLICES

# Requests a second of kube-apiserver 1.37.1, which serves HTTPS only, with etcd 3.7.3 on two cores; at so many clients:
UPSTREAM_CLIENTS = (1, 4, 16)
UPSTREAM: dict[str, tuple[float, float, float]] = {
    "config map create": (487, 947, 1451),
    "config map get": (793, 1834, 3042),
    "claim status update": (387, 726, 1019),
    "claim merge patch": (410, 680, 955),
    "slice create": (83, 109, 122),
    "slice get": (447, 659, 726),
    "list 1,000 slices": (1.8, 2.1, 2.2),
}
UPSTREAM_WATCH = (1409.0, 324.0)  # events a second at 20 watchers of slices, and the longest delay in ms

_NAMESPACE = "default"
_PLACEHOLDER = "name-of-the-node"
_START_SECONDS = 30.0
_WATCH_SECONDS = 120.0
_WRITERS = 4
_WATCHED = 100  # slices that the writers update in turn

# Yields requests for ever, is sent each answer.
Traffic = Generator[Request, bytes, None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is measured; ``seconds`` is for each operation and number of clients."""

    seconds: float = 2.0
    clients: tuple[int, ...] = UPSTREAM_CLIENTS
    slices: int = 1000
    watchers: int = 20
    updates: int = 400


_QUICK = Settings(seconds=0.05, clients=(1, 4), slices=8, watchers=2, updates=8)


@dataclass
class Endpoint:
    """The server, and the names of what was created there so far."""

    url: str
    token: str
    pid: int
    config_maps: list[str] = field(default_factory=list)
    slices: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def client(self) -> Client:
        return Client(self.url, self.token)


@dataclass(frozen=True, slots=True)
class _Run:
    """Latencies of all requests of one run, how long it took, and the server's CPU time; all in seconds."""

    latencies: list[float]
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds


def run(step: Step, *, quick: bool = False) -> Report:
    """All operations on one server, whose objects stay: as in the recorded run, later ones find a filled store."""
    settings = _QUICK if quick else Settings()
    report = Report(
        title=f"API server, requests a second ({settings.seconds:g} s each; lists of {settings.slices} slices)",
        columns=["operation", "clients", "per s", "Kubernetes", "ratio", "p50 ms", "p99 ms", "CPU ms"],
        notes=[
            "Kubernetes: kube-apiserver and etcd over TLS, which takes some of its time; here plain HTTP.",
            "CPU: the server's process, divided by requests (or by events, updates included).",
        ],
    )
    with report.kept():
        interruptible.run(_measure(report, step, settings))
    return report


async def _measure(report: Report, step: Step, settings: Settings) -> None:
    _slice_body()
    with clusters.scratch_directory() as directory:
        async with _serving(directory) as endpoint:
            for name, traffic in _OPERATIONS.items():
                if traffic in (_slice_get, _slice_list):
                    await _have_slices(endpoint, settings.slices, step)
                for clients in settings.clients:
                    step(f"{name}, {clients} clients")
                    measured = await _closed_loop(endpoint, traffic, clients, settings.seconds)
                    report.rows.append(_row(name, clients, measured))
            watch_row, most = await _watch_row(endpoint, settings, step)
    report.rows.append(watch_row)
    report.notes.insert(
        0, f"The longest delay of a watch event was {most:.0f} ms (Kubernetes {UPSTREAM_WATCH[1]:.0f} ms)."
    )


@asynccontextmanager
async def _serving(directory: Path) -> AsyncIterator[Endpoint]:
    """``drakit apiserver run`` without controllers, which would react to what is written here."""
    token = secrets.token_urlsafe(16)
    options = ["--no-tls", "--no-controllers", "--data-file", str(directory / "store.sqlite")]
    environment = {"DRAKIT_TOKEN": token}
    async with processes.python("drakit_kind", "apiserver", "run", *options, environment=environment) as server:
        line = await processes.line_of(server, _START_SECONDS)
        url = line.decode().strip().removeprefix("serving on ")
        if not url.startswith("http://"):
            raise RuntimeError(f"`drakit apiserver run` says {url!r} instead of its address")
        yield Endpoint(url, token, server.pid)


async def _closed_loop(
    endpoint: Endpoint, traffic: Callable[[Endpoint], Traffic], clients: int, seconds: float
) -> _Run:
    """Each client waits for an answer before its next request; at least one request each."""
    latencies: list[float] = []

    async def one(client: Client) -> None:
        requests = traffic(endpoint)
        request = next(requests)
        while True:
            sent = time.monotonic()
            answer = await client.send(request)
            received = time.monotonic()
            latencies.append(received - sent)
            if received >= end:
                return
            request = requests.send(answer)

    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(endpoint.client()) for _ in range(clients)]
        began, cpu = time.monotonic(), processes.cpu_seconds(endpoint.pid)
        end = began + seconds
        await asyncio.gather(*map(one, opened))
        return _Run(latencies, time.monotonic() - began, processes.cpu_seconds(endpoint.pid) - cpu)


def _row(name: str, clients: int, measured: _Run) -> list[str]:
    recorded = UPSTREAM[name][UPSTREAM_CLIENTS.index(clients)]
    p50, p99 = (1000 * percentile(measured.latencies, percent) for percent in (50, 99))
    cpu = 1000 * measured.cpu / len(measured.latencies)
    figures = [_figure(measured.rate), f"{recorded:,g}", ratio(measured.rate, recorded)]
    return [name, f"{clients}", *figures, f"{p50:.2f}", f"{p99:.2f}", f"{cpu:.2f}"]


def _figure(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}"


def _config_map_create(endpoint: Endpoint) -> Traffic:
    while True:
        name = f"config-{next(endpoint.numbers)}"
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "x" * 100}}
        yield Request("POST", CONFIG_MAPS.path(_NAMESPACE), msgspec.json.encode(obj))
        endpoint.config_maps.append(name)


def _config_map_get(endpoint: Endpoint) -> Traffic:
    while True:
        yield Request("GET", CONFIG_MAPS.path(_NAMESPACE, random.choice(endpoint.config_maps)))


def _claim(endpoint: Endpoint) -> Generator[Request, bytes, dict[str, Any]]:
    name = f"claim-{next(endpoint.numbers)}"
    obj = {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": RESOURCE_CLAIMS.kind,
        "metadata": {"name": name},
        "spec": claim_spec("1g.5gb"),
    }
    answer = yield Request("POST", RESOURCE_CLAIMS.path(_NAMESPACE), msgspec.json.encode(obj))
    created: dict[str, Any] = msgspec.json.decode(answer)
    return created


def _claim_status(endpoint: Endpoint) -> Traffic:
    """In turn allocated and reserved as the scheduler does, and freed."""
    claim = yield from _claim(endpoint)
    path = RESOURCE_CLAIMS.path(_NAMESPACE, claim["metadata"]["name"], "status")
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]
    device = {"request": "mig", "driver": "gpu.nvidia.com", "pool": "node-1", "device": "gpu-0-mig-1g5gb-19-0"}
    held = {
        "allocation": {"devices": {"results": [device]}, "nodeSelector": {"nodeSelectorTerms": terms}},
        "reservedFor": [{"resource": "pods", "name": "user", "uid": "user"}],
    }
    while True:
        claim["status"] = {} if claim.get("status") else held
        claim = msgspec.json.decode((yield Request("PUT", path, msgspec.json.encode(claim))))


def _claim_patch(endpoint: Endpoint) -> Traffic:
    claim = yield from _claim(endpoint)
    path = RESOURCE_CLAIMS.path(_NAMESPACE, claim["metadata"]["name"])
    for number in itertools.count():
        body = msgspec.json.encode({"metadata": {"annotations": {"bench.drakit.dev/n": str(number)}}})
        yield Request("PATCH", path, body, "application/merge-patch+json")


@functools.cache
def _slice_body() -> bytes:
    """Built and encoded once: to write 40 KB of JSON is work of the driver."""
    return msgspec.json.encode(recorded_slice(_PLACEHOLDER))


def _slice_create(endpoint: Endpoint) -> Traffic:
    while True:
        name = f"node-{next(endpoint.numbers)}"
        yield Request("POST", RESOURCE_SLICES.path(), _slice_body().replace(_PLACEHOLDER.encode(), name.encode()))
        endpoint.slices.append(name)


def _slice_get(endpoint: Endpoint) -> Traffic:
    while True:
        yield Request("GET", RESOURCE_SLICES.path(name=random.choice(endpoint.slices)))


def _slice_list(endpoint: Endpoint) -> Traffic:
    while True:
        yield Request("GET", RESOURCE_SLICES.path())


# In this order: what is got must have been created.
_OPERATIONS: dict[str, Callable[[Endpoint], Traffic]] = {
    "config map create": _config_map_create,
    "config map get": _config_map_get,
    "claim status update": _claim_status,
    "claim merge patch": _claim_patch,
    "slice create": _slice_create,
    "slice get": _slice_get,
    "list 1,000 slices": _slice_list,
}


async def _have_slices(endpoint: Endpoint, count: int, step: Step) -> None:
    """Create or delete slices until there are exactly so many."""
    async with endpoint.client() as client:
        creating = _slice_create(endpoint)
        request = next(creating)
        while len(endpoint.slices) < count:
            step(f"{len(endpoint.slices)} of {count} slices created")
            request = creating.send(await client.send(request))
        while len(endpoint.slices) > count:
            step(f"{len(endpoint.slices)} slices, {count} are wanted")
            await client.send(Request("DELETE", RESOURCE_SLICES.path(name=endpoint.slices.pop())))


async def _watch_row(endpoint: Endpoint, settings: Settings, step: Step) -> tuple[list[str], float]:
    """All watchers get every update, as fast as four writers make them; also the longest delay in ms."""
    step(f"watch, {settings.watchers} watchers")
    cpu = processes.cpu_seconds(endpoint.pid)
    began, result = await _watch(endpoint, settings)
    cpu = 1000 * (processes.cpu_seconds(endpoint.pid) - cpu) / len(result.delays)
    rate = len(result.delays) / (result.last - began)
    p50, p99, most = (1000 * percentile(result.delays, percent) for percent in (50, 99, 100))
    recorded = UPSTREAM_WATCH[0]
    figures = [_figure(rate), f"{recorded:,g}", ratio(rate, recorded), f"{p50:.2f}", f"{p99:.2f}", f"{cpu:.2f}"]
    return ["watch events", f"{settings.watchers}", *figures], most


async def _watch(endpoint: Endpoint, settings: Settings) -> tuple[float, Result]:
    """When the first update was sent, and what the watchers saw."""
    async with endpoint.client() as client:
        names = endpoint.slices[:_WATCHED]
        slices = [msgspec.json.decode(await client.send(Request("GET", RESOURCE_SLICES.path(name=n)))) for n in names]
        listed = await client.send(Request("GET", f"{RESOURCE_SLICES.path()}?limit=1"))
    version = msgspec.json.decode(listed)["metadata"]["resourceVersion"]
    path = f"{RESOURCE_SLICES.path()}?watch=true&resourceVersion={version}"
    assignment = Assignment(
        endpoint.url, endpoint.token, path, settings.watchers, settings.updates, seconds=_WATCH_SECONDS
    )
    async with processes.python("bench.watchers") as watchers:
        assert watchers.stdin is not None
        watchers.stdin.write(msgspec.json.encode(assignment))
        watchers.stdin.write_eof()
        await processes.line_of(watchers, _START_SECONDS)
        began = time.monotonic()
        turns = iter(range(settings.updates))
        await asyncio.gather(*(_update(endpoint, slices[writer::_WRITERS], turns) for writer in range(_WRITERS)))
        return began, msgspec.json.decode(await processes.line_of(watchers, _WATCH_SECONDS), type=Result)


async def _update(endpoint: Endpoint, slices: list[dict[str, Any]], turns: Iterator[int]) -> None:
    """Update these slices in turn, which no other writer does; the writers share the number of turns."""
    async with endpoint.client() as client:
        for index, _ in enumerate(turns):
            at = index % len(slices)
            slices[at]["metadata"].setdefault("annotations", {})[ANNOTATION] = repr(time.monotonic())
            path = RESOURCE_SLICES.path(name=slices[at]["metadata"]["name"])
            slices[at] = msgspec.json.decode(await client.send(Request("PUT", path, msgspec.json.encode(slices[at]))))
