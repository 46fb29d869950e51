"""A recorded cluster with or without ResourceSlicePatches, in a process of its own; it measures what it is told to.

Run as ``python -m bench.patches.patched SCENARIO NODES SIDE``; it prints ``Started`` as JSON, and for each line that
it reads, what that names: for ``pods`` CPU milliseconds a pod, for one of ``CHANGES`` a ``Change``.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from bench.indexed import resident
from bench.patches import mix
from bench.patches.figures import Change, Started
from bench.recorded import Cluster, Workload, timed
from drakit_allocator.allocator import Solution
from drakit_allocator.results.answers import Answers
from drakit_api.kubernetes_objects import Object


class _Patched:
    """The cluster, which stays as it is: pods that are placed go again."""

    def __init__(self, workload: Workload, patches: Sequence[Object]) -> None:
        self._workload = workload
        gc.collect()
        self._before = resident()
        self._cluster = Cluster(workload)
        self._patches = patches
        self._changing, self._is_reserved = "", False

    def start(self) -> Started:
        """Take everything in."""
        snapshot = self._cluster.snapshot
        seconds = sum(timed(partial(snapshot.put_patch, one))[1] for one in self._patches)
        seconds += self._cluster.put_slices()
        self._cluster.count_claims()
        seconds += timed(self._cluster.warm_up)[1]
        first = self.pods()
        for claims in self._workload.pods:
            self._cluster.solution(claims, asks_all=True)
        gc.collect()
        mebibytes = (resident() - self._before) / (1 << 20)
        gc.freeze()
        return Started(seconds, first, mebibytes, [one.text for one in snapshot.overlay.faults])

    def pods(self) -> float:
        """CPU milliseconds a pod. Answers of earlier searches are forgotten, as for pods of another kind."""
        self._cluster.snapshot.answers = Answers()
        placed, seconds = timed(lambda: list(self._placed()))
        for solution, allocated, wanted in placed:
            if wanted is None or solution.node.name != wanted["node"]:
                raise RuntimeError(f"a pod is placed on {solution.node.name}, without patches as {wanted}")
            for claim in allocated:
                self._cluster.allocated.remove_claim(claim)
        return 1000 * seconds / len(placed)

    def _placed(self) -> Iterator[tuple[Solution, list[Object], Object | None]]:
        for claims, wanted in zip(self._workload.pods, self._workload.placements, strict=True):
            solution = self._cluster.solution(claims, asks_all=self._workload.asks_all)
            if solution is None:
                raise RuntimeError(f"a pod fits nowhere, without patches as {wanted}")
            yield solution, self._cluster.take(claims, solution), wanted

    def change(self, whom: str) -> Change:
        """Reserve devices or give them back; then the next pod asks for a reserved one."""
        (claim,) = self._workload.pods[0]
        place = self._workload.placements[0]
        assert place is not None
        if whom != self._changing:
            self._cluster.snapshot.remove_patch(mix.CHANGING)
            self._cluster.warm_up()
            self._changing, self._is_reserved = whom, False
        self._is_reserved = not self._is_reserved
        patch = mix.reserving(mix.filter_of(whom, place), is_reserved=self._is_reserved)
        wanting = mix.asking_for_reserved(claim)
        gc.disable()  # a full pass in the middle would be all that is seen
        put = timed(partial(self._cluster.snapshot.put_patch, patch))[1]
        solution, decided = timed(partial(self._cluster.solution, [wanting], asks_all=False))
        looked = timed(self._cluster.warm_up)[1]
        gc.enable()
        if (solution is not None) != self._is_reserved:
            raise RuntimeError(f"a decision was made without the patch for {whom}")
        return Change(1000 * (put + decided), 1000 * (put + decided + looked))


def _main(scenario: str, nodes: int, with_patches: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: who started this ends it
    workload, patches = mix.SCENARIOS[scenario](nodes)
    patched = _Patched(workload, patches if with_patches else [])
    print(msgspec.json.encode(patched.start()).decode(), flush=True)
    for line in sys.stdin:
        what = line.strip()
        found = patched.pods() if what == "pods" else patched.change(what)
        print(msgspec.json.encode(found).decode(), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "patched")
