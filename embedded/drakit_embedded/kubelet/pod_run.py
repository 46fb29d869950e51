"""One pod on its node: its containers and the status that follows from them.

Pure state and computation, without a connection; ``kubelet`` acts on it. The rules are those of
k8s.io/kubernetes/pkg/kubelet (kubelet_pods.go: getPhase, generateAPIPodStatus; status/generate.go).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from drakit_api.core import conditions
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_embedded.kubelet.containers import Container, rfc3339

NODE_IP = "127.0.0.1"


@dataclass(slots=True)
class PodRun:
    """What the kubelet knows about one pod. ``pod`` is the object as last seen, also after it was deleted."""

    pod: Object
    ip: str = ""
    start_time: str = ""
    # Whether claims are prepared, so that containers can run.
    sandbox: bool = False
    containers: dict[str, Container] = field(default_factory=dict)
    # Why a container is waiting: (reason, message).
    waiting: dict[str, tuple[str, str]] = field(default_factory=dict)
    preparing: asyncio.Task[None] | None = None
    # Whether all containers have stopped for good; claims may still be prepared.
    stopped: bool = False
    # Whether all containers have stopped for good and all claims are unprepared.
    finished: bool = False
    gone: bool = False
    allocated: dict[str, list[Object]] = field(default_factory=dict)
    sent: Object | None = None

    @property
    def uid(self) -> str:
        """uid of the pod."""
        uid: str = self.pod["metadata"]["uid"]
        return uid

    @property
    def deleting(self) -> bool:
        """Whether the pod has to end."""
        return self.gone or "deletionTimestamp" in self.pod["metadata"]

    @property
    def restart_policy(self) -> str:
        """Always, OnFailure or Never."""
        policy: str = self.pod["spec"].get("restartPolicy", "Always")
        return policy

    def will_restart(self, container: Container) -> bool:
        """Check whether the policy starts an ended container again."""
        if self.deleting or self.restart_policy == "Never":
            return False
        return self.restart_policy == "Always" or container.code != 0

    def has_ended(self) -> bool:
        """Check whether every container has ended and none starts again."""
        names = [spec["name"] for spec in self.pod["spec"]["containers"]]
        runs = [self.containers[name] for name in names if name in self.containers]
        return len(runs) == len(names) and not any(run.running or self.will_restart(run) for run in runs)

    def stop(self) -> None:
        """Stop all containers: simulated ones end at once on SIGTERM, with exit code 0."""
        now = datetime.now(UTC)
        self.stopped = True
        for container in self.containers.values():
            if container.running:
                container.finish(0, now)

    def phase(self) -> str:
        """Compute the phase: Pending, Running, Succeeded or Failed."""
        if not self.containers:
            return "Pending"
        if self.waiting and not any(run.restarts or run.running for run in self.containers.values()):
            return "Pending"
        if not self.has_ended():
            return "Running"
        if not self.finished:
            return "Running"  # A pod is not finished as long as it has its claims.
        return "Failed" if any(run.code for run in self.containers.values()) else "Succeeded"

    def status(self) -> Object:
        """Build the pod's status for the API server; conditions that others set are not touched."""
        phase = self.phase()
        regular = [self._container_status(spec) for spec in self.pod["spec"]["containers"]]
        status: Object = {
            "phase": phase,
            "hostIP": NODE_IP,
            "hostIPs": [{"ip": NODE_IP}],
            "startTime": self.start_time,
            "conditions": self._conditions(phase, all(entry["ready"] for entry in regular)),
            "containerStatuses": regular,
        }
        if generation := self.pod["metadata"].get("generation"):
            status["observedGeneration"] = generation
        if self.ip:
            status |= {"podIP": self.ip, "podIPs": [{"ip": self.ip}]}
        if init := self.pod["spec"].get("initContainers"):
            status["initContainerStatuses"] = [self._init_status(spec) for spec in init]
        return status

    def _conditions(self, phase: str, ready: bool) -> list[Object]:
        done = phase in ("Succeeded", "Failed")
        running = ready and not done
        completed = {"reason": "PodCompleted"} if phase == "Succeeded" else {}
        failed = {"reason": "PodFailed"} if phase == "Failed" else {}
        unready = {} if running else (completed or failed or self._unready())
        wanted: list[Object] = [
            {"type": "PodReadyToStartContainers", **self._sandbox_state()},
            {"type": "Initialized", "status": "True", **completed},
            {"type": "Ready", "status": _flag(running), **unready},
            {"type": "ContainersReady", "status": _flag(running), **unready},
            {"type": "PodScheduled", "status": "True"},
        ]
        generation = self.pod["metadata"].get("generation")
        observed = {"observedGeneration": generation} if generation else {}
        listed = (self.sent or self.pod.get("status") or {}).get("conditions")
        return [{**condition, **observed, **_transition(listed, condition)} for condition in wanted]

    def _sandbox_state(self) -> Object:
        """Build the condition of the sandbox (``GeneratePodReadyToStartContainersCondition``)."""
        if self.sandbox and not self.stopped:
            return {"status": "True"}
        message = "pod sandbox is not ready" if self.sandbox else "no pod sandbox exists"
        return {"status": "False", "reason": "PodSandboxNotReady", "message": message}

    def _unready(self) -> Object:
        unready = [
            spec["name"]
            for spec in self.pod["spec"]["containers"]
            if (run := self.containers.get(spec["name"])) is None or not run.running
        ]
        message = f"containers with unready status: [{' '.join(unready)}]"
        return {"reason": "ContainersNotReady", "message": message}

    def _container_status(self, spec: Object) -> Object:
        name = spec["name"]
        run = self.containers.get(name)
        status: Object = {
            "name": name,
            "image": spec.get("image", ""),
            "imageID": "",
            "restartCount": 0,
            "lastState": {},
        }
        if run is None:
            reason, message = self.waiting.get(name, ("ContainerCreating", ""))
            waiting = {"reason": reason, **({"message": message} if message else {})}
            return {**status, "ready": False, "started": False, "state": {"waiting": waiting}}
        status |= {
            "imageID": f"drakit://{spec.get('image', '')}",
            "containerID": run.id,
            "restartCount": run.restarts,
            "ready": run.running,
            "started": run.running,
            "state": run.state(),
            "lastState": run.last or {},
        }
        if not run.running and name in self.waiting:
            reason, message = self.waiting[name]
            status |= {"state": {"waiting": {"reason": reason, "message": message}}, "lastState": run.state()}
        if allocated := self.allocated.get(name):
            status["allocatedResourcesStatus"] = allocated
        return status | _resources(spec)

    def _init_status(self, spec: Object) -> Object:
        """Init containers end well the moment they start; sidecars run as long as the pod."""
        status: Object = {
            "name": spec["name"],
            "image": spec.get("image", ""),
            "imageID": f"drakit://{spec.get('image', '')}",
            "restartCount": 0,
            "lastState": {},
        }
        if not self.containers:
            return {**status, "ready": False, "started": False, "state": {"waiting": {"reason": "PodInitializing"}}}
        started = rfc3339(min(run.started for run in self.containers.values()))
        if spec.get("restartPolicy") == "Always" and not self.finished:
            return {**status, "ready": True, "started": True, "state": {"running": {"startedAt": started}}}
        ended = {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started}
        return {**status, "ready": True, "started": False, "state": {"terminated": ended}}


def _transition(listed: Iterable[Object] | None, condition: Object) -> Object:
    """Keep ``lastTransitionTime`` if the condition's status is the same as before, else set it to now."""
    old = conditions.find(listed, condition["type"])
    same = old is not None and old["status"] == condition["status"]
    since = old.get("lastTransitionTime") if old is not None and same else None
    return {"lastTransitionTime": since or gotime.now()}


def _resources(spec: Object) -> Object:
    """Report the resources that a container has: here, all that it asked for."""
    asked = spec.get("resources") or {}
    status: Object = {"resources": {key: asked[key] for key in ("claims", "limits", "requests") if asked.get(key)}}
    if asked.get("requests"):
        status["allocatedResources"] = asked["requests"]
    return status


def _flag(value: bool) -> str:
    return "True" if value else "False"
