"""What a hundred ResourceSlicePatches cost on 208,000 devices, and how soon one that changes is in force.

The same cluster is measured with and without patches, in processes of their own that work in turns, so that whatever
else the machine does hits both. Pods go where upstream puts them without patches, or the benchmark fails. Kubernetes
has no such patches: its figures are those of its allocator without any.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple, TypeVar

import msgspec

from bench import processes
from bench.patches.figures import CHANGES, Change, Started
from bench.patches.mix import SCENARIOS
from bench.report import Report, Step, ratio
from drakit_client.processes.ending_signals import run_until_told

MORE_MEMORY, MORE_TIME = 20.0, 5.0  # percent, at most
IN_FORCE = 50.0  # milliseconds until the next decision

_SIDES = ("plain", "patched")
_COLUMNS = ["", "without", "with", "more", "target", "", "Kubernetes", "ratio"]
_NOTES = (
    "CPU time. without, with: what the fastest tenth of the rounds took at most; until a patch is in force: medians.",
    "start: to take in patches and slices, and to look at all nodes. first pods: selectors are evaluated anew.",
    "dgx: 1,000 DGX nodes, 208,000 devices, 90 % full. scheduler_perf: 500 nodes, the class reads what patches say.",
    "decision: a patch for these devices changes, the next pod asks for what it says; most nodes are asked in vain.",
    "all nodes: until what every node sees of its devices has been worked out again.",
    "scheduler: until the scheduler with its own state, which looks for failing selectors on all nodes, has decided.",
    "ratio: of Kubernetes' allocator without patches to ours with them.",
)
_SECONDS = 600.0
_T = TypeVar("_T")


class _Settings(NamedTuple):
    nodes: int
    starts: int
    rounds: int
    changes: int


_FULL = _Settings(nodes=1000, starts=3, rounds=200, changes=10)
_QUICK = _Settings(nodes=100, starts=1, rounds=1, changes=1)


def run(step: Step, *, quick: bool = False) -> Report:
    """DGX nodes of which nine of ten are full, then the nodes of seed 002's scheduler_perf scenario."""
    report = Report("A hundred ResourceSlicePatches", _COLUMNS, [*_NOTES])
    with report.kept():
        run_until_told(_measure(report, step, _QUICK if quick else _FULL))
    return report


async def _measure(report: Report, step: Step, settings: _Settings) -> None:
    for scenario in SCENARIOS:
        starts: tuple[list[Started], list[Started]] = ([], [])
        for number in range(settings.starts - 1):
            step(f"{scenario}: start {number + 1} of {settings.starts}")
            async with AsyncExitStack() as stack:
                await _start(stack, scenario, settings, starts)
        async with AsyncExitStack() as stack:
            step(f"{scenario}: start {settings.starts} of {settings.starts}")
            sides = await _start(stack, scenario, settings, starts)
            await _compare(report, step, scenario, sides, starts, settings)
    await _schedule(report, step, settings)


async def _start(
    stack: AsyncExitStack, scenario: str, settings: _Settings, starts: tuple[list[Started], list[Started]]
) -> list[asyncio.subprocess.Process]:
    """Start the cluster without and with patches, one after the other."""
    sides = []
    for side, known in zip(_SIDES, starts, strict=True):
        child = processes.python("bench.patches.patched", scenario, f"{settings.nodes}", side)
        sides.append(await stack.enter_async_context(child))
        known.append(msgspec.json.decode(await processes.line_of(sides[-1], _SECONDS), type=Started))
    return sides


async def _compare(
    report: Report,
    step: Step,
    scenario: str,
    sides: Sequence[asyncio.subprocess.Process],
    starts: tuple[list[Started], list[Started]],
    settings: _Settings,
) -> None:
    workload, _ = SCENARIOS[scenario](settings.nodes)
    report.errors.extend(f"{scenario}: {fault}" for one in starts[1][:1] for fault in one.faults)
    title = f"{scenario}: pods, ms"
    if scenario == next(iter(SCENARIOS)):
        report.rows.extend(_of_start(starts))
    pods: tuple[list[float], list[float]] = ([], [])
    for number in range(settings.rounds):
        step(f"{scenario}: pods, round {number + 1} of {settings.rounds}")
        turns = list(zip(sides, pods, strict=True))
        for side, known in reversed(turns) if number % 2 else turns:
            known.append(await _ask(side, "pods", float))
    row = _row(title, *pods, MORE_TIME)
    upstream = workload.upstream_ms
    report.rows.append([*row[:-2], f"{upstream:.3g}", ratio(statistics.median(pods[1]), upstream, less_is_better=True)])
    if scenario == next(iter(SCENARIOS)):
        await _change(report, step, sides[1], settings.changes)


def _of_start(starts: tuple[list[Started], list[Started]]) -> list[list[str]]:
    def row(name: str, figure: Callable[[Started], float], target: float | None = None) -> list[str]:
        plain, patched = ([figure(one) for one in side] for side in starts)
        return _row(name, plain, patched, target)

    return [
        row("dgx: MiB", lambda one: one.mebibytes, MORE_MEMORY),
        row("dgx: start, s", lambda one: one.seconds),
        row("dgx: first pods, ms", lambda one: one.first),
    ]


async def _change(report: Report, step: Step, patched: asyncio.subprocess.Process, changes: int) -> None:
    for whom in CHANGES:
        step(f"a patch for {whom} changes")
        await _ask(patched, whom, Change)  # the first one is new, and its selector is compiled
        found = [await _ask(patched, whom, Change) for _ in range(2 * changes)]
        decided = statistics.median(one.decided for one in found)
        all_nodes = statistics.median(one.all_nodes for one in found)
        report.rows.append(_until(f"{whom}: decision, ms", decided))
        report.rows.append([f"{whom}: all nodes, ms", "-", f"{all_nodes:.1f}", "-", "-", "", "-", "-"])


async def _schedule(report: Report, step: Step, settings: _Settings) -> None:
    async with processes.python("bench.patches.scheduling", f"{settings.nodes}") as scheduling:
        for whom in CHANGES:
            step(f"a patch for {whom} changes, and the scheduler decides")
            await _ask(scheduling, whom, float)
            decided = statistics.median([await _ask(scheduling, whom, float) for _ in range(settings.changes)])
            report.rows.append(_until(f"{whom}: scheduler, ms", decided))


def _until(name: str, milliseconds: float) -> list[str]:
    verdict = "met" if milliseconds < IN_FORCE else "missed"
    return [name, "-", f"{milliseconds:.1f}", "-", f"{IN_FORCE:g}", verdict, "-", "-"]


async def _ask(child: asyncio.subprocess.Process, what: str, kind: type[_T]) -> _T:
    assert child.stdin is not None
    child.stdin.write(f"{what}\n".encode())
    await child.stdin.drain()
    return msgspec.json.decode(await processes.line_of(child, _SECONDS), type=kind)


def _undisturbed(rounds: Sequence[float]) -> float:
    return sorted(rounds)[len(rounds) // 10]


def _row(name: str, plain: Sequence[float], patched: Sequence[float], target: float | None = None) -> list[str]:
    without, patched_too = map(_undisturbed, (plain, patched))
    more = 100 * (patched_too / without - 1)
    figures = [f"{one:.3g}" for one in (without, patched_too)]
    aim, verdict = "-", ""
    if target is not None:
        aim, verdict = f"{target:g} %", "met" if more < target else "missed"
    return [name, *figures, f"{more:+.1f} %", aim, verdict, "-", "-"]
