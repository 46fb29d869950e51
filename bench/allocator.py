"""Milliseconds per pod for filling one DGX node with MIG claims, beside what upstream's Go allocator took.

Each pod's claims are allocated one after the other, as in the recorded run; the devices must be the recorded ones.
Run with ``python bench/allocator.py``. Both figures are CPU time on one thread; upstream's is the recorded one.
"""

from __future__ import annotations

import gzip
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

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


def _row(cluster: Json) -> tuple[str, bool]:
    seconds, placements = min((_fill(cluster) for _ in range(_ROUNDS)), key=lambda run: run[0])
    recorded = [one if one and one.get("devices") else None for one in cluster["placements"]]
    pods, placed = len(cluster["pods"]), sum(one is not None for one in placements)
    ours, upstream = 1000 * seconds / pods, cluster["upstream"]["CPUMsPerPod"]
    verdict = "as recorded" if placements == recorded else "DIFFERENT"
    figures = f"{pods:5} {placed:7} {ours:12.3f} {upstream:16.3f} {upstream / ours:6.1f}"
    return f"{cluster['name']:24} {figures}  {verdict}", placements == recorded


def main() -> int:
    """Print the table; 1 if a placement differs from the recorded one."""
    columns = f"{'pods':>5} {'placed':>7} {'ours ms/pod':>12} {'upstream ms/pod':>16} {'ratio':>6}"
    print(f"{'workload':24} {columns}  placements")
    is_right = True
    for path in sorted(_FILES.glob("bench-a-*.json.gz")):
        row, is_same = _row(msgspec.json.decode(gzip.decompress(path.read_bytes())))
        is_right = is_right and is_same
        print(row)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
