"""Memory of the API server while 100,000 objects are created and deleted before the eyes of 20 watchers.

What comes and goes must leave nothing behind: the history that watches resume from is bounded, and so is all else. The
first tenth fills it; from then on, resident memory may grow by no more than a few MiB.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

import msgspec

from bench import clusters, servers
from bench.report import Report, Step
from bench.servers import NAMESPACE, Endpoint
from bench.traffic import config_map_cycle
from bench.wire import Client, Request
from drakit_client.processes.ending_signals import run_until_told
from drakit_client.resources import CONFIG_MAPS

TARGET_GROWTH = 8.0  # MiB, from the first tenth of the cycles to the last

_PARTS = 10
_CLIENTS = 4
_WATCHERS = 20


def run(step: Step, *, quick: bool = False) -> Report:
    """Ten parts of 10,000 cycles each; a row says how much memory the server has after it."""
    cycles = 20 if quick else 10_000
    report = Report(
        title=f"API server: memory over cycles of create and delete ({_CLIENTS} clients, {_WATCHERS} watchers)",
        columns=["cycles", "MiB", "cycles/s", "CPU ms", "events seen"],
        notes=["CPU: the server's process, divided by cycles, delivery of their events to the watchers included."],
    )
    with report.kept():
        grown = run_until_told(_measure(report, step, cycles))
        if not quick:
            met = "met" if grown <= TARGET_GROWTH else "missed"
            report.notes.append(f"Growth after the first tenth: {grown:.1f} MiB; target {TARGET_GROWTH:g} MiB: {met}.")
    return report


async def _measure(report: Report, step: Step, cycles: int) -> float:
    with clusters.scratch_directory() as directory:
        async with servers.embedded(directory, tls=True) as endpoint, asyncio.TaskGroup() as tasks:
            seen = [0] * _WATCHERS
            watching = [tasks.create_task(_watch(endpoint, seen, number)) for number in range(_WATCHERS)]
            async with AsyncExitStack() as stack:
                clients = [await stack.enter_async_context(endpoint.client()) for _ in range(_CLIENTS)]
                sizes = []
                for part in range(1, _PARTS + 1):
                    step(f"{part} of {_PARTS}")
                    figures = await _part(endpoint, clients, cycles)
                    sizes.append(endpoint.mebibytes())
                    report.rows.append([f"{part * cycles:,}", f"{sizes[-1]:.1f}", *figures, f"{sum(seen):,}"])
            for task in watching:
                task.cancel()
    return max(sizes) - sizes[0]


async def _part(endpoint: Endpoint, clients: list[Client], cycles: int) -> list[str]:
    """Cycles a second, and milliseconds of CPU time for each."""
    began, cpu = time.monotonic(), endpoint.cpu_seconds()
    await asyncio.gather(*(_cycle(endpoint, client, cycles // len(clients)) for client in clients))
    seconds, cpu = time.monotonic() - began, endpoint.cpu_seconds() - cpu
    return [f"{cycles / seconds:,.0f}", f"{1000 * cpu / cycles:.2f}"]


async def _cycle(endpoint: Endpoint, client: Client, cycles: int) -> None:
    requests = config_map_cycle(endpoint)
    request = next(requests)
    for left in range(2 * cycles, 0, -1):
        answer = await client.send(request)
        if left > 1:
            request = requests.send(answer)


async def _watch(endpoint: Endpoint, seen: list[int], number: int) -> None:
    """Count events from now on, until cancelled."""
    async with endpoint.client() as client:
        listed = await client.send(Request("GET", f"{CONFIG_MAPS.path(NAMESPACE)}?limit=1"))
        version = msgspec.json.decode(listed)["metadata"]["resourceVersion"]
        await client.open_watch(f"{CONFIG_MAPS.path(NAMESPACE)}?watch=true&resourceVersion={version}")
        async for _ in client.watched():
            seen[number] += 1
