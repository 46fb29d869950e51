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

_ROUNDS = 3
_COLUMNS = ["workload", "pods", "placed", "slices", "claims", "warm-up", "a pod", "at most", "Kubernetes", "ratio"]
_NOTES = [
    "CPU milliseconds; best of three runs. all-nodes asks every node for every pod, first-fit until one fits.",
    "slices, claims, warm-up: to take in the whole cluster and to look ahead at all of its nodes, before the pods.",
]


def run(step: Step, *, quick: bool = False) -> Report:
    """The best of three runs of each recorded workload; an error for each that places a pod elsewhere."""
    rows, errors = [], []
    for workload in _workloads(quick):
        step(f"{workload.name}, {len(workload.pods)} pods on {len(workload.nodes)} nodes")
        best = _best(workload, 1 if quick else _ROUNDS)
        rows.append(_row(workload, best))
        if best.placements != workload.placements:
            errors.append(f"{workload.name}: placements differ from upstream's")
    return Report("Allocator alone: recorded workloads", _COLUMNS, rows, notes=_NOTES, errors=errors)


def _workloads(quick: bool) -> Iterator[Workload]:
    """One after the other, as the larger ones take a gigabyte."""
    yield from map(read, files()[: 1 if quick else None])
    if not quick:
        yield from thousand_empty()


def _best(workload: Workload, rounds: int) -> Replay:
    runs = []
    for _ in range(rounds):
        gc.collect()  # of the run before
        runs.append(Replay.of(workload))
    return min(runs, key=lambda run: sum(run.pods))


def _row(workload: Workload, replay: Replay) -> list[str]:
    pods, placed = len(workload.pods), sum(one is not None for one in replay.placements)
    ours = 1000 * sum(replay.pods) / pods
    before = [f"{1000 * seconds:.0f}" for seconds in (replay.slices, replay.claims, replay.warm_up)]
    speed = ratio(ours, workload.upstream_ms, less_is_better=True)
    most, upstream = 1000 * max(replay.pods), workload.upstream_ms
    return [workload.name, f"{pods}", f"{placed}", *before, f"{ours:.3f}", f"{most:.2f}", f"{upstream:.3f}", speed]
