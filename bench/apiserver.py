"""Requests a second of the API server beside kube-apiserver and etcd, with 1, 4 and 16 clients.

Each client sends one request after the other. Both are measured in turn by the same client over HTTPS, ours also over
plain HTTP. Where Kubernetes' programs are not on this machine, its recorded figures stand in their place.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench import clusters, processes, servers
from bench.report import Report, Step, percentile, ratio
from bench.servers import Endpoint
from bench.traffic import OPERATIONS, Traffic, have_slices, slice_get, slice_list
from bench.watchers import ANNOTATION, Assignment, Result
from bench.wire import Client, Request
from drakit_client.processes.ending_signals import run_until_told
from drakit_client.resources import RESOURCE_SLICES

# Requests a second of kube-apiserver 1.37.1 and etcd 3.7.3 (without fsync) together, on two cores, at so many clients:
# those of the run of this benchmark that docs/apiserver.md shows.
UPSTREAM_CLIENTS = (1, 4, 16)
UPSTREAM: dict[str, tuple[float, float, float]] = {
    "config map create": (684, 1475, 1751),
    "config map get": (1034, 2085, 2779),
    "claim status update": (345, 901, 1116),
    "claim merge patch": (472, 789, 1083),
    "slice create": (59.9, 99.4, 123),
    "slice get": (509, 906, 921),
    "list 1,000 slices": (1.9, 2.7, 2.7),
}
UPSTREAM_WATCH = 1633.0  # events a second at 20 watchers of slices
# How many times as fast as Kubernetes we want to be; it uses all cores, and we one.
_AHEAD, _THREE_TIMES = (1.0, 1.0, 0.5), (3.0, 3.0, 3.0)
TARGETS: dict[str, tuple[float, float, float]] = {
    "config map create": _AHEAD,
    "config map get": _AHEAD,
    "claim status update": _AHEAD,
    "claim merge patch": _AHEAD,
    "slice create": _THREE_TIMES,
    "slice get": _AHEAD,
    "list 1,000 slices": _THREE_TIMES,
}
WATCH_TARGET = 3.0

OURS, PLAIN, KUBERNETES = "HTTPS", "HTTP", "Kubernetes"
_START_SECONDS = 30.0
_WATCH_SECONDS = 120.0
_TURNS = 4
_WRITERS = 4
_WATCHED = 100  # slices that the writers update in turn


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is measured; ``seconds`` is for each server, operation and number of clients."""

    seconds: float = 2.0
    clients: tuple[int, ...] = UPSTREAM_CLIENTS
    slices: int = 1000
    watchers: int = 20
    updates: int = 400


_QUICK = Settings(seconds=0.05, clients=(1, 4), slices=8, watchers=2, updates=8)


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds that each request (or the delivery of each event) took, and how long it took altogether.

    ``cpu`` is the processor time of the server's processes, in seconds.
    """

    latencies: list[float]
    seconds: float
    cpu: float

    def __add__(self, other: Run) -> Run:
        return Run(self.latencies + other.latencies, self.seconds + other.seconds, self.cpu + other.cpu)

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def milliseconds(self, percent: float) -> str:
        return _milliseconds(percentile(self.latencies, percent))

    @property
    def cpu_milliseconds(self) -> str:
        return _milliseconds(self.cpu / len(self.latencies))


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.2f}" if seconds < 0.01 else f"{1000 * seconds:,.0f}"


def run(step: Step, *, quick: bool = False) -> Report:
    """All operations on each server, whose objects stay: as in the recorded run, later ones find a filled store."""
    settings = _QUICK if quick else Settings()
    rates = [PLAIN, OURS, KUBERNETES, "ratio", "target", ""]
    report = Report(
        title=f"API server, requests a second ({settings.seconds:g} s each; lists of {settings.slices} slices)",
        columns=["operation", "clients", *rates, "p99 ms", "K's", "CPU ms", "K's"],
        notes=[
            "Ratio, p99 and CPU are those of HTTPS on either side; K's are Kubernetes'. Ours over plain HTTP beside.",
            "CPU: the server's processes, divided by requests (or by events, updates included).",
        ],
    )
    with report.kept():
        run_until_told(_measure(report, step, settings))
    return report


async def _measure(report: Report, step: Step, settings: Settings) -> None:
    with clusters.scratch_directory() as directory:
        async with serving(report, directory, step) as endpoints:
            for name, traffic in OPERATIONS.items():
                if traffic in (slice_get, slice_list):
                    for endpoint in endpoints.values():
                        await have_slices(endpoint, settings.slices, step)
                for clients in settings.clients:
                    step(f"{name}, {clients} clients")
                    runs = await in_turns(endpoints, traffic, clients, settings.seconds)
                    column = UPSTREAM_CLIENTS.index(clients)
                    report.rows.append(row(name, clients, runs, UPSTREAM[name][column], TARGETS[name][column]))
            step(f"watch, {settings.watchers} watchers")
            runs = {server: await _watch(endpoint, settings) for server, endpoint in endpoints.items()}
    report.rows.append(row("watch events", settings.watchers, runs, UPSTREAM_WATCH, WATCH_TARGET))
    longest = ", ".join(f"{server} {watched.milliseconds(100)} ms" for server, watched in runs.items())
    report.notes.append(f"The longest delay of a watch event: {longest}.")


@asynccontextmanager
async def serving(report: Report, directory: Path, step: Step) -> AsyncIterator[dict[str, Endpoint]]:
    """All servers at once; those that are not asked anything do next to nothing."""
    async with AsyncExitStack() as stack:

        async def started(server: str, directory: Path) -> Endpoint:
            step(f"start {server}")
            directory.mkdir()
            if server == KUBERNETES:
                return await stack.enter_async_context(servers.kubernetes(directory))
            return await stack.enter_async_context(servers.embedded(directory, tls=server == OURS))

        wanted = [PLAIN, OURS]
        if lacking := servers.lacking_kubernetes():
            report.notes.append(f"Kubernetes: of the run in docs/apiserver.md, on two cores, since {lacking}.")
        else:
            wanted.append(KUBERNETES)
        yield {server: await started(server, directory / f"{number}") for number, server in enumerate(wanted)}


class _Load:
    """Clients of one server, each of which waits for an answer before its next request."""

    def __init__(self, endpoint: Endpoint, clients: list[Client], traffic: Callable[[Endpoint], Traffic]) -> None:
        self._endpoint = endpoint
        self._clients = clients
        self._traffic = [traffic(endpoint) for _ in clients]
        self._requests = [next(requests) for requests in self._traffic]

    async def turn(self, seconds: float) -> Run:
        """Go on for so long; at least one request of each client."""
        latencies: list[float] = []

        async def one(number: int) -> None:
            while True:
                sent = time.monotonic()
                answer = await self._clients[number].send(self._requests[number])
                received = time.monotonic()
                latencies.append(received - sent)
                self._requests[number] = self._traffic[number].send(answer)
                if received >= end:
                    return

        began, cpu = time.monotonic(), self._endpoint.cpu_seconds()
        end = began + seconds
        await asyncio.gather(*map(one, range(len(self._clients))))
        return Run(latencies, time.monotonic() - began, self._endpoint.cpu_seconds() - cpu)


async def in_turns(
    endpoints: dict[str, Endpoint], traffic: Callable[[Endpoint], Traffic], clients: int, seconds: float
) -> dict[str, Run]:
    """The servers one after the other, several times: what else the machine does meets all of them alike."""
    runs = {server: Run([], 0.0, 0.0) for server in endpoints}
    async with AsyncExitStack() as stack:
        loads = {}
        for server, endpoint in endpoints.items():
            opened = [await stack.enter_async_context(endpoint.client()) for _ in range(clients)]
            loads[server] = _Load(endpoint, opened, traffic)
        for _ in range(_TURNS):
            for server, load in loads.items():
                runs[server] += await load.turn(seconds / _TURNS)
    return runs


def row(name: str, clients: int, runs: dict[str, Run], recorded: float, target: float) -> list[str]:
    ours, kubernetes = runs[OURS], runs.get(KUBERNETES)
    theirs = kubernetes.rate if kubernetes is not None else recorded
    wanted = "met" if ours.rate >= target * theirs else "missed"
    figures = [_figure(runs[PLAIN].rate), _figure(ours.rate), _figure(theirs), ratio(ours.rate, theirs)]
    latency = [ours.milliseconds(99), kubernetes.milliseconds(99) if kubernetes is not None else "-"]
    cpu = [ours.cpu_milliseconds, kubernetes.cpu_milliseconds if kubernetes is not None else "-"]
    return [name, f"{clients}", *figures, f"{target:g}x", wanted, *latency, *cpu]


def _figure(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}"


async def _watch(endpoint: Endpoint, settings: Settings) -> Run:
    """All watchers get every update, as fast as four writers make them."""
    async with endpoint.client() as client:
        names = endpoint.slices[:_WATCHED]
        slices = [msgspec.json.decode(await client.send(Request("GET", RESOURCE_SLICES.path(name=n)))) for n in names]
        listed = await client.send(Request("GET", f"{RESOURCE_SLICES.path()}?limit=1"))
    version = msgspec.json.decode(listed)["metadata"]["resourceVersion"]
    assignment = Assignment(
        endpoint.url,
        endpoint.token,
        endpoint.certificate,
        f"{RESOURCE_SLICES.path()}?watch=true&resourceVersion={version}",
        settings.watchers,
        settings.updates,
        seconds=_WATCH_SECONDS,
    )
    async with processes.python("bench.watchers") as watchers:
        assert watchers.stdin is not None
        watchers.stdin.write(msgspec.json.encode(assignment))
        watchers.stdin.write_eof()
        await processes.line_of(watchers, _START_SECONDS)
        began, cpu = time.monotonic(), endpoint.cpu_seconds()
        turns = iter(range(settings.updates))
        await asyncio.gather(*(_update(endpoint, slices[writer::_WRITERS], turns) for writer in range(_WRITERS)))
        result = msgspec.json.decode(await processes.line_of(watchers, _WATCH_SECONDS), type=Result)
        return Run(result.delays, result.last - began, endpoint.cpu_seconds() - cpu)


async def _update(endpoint: Endpoint, slices: list[dict[str, Any]], turns: Iterator[int]) -> None:
    """Update these slices in turn, which no other writer does; the writers share the number of turns."""
    async with endpoint.client() as client:
        for index, _ in enumerate(turns):
            at = index % len(slices)
            slices[at]["metadata"].setdefault("annotations", {})[ANNOTATION] = repr(time.monotonic())
            path = RESOURCE_SLICES.path(name=slices[at]["metadata"]["name"])
            slices[at] = msgspec.json.decode(await client.send(Request("PUT", path, msgspec.json.encode(slices[at]))))
