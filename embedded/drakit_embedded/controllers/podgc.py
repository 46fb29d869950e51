"""Pods that no kubelet will ever remove: of deleted nodes, of nodes declared dead, deleted before scheduling, too many.

Follows k8s.io/kubernetes/pkg/controller/podgc/gc_controller.go.
"""

from __future__ import annotations

import asyncio
import logging
import time

from drakit_api.core import conditions
from drakit_api.core.pod_claims import is_terminal
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_client.errors import REQUEST_FAILURES, NotFound
from drakit_client.resources import NODES, PODS
from drakit_embedded.controllers.informers import Informers

log = logging.getLogger(__name__)

_OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class PodGarbageCollector:
    """Looks at all pods every ``period`` seconds.

    A node must have been away for ``quarantine`` seconds before its pods go; the newest ``terminated_threshold``
    finished pods are kept, all if it is 0 (kube-controller-manager: 20 s, 40 s, 12500).
    """

    def __init__(
        self,
        informers: Informers,
        *,
        period: float = 20.0,
        quarantine: float = 40.0,
        terminated_threshold: int = 12500,
    ) -> None:
        self._connection = informers.connection
        self._pods = informers.reflector(PODS)
        self._nodes = informers.reflector(NODES)
        self._period = period
        self._quarantine = quarantine
        self._threshold = terminated_threshold
        self._missing_since: dict[str, float] = {}

    async def run(self) -> None:
        """Collect until cancelled; the reflectors must be synced."""
        while True:
            try:
                await self._collect()
            except REQUEST_FAILURES as error:
                log.info("pod garbage collection: %s; again in %.0f s", error, self._period)
            await asyncio.sleep(self._period)

    async def _collect(self) -> None:
        pods = list(self._pods.store.values())
        finished = sorted((pod for pod in pods if is_terminal(pod)), key=_by_creation)
        if self._threshold > 0:
            for pod in finished[: max(0, len(finished) - self._threshold)]:
                await self._remove(pod)
        gone = await self._deleted_nodes(pods)
        for pod in pods:
            node_name = pod["spec"].get("nodeName")
            deleting = pod["metadata"].get("deletionTimestamp")
            if node_name in gone:
                await self._remove(pod, "PodGC: node no longer exists")
            elif deleting and (not node_name or self._is_out_of_service(node_name)):
                await self._remove(pod)

    async def _deleted_nodes(self, pods: list[Object]) -> set[str]:
        """Find nodes of pods that have been missing for long enough, and ask the server for them once more."""
        names = {pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}
        now = time.monotonic()
        missing = {name for name in names if self._nodes.get(name) is None}
        self._missing_since = {name: self._missing_since.get(name, now) for name in missing}
        gone = set()
        for name, since in self._missing_since.items():
            if now - since >= self._quarantine and not await self._node_exists(name):
                gone.add(name)
        return gone

    async def _node_exists(self, name: str) -> bool:
        try:
            await self._connection.get(NODES, name)
        except NotFound:
            return False
        return True

    def _is_out_of_service(self, name: str) -> bool:
        node = self._nodes.get(name)
        if node is None or conditions.is_true(node, "Ready"):
            return False
        return any(taint["key"] == _OUT_OF_SERVICE for taint in node["spec"].get("taints") or ())

    async def _remove(self, pod: Object, disruption: str | None = None) -> None:
        metadata: ObjectMeta = pod["metadata"]
        try:
            if not is_terminal(pod):
                status: Object = {"phase": "Failed"}
                if disruption is not None:
                    condition = {
                        "type": "DisruptionTarget",
                        "status": "True",
                        "reason": "DeletionByPodGC",
                        "message": disruption,
                    }
                    status["conditions"] = conditions.with_condition(pod.get("status", {}).get("conditions"), condition)
                patch = {"metadata": {"uid": metadata["uid"]}, "status": status}
                await self._connection.patch(PODS, metadata["name"], patch, metadata["namespace"], subresource="status")
            await self._connection.delete(
                PODS, metadata["name"], metadata["namespace"], uid=metadata["uid"], grace_period_seconds=0
            )
        except NotFound:
            return


def _by_creation(pod: Object) -> str:
    return str(pod["metadata"].get("creationTimestamp", ""))
