"""Milliseconds per pod for filling one DGX node with MIG claims, beside what upstream's Go allocator took.

Each pod's claims are allocated one after the other, as in the recorded run; the devices must be the recorded ones.
Both figures are CPU time on one thread; upstream's is in the recorded file (``upstream.CPUMsPerPod``).
"""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from typing import Any

import msgspec

from bench.report import Report, Step, ratio
from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation
from drakit_allocator.nodes import Node
from drakit_allocator.problems import features_of
from drakit_allocator.snapshot import Snapshot

_FILES = Path(__file__).parent.parent / "tests" / "vectors" / "allocator" / "bench"
_ROUNDS = 3

Json = dict[str, Any]


def _fill(cluster: Json) -> tuple[float, list[Json | None]]:
    """CPU seconds for all pods, indexing of the slices included, and where they went."""
    features = features_of(cluster)
    start = time.process_time()
    snapshot = Snapshot(features, slices=cluster["slices"], classes=cluster["classes"])
    allocated = AllocatedState(features)
    nodes = [Node.of(node) for node in cluster["nodes"]]
    placements = [_place(claims, nodes, snapshot, allocated) for claims in cluster["pods"]]
    return time.process_time() - start, placements


def _place(claims: list[Json], nodes: list[Node], snapshot: Snapshot, allocated: AllocatedState) -> Json | None:
    pod = PodAllocation(claims, snapshot, allocated)
    for node in nodes:
        solution = pod.on(node)
        if solution is not None:
            results = solution.results()
            for claim, result in zip(claims, results, strict=True):
                allocated.add_claim({**claim, "status": {"allocation": result}})
            devices = [f"{one['request']}={one['device']}" for r in results for one in r["devices"]["results"]]
            return {"node": node.name, "devices": devices}
    return None


def _row(cluster: Json, rounds: int) -> tuple[list[str], bool]:
    seconds, placements = min((_fill(cluster) for _ in range(rounds)), key=lambda run: run[0])
    recorded = [one if one and one.get("devices") else None for one in cluster["placements"]]
    pods, placed = len(cluster["pods"]), sum(one is not None for one in placements)
    ours, upstream = 1000 * seconds / pods, cluster["upstream"]["CPUMsPerPod"]
    speed = ratio(ours, upstream, less_is_better=True)
    return [cluster["name"], f"{pods}", f"{placed}", f"{ours:.3f}", f"{upstream:.3f}", speed], placements == recorded


def run(step: Step, *, quick: bool = False) -> Report:
    """The best of three runs of each recorded workload; an error for each that places a pod elsewhere."""
    rows, errors = [], []
    for path in sorted(_FILES.glob("bench-a-*.json.gz"))[: 1 if quick else None]:
        cluster = msgspec.json.decode(gzip.decompress(path.read_bytes()))
        step(f"{cluster['name']}, {len(cluster['pods'])} pods")
        row, is_same = _row(cluster, 1 if quick else _ROUNDS)
        rows.append(row)
        if not is_same:
            errors.append(f"{cluster['name']}: placements differ from upstream's")
    columns = ["workload", "pods", "placed", "ms CPU a pod", "Kubernetes", "ratio"]
    return Report("Allocator alone: MIG claims on DGX nodes", columns, rows, errors=errors)
