"""One simulated kubelet: the plugins and the pods of a node, on a directory of its own.

Below its directory are ``plugins_registry/`` and ``plugins/``, as drivers know them, ``cdi/``, and the kubelet's
checkpoint. What happens to a pod follows k8s.io/kubernetes/pkg/kubelet (kubelet.go SyncPod, SyncTerminatingPod;
pod_workers.go): claims are prepared before anything runs, and given back after everything has stopped and before the
API server is told, so that nobody else gets a device that is still prepared.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from drakit_api.core.containers import LASTING, containers_of, is_sidecar
from drakit_api.core.pod_claims import PodClaimError, is_terminal
from drakit_api.golang import gotime
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.events import EventRecorder, EventType
from drakit_client.resources import PODS
from drakit_embedded.kubelet.cdi import CdiDirectories, CdiError, Edits
from drakit_embedded.kubelet.claims import ClaimCache
from drakit_embedded.kubelet.containers import Container, Launch, StartError, launch
from drakit_embedded.kubelet.device_health import HealthCache, Report
from drakit_embedded.kubelet.execution.mounts import Node, view
from drakit_embedded.kubelet.execution.view import View
from drakit_embedded.kubelet.execution.volumes import Volumes
from drakit_embedded.kubelet.plugins import Plugins
from drakit_embedded.kubelet.pod_run import PodRun
from drakit_embedded.kubelet.registration import Registrar
from drakit_embedded.kubelet.release import Release
from drakit_embedded.kubelet.resources import PrepareError, Resources
from drakit_embedded.kubelet.slice_wipes import SliceWipes
from drakit_embedded.kubelet.timings import Timings

log = logging.getLogger(__name__)

_CHECKPOINT = "dra_manager_state"
_LAST_EVENTS_SECONDS = 2.0
# A crashing container waits at most this many times the first delay.
_CRASH_LIMIT = 30


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all kubelets of a process share: the API server, and the loop that calls ``sync`` for a pod's uid."""

    connection: Connection
    timings: Timings
    enqueue: Callable[[str, str], None]
    new_ip: Callable[[], str]
    cdi_directories: Sequence[Path] = ()
    release: Release = field(default_factory=Release)


class Kubelet:
    """One node's kubelet from ``open`` to ``close``; a restart is a new object on the same directory."""

    def __init__(self, name: str, directory: Path, surroundings: Surroundings) -> None:
        self.name = name
        self.pods: dict[str, PodRun] = {}
        self._shared = surroundings
        self._timings = surroundings.timings
        self._connection = surroundings.connection
        self._events = EventRecorder(surroundings.connection, "kubelet", host=name)
        for part in (directory, directory / "plugins_registry", directory / "plugins", directory / "cdi"):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._cdi = CdiDirectories([*surroundings.cdi_directories, directory / "cdi"])
        self._health = HealthCache()
        self.wipes = SliceWipes(surroundings.connection, name)
        self.plugins = Plugins(
            wiping=self._timings.wiping,
            health_retry=self._timings.health_retry,
            wipe=self.wipes.start,
            health=self._health_reported,
            release=surroundings.release,
        )
        cache = ClaimCache(directory / _CHECKPOINT)
        self.resources = Resources(surroundings.connection, cache, self.plugins, self._health, surroundings.release)
        self._node = Node(directory, Volumes(surroundings.connection))
        self.registrar = Registrar(directory / "plugins_registry", self.plugins)

    def running_container(self, run: PodRun, name: str) -> tuple[Container, View] | None:
        """Find a container that runs, and its file system; None if it does not run."""
        spec = next(each for each in containers_of(run.pod["spec"], LASTING) if each["name"] == name)
        container = run.containers.get(name)
        if container is None and run.containers and not run.stopped and is_sidecar(spec):
            # It has no run of its own here: it begins and ends with the others.
            first = min(run.containers.values(), key=lambda each: each.started)
            container = self._launched(run, spec).container(name, first.started)
            container.ended = first.ended
        if container is None or not container.running:
            return None
        return container, view(run.pod, spec, container, run.ip, self._node)

    def open(self) -> None:
        """Begin: until drivers have registered again nobody can use the node's devices, so their slices go."""
        self.wipes.start()
        self.registrar.poll()

    async def close(self) -> None:
        """Stop everything; pods keep running, as containers do without a kubelet."""
        await self.wipes.close()
        await self.registrar.close()
        await self.plugins.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._events.flush(), _LAST_EVENTS_SECONDS)

    def pod_changed(self, pod: Object | None, uid: str) -> None:
        """Handle a pod's change in the API server; ``None`` if it was deleted."""
        run = self.pods.get(uid)
        if pod is not None and run is None:
            run = self.pods[uid] = PodRun(pod)
        if run is None:
            return
        if pod is None:
            run.gone = True
        else:
            run.pod = pod
        if run.deleting and run.preparing is not None:
            run.preparing.cancel()
        self._shared.enqueue(self.name, uid)

    async def reconcile(self) -> None:
        """Unprepare claims of pods that no longer exist."""
        for uid in self.resources.stale_pods(self.pods):
            try:
                await self.resources.unprepare(uid)
            except PrepareError as error:
                log.warning("%s: pod %s is gone: %s; tried again later", self.name, uid, error)

    async def sync(self, uid: str) -> float | None:
        """Advance one pod by a step; returns the seconds until the next step is due, if known."""
        run = self.pods.get(uid)
        if run is None:
            return None
        if run.finished or run.deleting or is_terminal(run.pod):
            return await self._terminate(run)
        if not run.sandbox and not self._adopt(run) and not await self._prepare(run):
            return None if run.deleting else self._jittered(self._timings.sync)
        self._end_due(run)
        failed = not self._start_containers(run)
        if run.has_ended():
            return await self._terminate(run)
        await self._report(run)
        return self._jittered(self._timings.sync) if failed else self._next_wake(run)

    def _jittered(self, seconds: float) -> float:
        return seconds * random.uniform(1.0, 1.5)  # noqa: S311

    async def _prepare(self, run: PodRun) -> bool:
        """Prepare the claims; returns whether containers can start."""
        run.start_time = run.start_time or gotime.now()
        if run.pod["spec"].get("resourceClaims"):
            await self._report(run)
        run.preparing = asyncio.create_task(self.resources.prepare(run.pod))
        try:
            await run.preparing
        except PrepareError as error:
            self._event(
                run, "Warning", "FailedPrepareDynamicResources", f"Failed to prepare dynamic resources: {error}"
            )
            return False
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not run.deleting or (task is not None and task.cancelling()):
                raise
            self._shared.enqueue(self.name, run.uid)
            return False
        finally:
            run.preparing = None
        run.ip = run.ip or self._shared.new_ip()
        run.sandbox = True
        return True

    def _adopt(self, run: PodRun) -> bool:
        """Take over containers that an earlier kubelet has started, as the pod's status tells: they outlive it."""
        status = run.pod.get("status", {})
        reported = {entry["name"]: entry for entry in status.get("containerStatuses") or ()}
        specs = run.pod["spec"]["containers"]
        if status.get("phase") != "Running" or not all(reported.get(s["name"], {}).get("containerID") for s in specs):
            return False
        if run.pod["spec"].get("resourceClaims") and not self.resources.holds(run.uid):
            return False
        run.start_time, run.ip, run.sandbox = status["startTime"], status.get("podIP", ""), True
        for spec in specs:
            entry = reported[spec["name"]]
            if container := _running_container(spec, entry, self._launched(run, spec)):
                run.containers[spec["name"]] = container
        return True

    def _launched(self, run: PodRun, spec: Object) -> Launch:
        """Work out what a container that runs already was started with."""
        try:
            edits = self._cdi.inject(self.resources.cdi_ids(run.pod, spec))
        except (CdiError, PrepareError, PodClaimError):
            edits = Edits()
        try:
            return launch(run.pod, spec, edits, run.ip)
        except (ValueError, StartError):  # by an annotation that was added later
            return Launch([], None)

    def _end_due(self, run: PodRun) -> None:
        for container in run.containers.values():
            left = container.seconds_left()
            if container.running and left is not None and left <= 0 and container.exit is not None:
                container.finish(container.exit.code, datetime.now(UTC))

    def _start_containers(self, run: PodRun) -> bool:
        """Start what should run and does not; False if something has to be tried again."""
        complete = True
        for spec in run.pod["spec"]["containers"]:
            old = run.containers.get(spec["name"])
            if old is not None and (old.running or not run.will_restart(old) or self._is_crashing(run, old)):
                continue
            complete = self._start_container(run, spec, old) and complete
        return complete

    def _start_container(self, run: PodRun, spec: Object, old: Container | None) -> bool:
        name = spec["name"]
        try:
            edits = self._cdi.inject(self.resources.cdi_ids(run.pod, spec))
            launched = launch(run.pod, spec, edits, run.ip)
        except StartError as error:
            message = f"failed to start containerd task: OCI runtime create failed: {error}"
            return self._container_failed(run, name, "RunContainerError", message)
        except CdiError as error:
            message = f"failed to create containerd container: {error}"
            return self._container_failed(run, name, "CreateContainerError", message)
        except (PrepareError, PodClaimError, ValueError) as error:
            return self._container_failed(run, name, "CreateContainerConfigError", str(error))
        container = launched.container(name, datetime.now(UTC))
        if old is not None:
            container.restarts, container.last = old.restarts + 1, old.state()
        run.containers[name] = container
        run.waiting.pop(name, None)
        self._event(run, "Normal", "Started", "Container started", container=name)
        return True

    def _container_failed(self, run: PodRun, name: str, reason: str, message: str) -> bool:
        run.waiting[name] = (reason, message)
        self._event(run, "Warning", "Failed", f"Error: {message}", container=name)
        return False

    def _is_crashing(self, run: PodRun, container: Container) -> bool:
        """Check whether an ended container has to wait before it is started again; the first time it need not."""
        delay = self._crash_delay(container)
        if delay <= 0:
            run.waiting.pop(container.name, None)
            return False
        backoff = self._backoff(container)
        pod = run.pod["metadata"]
        where = f"{pod['name']}_{pod['namespace']}({pod['uid']})"
        message = f"back-off {backoff:g}s restarting failed container={container.name} pod={where}"
        if container.name not in run.waiting:
            self._event(
                run, "Warning", "BackOff", f"Back-off restarting failed container {container.name} in pod {where}"
            )
        run.waiting[container.name] = ("CrashLoopBackOff", message)
        return True

    def _backoff(self, container: Container) -> float:
        doubled: int = 2 ** min(container.restarts - 1, _CRASH_LIMIT)
        return self._timings.crash * min(doubled, _CRASH_LIMIT)

    def _crash_delay(self, container: Container) -> float:
        if container.finished is None or not container.restarts:
            return 0.0
        return self._backoff(container) - (datetime.now(UTC) - container.finished).total_seconds()

    def _next_wake(self, run: PodRun) -> float | None:
        waits = [left for c in run.containers.values() if c.running and (left := c.seconds_left()) is not None]
        waits += [self._crash_delay(c) for c in run.containers.values() if not c.running and run.will_restart(c)]
        if any(run.allocated.values()) and (expiry := self._health.next_expiry()) is not None:
            waits.append(expiry)
        return max(0.0, min(waits)) if waits else None

    # The end of a pod.

    async def _terminate(self, run: PodRun) -> float | None:
        """Stop, unprepare, report, and delete if that was asked for; in this order."""
        if not run.finished:
            if run.deleting:
                for container in run.containers.values():
                    if container.running:
                        message = f"Stopping container {container.name}"
                        self._event(run, "Normal", "Killing", message, container=container.name)
            run.stop()
            try:
                await self.resources.unprepare(run.uid)
            except PrepareError as error:
                log.warning("%s: pod %s: %s", self.name, run.pod["metadata"]["name"], error)
                await self._report(run)
                return self._jittered(self._timings.backoff)
            run.finished = True
            run.allocated = {}
        if not run.gone and run.containers:
            await self._report(run)
        if run.gone:
            self.pods.pop(run.uid, None)
        elif run.deleting:
            await self._delete(run)
        return None

    async def _delete(self, run: PodRun) -> None:
        metadata: ObjectMeta = run.pod["metadata"]
        try:
            await self._connection.delete(
                PODS, metadata["name"], metadata["namespace"], uid=run.uid, grace_period_seconds=0
            )
        except NotFound:
            return

    # What others get to see.

    async def _report(self, run: PodRun) -> None:
        """Patch the pod's status if it says something else than before."""
        if run.gone or (is_terminal(run.pod) and run.sent is None):
            return
        if run.sandbox and not run.finished:
            run.allocated = {s["name"]: self.resources.allocated(run.pod, s) for s in run.pod["spec"]["containers"]}
        status = run.status()
        if status == run.sent or (run.sent is None and _says(run.pod.get("status", {}), status)):
            return
        metadata: ObjectMeta = run.pod["metadata"]
        # A merge patch keeps what it does not mention, so null removes the reason that a condition lost.
        cleared = [{"reason": None, "message": None, **condition} for condition in status["conditions"]]
        patch = {"metadata": {"uid": run.uid}, "status": {**status, "conditions": cleared}}
        try:
            await self._connection.patch(
                PODS, metadata["name"], patch, metadata["namespace"], patch_type="strategic-merge", subresource="status"
            )
        except NotFound:
            return
        run.sent = status

    def _health_reported(self, driver: str, reports: Sequence[Report] | None) -> None:
        changed = self._health.clear(driver) if reports is None else self._health.update(driver, reports)
        if changed:
            for uid in self.resources.users_of(driver, changed):
                self._shared.enqueue(self.name, uid)

    def _event(self, run: PodRun, kind: EventType, reason: str, message: str, *, container: str = "") -> None:
        metadata: ObjectMeta = run.pod["metadata"]
        reference = {
            "apiVersion": "v1",
            "kind": PODS.kind,
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        }
        if container:
            reference["fieldPath"] = f"spec.containers{{{container}}}"
        self._events.event(reference, kind, reason, message)


def _running_container(spec: Object, entry: Object, launched: Launch) -> Container | None:
    """Rebuild a container from its entry in the pod's status; None if it has not been started."""
    state = entry.get("state") or {}
    ended = state.get("terminated") or (entry.get("lastState") or {}).get("terminated")
    times = state.get("running") or ended
    if not times or not times.get("startedAt"):
        return None
    started = datetime.fromisoformat(times["startedAt"])
    container = launched.container(spec["name"], started)
    container.id = entry["containerID"]
    container.restarts = entry.get("restartCount", 0)
    container.last = entry.get("lastState") or None
    if "running" not in state and ended:
        container.finish(ended["exitCode"], datetime.fromisoformat(ended["finishedAt"]))
    return container


def _says(status: Object, wanted: Object) -> bool:
    """Check whether the API server has all of it already; conditions of others may be there too."""
    listed = status.get("conditions") or ()
    others = {key: value for key, value in wanted.items() if key != "conditions"}
    return all(status.get(key) == value for key, value in others.items()) and all(
        condition in listed for condition in wanted["conditions"]
    )
