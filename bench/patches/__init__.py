"""What a hundred ResourceSlicePatches cost on 208,000 devices, and how soon one that changes is in force.

The same cluster is measured with and without patches, in processes of their own that work in turns, so that whatever
else the machine does hits both; several times, as two processes of the same program are not equally fast. Pods go
where upstream puts them without patches, or the benchmark fails. Kubernetes has no such patches: its figures are those
of its allocator without any.
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
    "CPU time that the fastest tenth of the rounds took at most: what others take longer is the machine's other work.",
    "without, with, more: the median of five pairs of processes.",
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


class _Pair(NamedTuple):
    """Two processes, without and with patches: what they told when they had started, and milliseconds a pod."""

    started: list[Started]
    pods: list[float]


_FULL = _Settings(nodes=1000, starts=5, rounds=60, changes=20)
_QUICK = _Settings(nodes=100, starts=1, rounds=1, changes=1)


def run(step: Step, *, quick: bool = False) -> Report:
    """DGX nodes of which nine of ten are full, then the nodes of seed 002's scheduler_perf scenario."""
    report = Report("A hundred ResourceSlicePatches", _COLUMNS, [*_NOTES])
    with report.kept():
        run_until_told(_measure(report, step, _QUICK if quick else _FULL))
    return report


async def _measure(report: Report, step: Step, settings: _Settings) -> None:
    for scenario in SCENARIOS:
        pairs: list[_Pair] = []
        for number in range(settings.starts):
            step(f"{scenario}: start {number + 1} of {settings.starts}")
            async with AsyncExitStack() as stack:
                sides, started = await _start(stack, scenario, settings)
                pairs.append(_Pair(started, await _pods(step, scenario, sides, settings.rounds)))
                if number + 1 == settings.starts:
                    await _compare(report, step, scenario, sides[1], pairs, settings)
    await _schedule(report, step, settings)


async def _start(
    stack: AsyncExitStack, scenario: str, settings: _Settings
) -> tuple[list[asyncio.subprocess.Process], list[Started]]:
    """Start the cluster without and with patches, one after the other."""
    sides, started = [], []
    for side in _SIDES:
        child = processes.python("bench.patches.patched", scenario, f"{settings.nodes}", side)
        sides.append(await stack.enter_async_context(child))
        started.append(msgspec.json.decode(await processes.line_of(sides[-1], _SECONDS), type=Started))
    return sides, started


async def _pods(step: Step, scenario: str, sides: Sequence[asyncio.subprocess.Process], rounds: int) -> list[float]:
    """Let both sides place the pods by turns; return what a pod takes on each."""
    pods: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        step(f"{scenario}: pods, round {number + 1} of {rounds}")
        turns = list(zip(sides, pods, strict=True))
        for side, known in reversed(turns) if number % 2 else turns:
            known.append(await _ask(side, "pods", float))
    return [*map(_undisturbed, pods)]


async def _compare(
    report: Report,
    step: Step,
    scenario: str,
    patched: asyncio.subprocess.Process,
    pairs: Sequence[_Pair],
    settings: _Settings,
) -> None:
    workload, _ = SCENARIOS[scenario](settings.nodes)
    is_first = scenario == next(iter(SCENARIOS))
    started = [one.started for one in pairs]
    report.errors.extend(f"{scenario}: {fault}" for fault in started[0][1].faults)
    if is_first:
        report.rows.extend(_of_start(started))
    row = _row(f"{scenario}: pods, ms", [one.pods for one in pairs], MORE_TIME)
    upstream = workload.upstream_ms
    report.rows.append([*row[:-2], f"{upstream:.3g}", ratio(float(row[2]), upstream, less_is_better=True)])
    if is_first:
        await _change(report, step, patched, settings.changes)


def _of_start(pairs: Sequence[Sequence[Started]]) -> list[list[str]]:
    def row(name: str, figure: Callable[[Started], float], target: float | None = None) -> list[str]:
        return _row(name, [[*map(figure, pair)] for pair in pairs], target)

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
        decided = _slower_way([one.decided for one in found])
        all_nodes = _slower_way([one.all_nodes for one in found])
        report.rows.append(_until(f"{whom}: decision, ms", decided))
        report.rows.append([f"{whom}: all nodes, ms", "-", f"{all_nodes:.1f}", "-", "-", "", "-", "-"])


async def _schedule(report: Report, step: Step, settings: _Settings) -> None:
    async with processes.python("bench.patches.scheduling", f"{settings.nodes}") as scheduling:
        for whom in CHANGES:
            step(f"a patch for {whom} changes, and the scheduler decides")
            await _ask(scheduling, whom, float)
            decided = _undisturbed([await _ask(scheduling, whom, float) for _ in range(settings.changes)])
            report.rows.append(_until(f"{whom}: scheduler, ms", decided))


def _until(name: str, milliseconds: float) -> list[str]:
    verdict = "met" if milliseconds < IN_FORCE else "missed"
    return [name, "-", f"{milliseconds:.1f}", "-", f"{IN_FORCE:g}", verdict, "-", "-"]


async def _ask(child: asyncio.subprocess.Process, what: str, kind: type[_T]) -> _T:
    assert child.stdin is not None
    child.stdin.write(f"{what}\n".encode())
    await child.stdin.drain()
    return msgspec.json.decode(await processes.line_of(child, _SECONDS), type=kind)


def _slower_way(changes: Sequence[float]) -> float:
    """Devices are reserved and given back by turns, which are not the same work."""
    return max(_undisturbed(changes[way::2]) for way in (0, 1))


def _undisturbed(rounds: Sequence[float]) -> float:
    return sorted(rounds)[len(rounds) // 10]


def _row(name: str, pairs: Sequence[Sequence[float]], target: float | None = None) -> list[str]:
    figures = [f"{statistics.median(side):.3g}" for side in zip(*pairs, strict=True)]
    more = 100 * (statistics.median(patched / plain for plain, patched in pairs) - 1)
    aim, verdict = "-", ""
    if target is not None:
        aim, verdict = f"{target:g} %", "met" if more < target else "missed"
    return [name, *figures, f"{more:+.1f} %", aim, verdict, "-", "-"]
