"""Recorded work of Kubernetes' own allocator, done again by ours: whole clusters, and pods placed one after another.

Policy ``first-fit`` stops at the first node that fits; ``all-nodes`` asks every node, as kube-scheduler does of those
that it considers, and takes the first that fits.
"""

from __future__ import annotations

import functools
import gc
import gzip
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import PodAllocation, Solution
from drakit_allocator.inputs.problems import features_of
from drakit_allocator.nodes import Node
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import Object

VECTORS = Path(__file__).parent.parent / "tests" / "vectors" / "allocator"
# Thousand nodes without claims were measured, but not written down: they are those of two files together.
_NEARLY_FULL, _EMPTY = "bench-b-{}-90pct-firstfit.json.gz", "bench-b-100-empty-{}.json.gz"
_THOUSAND_EMPTY = {"firstfit": 35.0, "allnodes": 617.0}

Encoded = msgspec.Raw  # an object as JSON: a thousand nodes would take a gigabyte as dicts, of which nothing is kept
Placement = Object | None  # the node, and for each device ``request=device``; None for a pod that fits nowhere
T = TypeVar("T")


class _File(msgspec.Struct):
    """What of a file is used. Without nodes and slices of its own it has those of ``base``."""

    name: str
    features: Object
    classes: list[Object]
    pods: list[list[Object]]
    placements: list[Object | None]
    policy: str
    upstream: Object
    base: str = ""
    nodes: list[Object] | None = None
    slices: list[Encoded] | None = None
    allocated: list[Encoded] | None = None


@dataclass(frozen=True)
class Workload:
    """A cluster, pods, and what upstream made of them."""

    name: str
    features: Object
    nodes: Sequence[Object]
    slices: Sequence[Encoded]
    classes: Sequence[Object]
    allocated: Sequence[Encoded]
    pods: Sequence[Sequence[Object]]  # claims of each
    placements: Sequence[Placement]
    asks_all: bool
    upstream_ms: float  # of CPU, a pod


@functools.lru_cache(maxsize=2)  # files with the same base come one after another
def _decoded(path: Path) -> _File:
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=_File)


def files() -> list[Path]:
    """Every recorded workload."""
    return sorted((VECTORS / "bench").glob("*.json.gz"))


def read(path: Path) -> Workload:
    """A recorded workload; its nodes, slices and allocated claims may be those of another file."""
    own = _decoded(path)
    base = _decoded(path.parent / own.base) if own.base else own
    return Workload(
        own.name,
        own.features,
        base.nodes or (),
        base.slices or (),
        own.classes,
        base.allocated or (),
        own.pods,
        [one if one and one.get("devices") else None for one in own.placements],
        own.policy == "all-nodes",
        own.upstream["CPUMsPerPod"],
    )


def nearly_full(nodes: int) -> Workload:
    """The DGX nodes, 90 % full, of which there are a recorded hundred and a thousand."""
    return read(VECTORS / "bench" / _NEARLY_FULL.format(nodes))


def thousand_empty() -> list[Workload]:
    """A thousand nodes with nothing on them: upstream places the pods on them as on the first hundred."""
    full = nearly_full(1000)
    return [
        replace(
            read(VECTORS / "bench" / _EMPTY.format(policy)),
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
        cluster = Cluster(workload)
        slices, claims = cluster.put_slices(), cluster.count_claims()
        _, warm_up = timed(cluster.warm_up)
        gc.collect()
        gc.freeze()  # as the scheduler does when it is ready: a cluster of a thousand nodes is no garbage
        try:
            placed = [timed(functools.partial(cluster.place, claims)) for claims in workload.pods]
        finally:
            gc.unfreeze()
        return Replay(slices, claims, warm_up, [seconds for _, seconds in placed], [one for one, _ in placed])


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the CPU seconds that it takes."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def decoded(encoded: Encoded) -> Object:
    """The object, as it comes from an API server."""
    obj: Object = msgspec.json.decode(encoded)
    return obj


class Cluster:
    """What the allocator knows of a workload."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        features = features_of({"features": workload.features})
        self.snapshot = Snapshot(features, classes=workload.classes)
        self.allocated = AllocatedState(features)
        self.nodes = [Node.of(node) for node in workload.nodes]

    def put_slices(self) -> float:
        """Take in all slices, in so many CPU seconds without decoding."""
        return _timed_each(self.snapshot.put_slice, self.workload.slices)

    def count_claims(self) -> float:
        """Take in what is allocated before the pods come, in so many CPU seconds."""
        return _timed_each(self.allocated.add_claim, self.workload.allocated)

    def warm_up(self) -> None:
        """Look ahead at all nodes."""
        self.snapshot.warm_up(self.nodes, self.allocated)

    def place(self, claims: Sequence[Object]) -> Placement:
        """Allocate the claims of a pod where the policy says."""
        solution = self.solution(claims, asks_all=self.workload.asks_all)
        return None if solution is None else _placement(solution, self.take(claims, solution))

    def solution(self, claims: Sequence[Object], *, asks_all: bool) -> Solution | None:
        """The first one; ``asks_all`` finds out on which other nodes there is one, too."""
        solutions = PodAllocation(claims, self.snapshot, self.allocated).on_each(self.nodes)
        return next(iter(list(solutions)), None) if asks_all else next(solutions, None)

    def take(self, claims: Sequence[Object], solution: Solution) -> list[Object]:
        """The claims as they are stored with that solution, which counts from now on."""
        allocated = [
            {**claim, "status": {"allocation": result}}
            for claim, result in zip(claims, solution.results(), strict=True)
        ]
        for claim in allocated:
            self.allocated.add_claim(claim)
        return allocated


def _timed_each(take_in: Callable[[Object], None], objects: Sequence[Encoded]) -> float:
    return sum(timed(functools.partial(take_in, decoded(one)))[1] for one in objects)


def _placement(solution: Solution, allocated: Sequence[Object]) -> Placement:
    results = (one for claim in allocated for one in claim["status"]["allocation"]["devices"]["results"])
    return {"node": solution.node.name, "devices": [f"{one['request']}={one['device']}" for one in results]}
