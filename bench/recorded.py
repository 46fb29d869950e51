"""Recorded work of Kubernetes' own allocator, done again by ours: whole clusters, and pods placed one after another.

Policy ``first-fit`` stops at the first node that fits; ``all-nodes`` asks every node, as kube-scheduler does of those
that it considers, and takes the first that fits.
"""

from __future__ import annotations

import functools
import gzip
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation, Solution
from drakit_allocator.nodes import Node
from drakit_allocator.problems import features_of
from drakit_allocator.snapshot import Snapshot

VECTORS = Path(__file__).parent.parent / "tests" / "vectors" / "allocator"
# Thousand nodes without claims were measured, but not written down: they are those of these two files together.
_THOUSAND, _HUNDRED = "bench-b-1000-90pct-firstfit.json.gz", "bench-b-100-empty-{}.json.gz"
_THOUSAND_EMPTY = {"firstfit": 35.0, "allnodes": 617.0}

Json = dict[str, Any]
Placement = Json | None  # the node, and for each device ``request=device``; None for a pod that fits nowhere
T = TypeVar("T")


@dataclass(frozen=True)
class Workload:
    """A cluster, pods, and what upstream made of them."""

    name: str
    features: Json
    nodes: Sequence[Json]
    slices: Sequence[Json]
    classes: Sequence[Json]
    allocated: Sequence[Json]
    pods: Sequence[Sequence[Json]]  # claims of each
    placements: Sequence[Placement]
    asks_all: bool
    upstream_ms: float  # of CPU, a pod


@functools.lru_cache(maxsize=2)  # files with the same base come one after another
def _decoded(path: Path) -> Json:
    content: Json = msgspec.json.decode(gzip.decompress(path.read_bytes()))
    return content


def files() -> list[Path]:
    """Every recorded workload."""
    return sorted((VECTORS / "bench").glob("*.json.gz"))


def read(path: Path) -> Workload:
    """A recorded workload; its nodes, slices and allocated claims may be those of another file."""
    own = _decoded(path)
    base = _decoded(path.parent / own["base"]) if own.get("base") else own
    return Workload(
        own["name"],
        own["features"],
        base["nodes"],
        base["slices"],
        own["classes"],
        base.get("allocated") or (),
        own["pods"],
        [one if one and one.get("devices") else None for one in own["placements"]],
        own["policy"] == "all-nodes",
        own["upstream"]["CPUMsPerPod"],
    )


def thousand_empty() -> list[Workload]:
    """A thousand nodes with nothing on them: upstream places the pods on them as on the first hundred."""
    full = read(VECTORS / "bench" / _THOUSAND)
    return [
        replace(
            read(VECTORS / "bench" / _HUNDRED.format(policy)),
            name=f"b-1000-empty-{policy}",
            nodes=full.nodes,
            slices=full.slices,
            upstream_ms=milliseconds,
        )
        for policy, milliseconds in _THOUSAND_EMPTY.items()
    ]


@dataclass(frozen=True)
class Replay:
    """CPU seconds of each step, and where the pods went."""

    slices: float  # to take them in
    claims: float  # to count the allocated ones
    warm_up: float  # to look ahead at all nodes, as the scheduler does while nobody waits
    pods: Sequence[float]
    placements: Sequence[Placement]

    @staticmethod
    def of(workload: Workload) -> Replay:
        """Do it once."""
        cluster, slices = timed(lambda: Cluster(workload))
        _, claims = timed(cluster.count_claims)
        _, warm_up = timed(cluster.warm_up)
        placed = [timed(functools.partial(cluster.place, claims)) for claims in workload.pods]
        return Replay(slices, claims, warm_up, [seconds for _, seconds in placed], [one for one, _ in placed])


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the CPU seconds that it takes."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


class Cluster:
    """What the allocator knows of a workload."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        features = features_of({"features": workload.features})
        self.snapshot = Snapshot(features, slices=workload.slices, classes=workload.classes)
        self.allocated = AllocatedState(features)
        self.nodes = [Node.of(node) for node in workload.nodes]

    def count_claims(self) -> None:
        """Take in what is allocated before the pods come."""
        for claim in self.workload.allocated:
            self.allocated.add_claim(claim)

    def warm_up(self) -> None:
        """Look ahead at all nodes."""
        self.snapshot.warm_up(self.nodes, self.allocated)

    def place(self, claims: Sequence[Json]) -> Placement:
        """Allocate the claims of a pod where the policy says."""
        solutions = PodAllocation(claims, self.snapshot, self.allocated).on_each(self.nodes)
        solution: Solution | None
        if self.workload.asks_all:
            everywhere = list(solutions)
            solution = everywhere[0] if everywhere else None
        else:
            solution = next(solutions, None)
        return None if solution is None else self._taken(claims, solution)

    def _taken(self, claims: Sequence[Json], solution: Solution) -> Placement:
        results = solution.results()
        for claim, result in zip(claims, results, strict=True):
            self.allocated.add_claim({**claim, "status": {"allocation": result}})
        devices = [f"{one['request']}={one['device']}" for r in results for one in r["devices"]["results"]]
        return {"node": solution.node.name, "devices": devices}
