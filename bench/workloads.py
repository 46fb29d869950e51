"""Milliseconds per pod for the recorded workloads of upstream's Go allocator, which must get the same devices again.

Each pod's claims are allocated one after the other, as in the recorded run. Slices and claims are taken in before, and
nodes looked at ahead, as the scheduler does while no pod waits; what that takes is told beside it, in all. All figures
are CPU time on one thread; upstream's is in the recorded file (``upstream.CPUMsPerPod``).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

from bench.recorded import Replay, Workload, files, read, thousand_empty
from bench.report import Report, Step, ratio

TARGETS = {"b-1000-90pct": 10.0, "b-1000-empty": 5.0}  # milliseconds a pod, by how the name begins

_ROUNDS = 3
_COLUMNS = ["workload", "pods", "placed", "slices", "claims", "warm-up", "a pod", "at most", "Kubernetes", "ratio"]
_NOTES = (
    "CPU milliseconds; best of three runs. all-nodes asks every node for every pod, first-fit until one fits.",
    "slices, claims, warm-up: to take in the whole cluster and to look ahead at all of its nodes, before the pods.",
)


def run(step: Step, *, quick: bool = False) -> Report:
    """The best of three runs of each recorded workload; an error for each that places a pod elsewhere."""
    report = Report("Allocator alone: recorded workloads", _COLUMNS, [*_NOTES])
    missed, total = [], 0
    with report.kept():
        for workload in _workloads(quick):
            best = _best(workload, 1 if quick else _ROUNDS, step)
            report.rows.append(_row(workload, best))
            missed += _missed(workload, best)
            report.errors.extend(_differences(workload, best))
            total += len(workload.pods)
    if not report.errors:
        report.notes.append(f"Node and devices of all {total:,} pods are those that upstream chose.")
    targets = ", ".join(f"less than {milliseconds:g} ms for {name}" for name, milliseconds in TARGETS.items())
    outcome = f"missed by {', '.join(missed)}" if missed else "met"
    report.notes.append(f"Target: {targets}, and nothing slower than upstream: {outcome}.")
    return report


def _workloads(quick: bool) -> Iterator[Workload]:
    yield from map(read, files()[: 1 if quick else None])
    if not quick:
        yield from thousand_empty()


def _best(workload: Workload, rounds: int, step: Step) -> Replay:
    runs = []
    for number in range(rounds):
        step(f"{workload.name}, {len(workload.pods)} pods on {len(workload.nodes)} nodes, run {number + 1} of {rounds}")
        gc.collect()  # of the run before
        runs.append(Replay.of(workload))
    return min(runs, key=lambda run: sum(run.pods))


def _row(workload: Workload, replay: Replay) -> list[str]:
    pods, placed = len(workload.pods), sum(one is not None for one in replay.placements)
    ours = _milliseconds(replay)
    before = [f"{1000 * seconds:.0f}" for seconds in (replay.slices, replay.claims, replay.warm_up)]
    speed = ratio(ours, workload.upstream_ms, less_is_better=True)
    most, upstream = 1000 * max(replay.pods), workload.upstream_ms
    return [workload.name, f"{pods}", f"{placed}", *before, f"{ours:.3f}", f"{most:.2f}", f"{upstream:.3f}", speed]


def _milliseconds(replay: Replay) -> float:
    return 1000 * sum(replay.pods) / len(replay.pods)


def _missed(workload: Workload, replay: Replay) -> list[str]:
    """Its name, if it is slower than it should be."""
    targets = [target for name, target in TARGETS.items() if workload.name.startswith(name)]
    return [workload.name] if _milliseconds(replay) >= min([*targets, workload.upstream_ms]) else []


def _differences(workload: Workload, replay: Replay) -> Iterator[str]:
    """One line, with the first pod that went elsewhere."""
    for number, (ours, upstream) in enumerate(zip(replay.placements, workload.placements, strict=True)):
        if ours != upstream:
            yield f"{workload.name}: pod {number} is placed as {ours}, by upstream as {upstream}"
            return
