"""Memory for the index of 1,000 DGX nodes, 208,000 devices, and milliseconds to take in a slice that changed.

Memory is what the resident size of a process grows by, from before the first slice: index, allocated devices, and all
that is remembered after every node was asked for each kind of pod. Pods that come and go add answers, up to a bound.
"""

from __future__ import annotations

import statistics

import msgspec

from bench import processes
from bench.indexed import Figures
from bench.report import Report, Step
from drakit_client.processes.ending_signals import run_until_told

TARGET_MEBIBYTES, TARGET_MILLISECONDS = 1024, 10.0

_STATES = ("slices", "allocated claims", "pods that come and go")
_COLUMNS = ["cluster", "slices", "devices", "in use", "seconds", "MiB", "a slice, ms", "at most", "GC, ms"]
_NOTES = (
    "MiB: growth of resident memory of a process. seconds: CPU time to get there from the line above.",
    "a slice: CPU time, median, until one that changed is read and its node looked at again, without GC.",
    "GC: CPU milliseconds of a full pass of Python's garbage collector, which comes now and then.",
)
_STATE_SECONDS = 600.0


def run(step: Step, *, quick: bool = False) -> Report:
    """An empty cluster, nearly full, and after many pods; the quick one has a tenth of the nodes."""
    nodes, pods = (100, 100) if quick else (1000, 5000)
    report = Report("Allocator alone: memory", _COLUMNS, [*_NOTES])
    with report.kept():
        run_until_told(_measure(report, step, nodes, pods))
    return report


async def _measure(report: Report, step: Step, nodes: int, pods: int) -> None:
    reached = []
    async with processes.python("bench.indexed", f"{nodes}", f"{pods}") as child:
        for state in _STATES:
            step(f"{nodes} nodes: {state}")
            line = await processes.line_of(child, _STATE_SECONDS)
            reached.append(msgspec.json.decode(line, type=Figures))
            report.rows.append(_row(reached[-1]))
    is_met = all(one.mebibytes < TARGET_MEBIBYTES and max(one.changes) < TARGET_MILLISECONDS for one in reached)
    targets = f"less than {TARGET_MEBIBYTES:,} MiB, and {TARGET_MILLISECONDS:g} ms for any slice"
    report.notes.append(f"Target: {targets}: {'met' if is_met else 'missed'}.")


def _row(figures: Figures) -> list[str]:
    counts = [f"{count:,}" for count in (figures.slices, figures.devices, figures.in_use)]
    changes = [f"{statistics.median(figures.changes):.2f}", f"{max(figures.changes):.2f}", f"{figures.collection:.0f}"]
    return [figures.state, *counts, f"{figures.seconds:.2f}", f"{figures.mebibytes:.0f}", *changes]
