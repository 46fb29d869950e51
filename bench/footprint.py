"""Seconds from start to ready of the API server, and its resident memory with the slices of 500 nodes.

Figures are those of all processes: ours is one, Kubernetes' are etcd and kube-apiserver. Each start finds what the one
before has stored: slices of 52 devices, of which a node with eight GPUs publishes five.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench import clusters, servers
from bench.report import Report, Step, ratio
from bench.servers import Endpoint
from bench.traffic import have_slices, slice_list
from drakit_client.processes.ending_signals import run_until_told

# Of kube-apiserver 1.37.1 and etcd 3.7.3 together with 2,500 slices written: that run of this benchmark of which
# docs/apiserver.md tells.
UPSTREAM_MEBIBYTES = 2969.0

Start = Callable[[Path], AbstractAsyncContextManager[Endpoint]]


class _Figures(NamedTuple):
    """Seconds to start with an empty store and with many slices; MiB with all slices, written and read at a start."""

    empty: float
    filled: float
    written: float
    read: float


_TARGETS = _Figures(empty=0.3, filled=1.0, written=600.0, read=600.0)


def run(step: Step, *, quick: bool = False) -> Report:
    """Three starts of each server in one directory: empty, with 1,000 slices, and with 2,500."""
    many, all_slices = (10, 25) if quick else (1000, 2500)
    report = Report("API server: start and memory", ["", "ours", "Kubernetes", "ratio", "target", ""])
    names = (
        "seconds to start, empty",
        f"seconds to start, {many:,} slices",
        f"MiB, {all_slices:,} slices written",
        f"MiB, {all_slices:,} slices found at the start",
    )
    with report.kept():
        found = run_until_told(_measure(report, step, many, all_slices))
        for name, ours, theirs, target in zip(names, found[0], found[-1], _TARGETS, strict=True):
            report.rows.append(_row(name, ours, theirs if len(found) > 1 else None, target))
    return report


def _row(name: str, ours: float, theirs: float | None, target: float) -> list[str]:
    shown = f"{theirs:,.4g}" if theirs is not None else "-"
    faster = ratio(ours, theirs, less_is_better=True)
    return [name, f"{ours:,.3g}", shown, faster, f"{target:g}", "met" if ours <= target else "missed"]


async def _measure(report: Report, step: Step, many: int, all_slices: int) -> list[_Figures]:
    starts: list[Start] = [partial(servers.embedded, tls=True)]
    if lacking := servers.lacking_kubernetes():
        report.notes.append(
            f"Kubernetes was not started: {lacking}. It was seen at {UPSTREAM_MEBIBYTES:,.0f} MiB with etcd."
        )
    else:
        starts.append(servers.kubernetes)
    with clusters.scratch_directory() as scratch:
        found = []
        for number, start in enumerate(starts):
            directory = scratch / f"{number}"
            directory.mkdir()
            found.append(await _of_one(partial(start, directory), step, many, all_slices))
        return found


async def _of_one(
    start: Callable[[], AbstractAsyncContextManager[Endpoint]], step: Step, many: int, all_slices: int
) -> _Figures:
    step("start, empty")
    async with start() as endpoint:
        await have_slices(endpoint, many, step)
    names = endpoint.slices
    step(f"start, {many} slices")
    async with start() as filled:
        filled.slices, filled.numbers = names, endpoint.numbers
        await have_slices(filled, all_slices, step)
        written = await _mebibytes(filled)
    step(f"start, {all_slices} slices")
    async with start() as again:
        read = await _mebibytes(again)
    return _Figures(endpoint.start_seconds, filled.start_seconds, written, read)


async def _mebibytes(endpoint: Endpoint) -> float:
    """When somebody has listed all slices, as every scheduler does at its start."""
    async with endpoint.client() as client:
        await client.send(next(slice_list(endpoint)))
        return endpoint.mebibytes()
