"""What users see of the scheduler: events, and the PodScheduled condition of pods that wait.

Written in the background and never in the way of scheduling. A condition is only written when it changes, and the last
word always wins: while one patch of a pod is on its way, newer ones wait for it.

Source: kubernetes ``pkg/scheduler/schedule_one.go`` (handleSchedulingFailure, updatePod).
"""

from __future__ import annotations

import asyncio
import logging
import time

from drakit_allocator.explanation.phrases import effect_text
from drakit_allocator.explanation.report import DefectEffect
from drakit_allocator.scheduler.diagnosis import MESSAGE_BYTES, cut
from drakit_allocator.scheduler.leadership import fence
from drakit_allocator.scheduler.leadership.fence import Gap
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.scheduler.queue import Entry
from drakit_api.core.conditions import find
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_api.slice_patches.patch import PatchFault, fault_text
from drakit_api.typed_objects import ObjectMeta
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES
from drakit_client.events import EventRecorder
from drakit_client.resources import PODS, RESOURCE_CLAIMS

log = logging.getLogger(__name__)

UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"
# An unchanged verdict is repeated as an event at most this often (seconds).
_REPEAT = 10.0
# Bytes of a selector that an event has room for, however long the error is.
_LEAST_OF_EXPRESSION = 100


class Reports:
    """Tells users about pods."""

    def __init__(self, connection: Connection, component: str) -> None:
        self._connection = connection
        self.events = EventRecorder(connection, component, combines=False)
        self._wanted: dict[str, tuple[PodInfo, Object]] = {}
        self._writers: dict[str, asyncio.Task[None]] = {}

    def scheduled(self, pod: PodInfo, node: str) -> None:
        """Report that the pod is bound."""
        message = f"Successfully assigned {pod} to {node}"
        self.events.event(_reference(pod), "Normal", "Scheduled", message)

    def avoided_defect(self, pod: PodInfo, effect: DefectEffect) -> None:
        """Report that the pod has what Kubernetes would not have given to it on this node."""
        message = f"on {effect.node}: {effect_text(effect)}"
        log.info("pod %s: defect of Kubernetes avoided %s", pod, message)
        self.events.event(_reference(pod), "Normal", "UpstreamDefectAvoided", cut(message))

    def waiting_for_devices(self, pod: PodInfo, node: str) -> None:
        """Report that the pod's devices have binding conditions that do not hold yet."""
        message = f"waiting for binding conditions for device on node {node}"
        self.events.event(_reference(pod), "Normal", "BindingConditionsPending", message)

    def failed(self, entry: Entry, reason: str, message: str) -> None:
        """Report that the pod could not be scheduled; an unchanged message is no new event for some seconds."""
        now = time.monotonic()
        if message != entry.told or now - entry.told_at >= _REPEAT:
            entry.told, entry.told_at = message, now
            self.events.event(_reference(entry.pod), "Warning", "FailedScheduling", message)
        self._set_condition(entry.pod, reason, message)

    def patch_fault(self, fault: PatchFault) -> None:
        """Report why a patch does not apply to a device: of each generation every cause once, with the first device."""
        log.info("patch %s %s", fault.patch.name, fault.text)
        cause = f"{fault.patch.obj['metadata'].get('generation')}: {fault.expression}: {fault.error}"
        self.events.once({**fault.patch.obj}, "Warning", "FaultyPatch", fault_message(fault), about=cause)

    def unfenced(self, gap: Gap) -> None:
        """Report an object that cannot be changed, so that late writes of a silent scheduler may still reach it."""
        target = {**gap.obj, "kind": gap.kind, "apiVersion": "v1" if gap.kind == "Pod" else RESOURCE_CLAIMS.api_version}
        self.events.event(target, "Warning", "FencingFailed", cut(fence.objection_to(gap)))

    async def flush(self) -> None:
        """Wait until everything is written or dropped."""
        await asyncio.gather(*self._writers.values(), return_exceptions=True)
        await self.events.flush()

    def _set_condition(self, pod: PodInfo, reason: str, message: str) -> None:
        current = find((pod.obj.get("status") or {}).get("conditions"), "PodScheduled")
        if current is not None and (current.get("status"), current.get("reason"), current.get("message")) == (
            "False",
            reason,
            message,
        ):
            return
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        # The transition time stays while the status does.
        changed = current is None or current.get("status") != "False"
        condition["lastTransitionTime"] = gotime.now() if changed or current is None else current["lastTransitionTime"]
        self._wanted[pod.uid] = pod, condition
        if pod.uid not in self._writers:
            self._writers[pod.uid] = asyncio.get_running_loop().create_task(self._write_conditions(pod.uid))

    async def _write_conditions(self, uid: str) -> None:
        try:
            while (wanted := self._wanted.pop(uid, None)) is not None:
                pod, condition = wanted
                body = {"metadata": {"uid": uid}, "status": {"conditions": [condition]}}
                await self._connection.patch(
                    PODS, pod.name, body, pod.namespace, patch_type="strategic-merge", subresource="status"
                )
        except REQUEST_FAILURES as error:
            # Most often the pod was deleted; otherwise the next attempt writes it again.
            log.debug("condition of pod %s not written: %s", uid, error)
        finally:
            del self._writers[uid]


def fault_message(fault: PatchFault) -> str:
    """Say why a patch does not apply; the end of a long expression is left out rather than the error behind it."""
    spare = MESSAGE_BYTES - len(fault_text(fault.device, " ", fault.error).encode())
    return cut(fault_text(fault.device, cut(fault.expression, max(spare, _LEAST_OF_EXPRESSION)), fault.error))


def _reference(pod: PodInfo) -> Object:
    metadata: ObjectMeta = pod.obj["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": pod.namespace,
        "name": pod.name,
        "uid": pod.uid,
        "resourceVersion": metadata.get("resourceVersion", ""),
    }
