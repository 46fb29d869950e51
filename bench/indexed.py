"""The index of many DGX nodes in a process of its own, whose memory has hardly anything else in it.

Run as ``python -m bench.indexed NODES PODS``; it prints ``Figures`` as JSON, a line for each state of the cluster.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from bench.recorded import Cluster, Workload, decoded, nearly_full, timed
from drakit_api.kubernetes_objects import Object

_CHANGES = 200  # of slices, in each state
_AT_ONCE = 100  # pods that hold devices while others come and go
_SEED = 1


class Figures(msgspec.Struct):
    """One state: CPU seconds to get there, memory since the start, CPU milliseconds for changes of slices.

    ``collection`` is what a full pass of Python's garbage collector takes, in milliseconds.
    """

    state: str
    slices: int
    devices: int
    in_use: int
    seconds: float
    mebibytes: float
    changes: list[float]
    collection: float


class _Index:
    """A cluster, and the memory that this process had without it."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._random = random.Random(_SEED)
        gc.collect()
        self._before = resident()
        self._cluster = Cluster(workload)

    def states(self, pods: int) -> Iterator[Figures]:
        """Each follows from the one before."""
        cluster = self._cluster
        yield self._state(f"{len(cluster.nodes):,} empty nodes", cluster.put_slices)
        yield self._state("the same, 90 % full", cluster.count_claims)
        yield self._state(f"{pods:,} pods later", partial(self._come_and_go, pods))

    def _state(self, name: str, reach: Callable[[], object]) -> Figures:
        """Everything that there is to know of the nodes is known then: all of them were asked for each kind of pod."""
        seconds = timed(reach)[1] + timed(self._cluster.warm_up)[1]
        for claims in self._workload.pods:
            self._cluster.solution(claims, asks_all=True)
        changes = [self._change() for _ in range(_CHANGES)]
        collection = 1000 * timed(gc.collect)[1]
        mebibytes = (resident() - self._before) / (1 << 20)
        published = list(self._cluster.snapshot.slices.slices())
        in_use = len(self._cluster.allocated.holders)
        return Figures(name, len(published), sum(map(len, published)), in_use, seconds, mebibytes, changes, collection)

    def _change(self) -> float:
        """A device of some slice gets a taint or loses it again; until its node has been looked at."""
        obj = decoded(self._random.choice(self._workload.slices))
        devices = obj["spec"].get("devices") or []
        if devices and self._random.random() < 0.5:
            taint = {"key": "example.com/unhealthy", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}
            self._random.choice(devices)["taints"] = [taint]
        nodes = [node for node in self._cluster.nodes if node.name == obj["spec"]["nodeName"]]
        snapshot, allocated = self._cluster.snapshot, self._cluster.allocated
        gc.disable()  # a full pass in the middle would be all that is seen
        try:
            put = timed(partial(snapshot.put_slice, obj))[1]
            return 1000 * (put + timed(partial(snapshot.warm_up, nodes, allocated))[1])
        finally:
            gc.enable()

    def _come_and_go(self, pods: int) -> None:
        """Those who come take the first node that fits; who goes is left to chance, so no two states are the same."""
        holders: list[list[Object]] = []
        for claims in itertools.islice(itertools.cycle(self._workload.pods), pods):
            if len(holders) >= _AT_ONCE:
                for claim in holders.pop(self._random.randrange(len(holders))):
                    self._cluster.allocated.remove_claim(claim)
            solution = self._cluster.solution(claims, asks_all=False)
            if solution is not None:
                holders.append(self._cluster.take(claims, solution))


def resident() -> int:
    """Bytes of this process that are in memory (second field of proc_pid_statm(5))."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _main(nodes: int, pods: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: who started this ends it
    for figures in _Index(nearly_full(nodes)).states(pods):
        print(msgspec.json.encode(figures).decode(), flush=True)


if __name__ == "__main__":
    _main(*map(int, sys.argv[1:]))
