"""The scheduler's own state on a cluster with patches, in a process of its own: how soon it decides by a changed patch.

It knows more than the allocator that ``patched`` measures: a queue, which nodes are suspect, why a pod waits. Run as
``python -m bench.patches.scheduling NODES``; for each line that it reads, which is one of ``CHANGES``, it prints the
CPU milliseconds from a patch that reserves devices until a pod has one of them, as JSON.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import signal
import sys
from typing import cast

import msgspec

from bench.patches import mix
from bench.recorded import decoded, timed
from drakit_allocator.scheduler.diagnosis import Unschedulable
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.scheduler.pace import Pace
from drakit_allocator.scheduler.queue import DEFAULT_BACKOFF
from drakit_allocator.scheduler.state import State
from drakit_api.features import PATCHES_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ResourceClaim

_SECONDS = 10.0  # for the devices of one node, as with kube-scheduler


class _Scheduling:
    """A scheduler without an API server: it is told what reflectors would tell it, and decides where a pod goes."""

    def __init__(self, nodes: int) -> None:
        workload, patches = mix.SCENARIOS["dgx"](nodes)
        self._state = state = State("bench", FeatureGates(overrides={PATCHES_GATE: True}), DEFAULT_BACKOFF, _SECONDS)
        for node in workload.nodes:
            state.on_node(None, {**node, "status": {"allocatable": {"pods": "110"}}})
        for device_class in workload.classes:
            state.on_class(None, device_class)
        for patch in patches:
            state.on_patch(None, patch)
        for encoded in workload.slices:
            state.on_slice(None, decoded(encoded))
        for encoded in workload.allocated:
            state.searches.allocated(cast("ResourceClaim", decoded(encoded)))
        (claim,) = workload.pods[0]
        self._place = workload.placements[0] or {}
        named = {"name": "wanting", "namespace": "default", "uid": "wanting"}
        state.on_claim(None, cast("ResourceClaim", {**mix.asking_for_reserved(claim), "metadata": named}))
        spec = {"resourceClaims": [{"name": "devices", "resourceClaimName": "wanting"}], "containers": [{"name": "c"}]}
        self._pod = PodInfo({"metadata": named, "spec": spec, "status": {}})
        self._patch: Object | None = None
        self._settle()

    def _settle(self) -> None:
        while self._state.look_ahead() or self._state.searches.warm_up(self._state.cluster):
            pass
        gc.collect()
        gc.freeze()

    def change(self, whom: str) -> float:
        """Take back what is reserved; then reserve devices, and find one for a pod that waits for it."""
        free, reserved = (mix.reserving(mix.filter_of(whom, self._place), is_reserved=one) for one in (False, True))
        if self._decides(self._patch, free):
            raise RuntimeError("a pod gets a reserved device, and there is none")
        self._settle()
        gc.disable()  # a full pass in the middle would be all that is seen
        is_placed, seconds = timed(functools.partial(self._decides, free, reserved))
        gc.enable()
        if not is_placed:
            raise RuntimeError(f"a decision was made without the patch for {whom}")
        self._patch = reserved
        return 1000 * seconds

    def _decides(self, old: Object | None, new: Object) -> bool:
        """Change the patch; tell whether the pod has a device then."""
        self._state.on_patch(old, new)
        try:
            asyncio.run(self._state.cycle.decide(self._pod, Pace()))
        except Unschedulable:
            return False
        return True


def _main(nodes: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: who started this ends it
    scheduling = _Scheduling(nodes)
    for line in sys.stdin:
        print(msgspec.json.encode(scheduling.change(line.strip())).decode(), flush=True)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
