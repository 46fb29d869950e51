"""A driver instance as a DaemonSet: started and stopped through the API, killed and looked into on its nodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

from drakit_api.kubernetes_objects import Object
from drakit_client.errors import ApiError
from drakit_client.processes.counts import counted
from drakit_client.resources import (
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    DEVICE_CLASSES,
    PODS,
    REPLICA_SETS,
    RESOURCE_SLICES,
    Resource,
)
from drakit_driver.profiles.reading import catalog
from drakit_kind.cluster import ClusterError, DeviceHealth, DriverSpec
from drakit_kind.clusters.api import Api, WaitTimeout
from drakit_kind.kind import workloads
from drakit_kind.kind.nodes import Nodes, in_parallel
from drakit_kind.kind.workloads import NAME_LABEL, NAMESPACE
from drakit_kind.processes.drivers import driver_name, nodes_with, pools_of, prepare_calls, says_ready

_WORKLOADS = (DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS)
_WAIT_SECONDS = 20.0  # for each step; the cluster's patience multiplies it
_READY_SECONDS = 90.0
_PAUSE = 0.2
_KUBELET_DIR = "/var/lib/kubelet"
_CDI_DIR = "/var/run/cdi"


class PodDriver:
    """One driver instance in a kind cluster; see ``drakit_kind.cluster.Driver``. ``image`` is in all nodes."""

    def __init__(self, spec: DriverSpec, *, api: Api, nodes: Nodes, image: str) -> None:
        self._spec = spec
        self._api = api
        self._nodes = nodes
        self._objects = workloads.driver(spec, image)
        self._pools = {pool.name for pool in pools_of(spec)}
        instance = workloads.instance_name(spec)
        self._chosen = f"{NAME_LABEL} in ({instance}, {instance}-publisher)"
        self._ended = ""  # what pods that are gone had printed

    @property
    def name(self) -> str:
        """The DRA driver name."""
        return driver_name(self._spec)

    def start(self) -> None:
        """Create its objects and wait until each of its pods says that it is ready."""
        classes = catalog.device_classes(self._spec.profile, self.name)
        self._api.apply(*classes, *self._objects, resources=workloads.RESOURCES)
        try:
            for pod in self._wait(PODS, self._all_run, what="running"):
                self._wait_ready(pod["metadata"]["name"])
        except WaitTimeout as error:
            raise ClusterError(f"driver {self.name} is not ready: {error}; {self._state()}\n{self.logs()}") from None

    def _all_run(self, pods: Sequence[Object]) -> bool:
        publishers = sum(item["kind"] == "Deployment" for item in self._objects)
        return len(pods) == len(self._spec.nodes) + publishers and all(map(_task, pods))

    def _wait_ready(self, pod: str) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not self._is_ready(pod):
            if time.monotonic() > deadline:
                raise WaitTimeout(f"pod {pod} has not said so within {_READY_SECONDS:.0f} s")
            time.sleep(_PAUSE)

    def _is_ready(self, pod: str) -> bool:
        # From the API server: a command in the node, for each look, would take longer than the driver does.
        try:
            return says_ready(self._api.log(pod, namespace=NAMESPACE))
        except ApiError:
            return False  # its container has ended, and is not started again yet

    def _state(self) -> str:
        pods = self._pods()
        events = [text for pod in pods for text in self._api.events(pod["metadata"]["name"], NAMESPACE)[-3:]]
        return f"{counted(len(pods), 'pod')}; {'; '.join(events) or 'no events'}"

    def kill(self) -> None:
        """End its processes as a crash does: without SIGTERM, and without the kubelet starting them again.

        The kubelet restarts what ends by itself, so the pods are deleted while their processes cannot notice: those
        are stopped first (SIGSTOP), and killed once the kubelet knows that it shall end them. The kubelet deletes the
        slices half a minute after that, so what takes long comes before.
        """
        pods = self._pods()
        self._signal(pods, "SIGSTOP")
        self._keep_logs(pods)
        for resource in _WORKLOADS:
            self._delete(resource, propagation="Orphan")
        self._wait_gone(*_WORKLOADS)
        for pod in pods:
            self._api.delete(PODS, pod["metadata"]["name"], NAMESPACE)
        self._signal(pods, "SIGKILL")
        self._wait_gone(PODS)

    def pause(self) -> None:
        """SIGSTOP: it accepts calls and answers none, as in the middle of one, until it is killed."""
        self._signal(self._pods(), "SIGSTOP")

    def forget_registration(self) -> None:
        """Remove the registration sockets that a killed driver leaves, as a reboot of its nodes does."""
        socket = f"{_KUBELET_DIR}/plugins_registry/{self.name}-reg.sock"
        in_parallel(
            lambda node: self._nodes.run(node, "rm", "-f", socket), map(self._nodes.container, self._spec.nodes)
        )

    def prepare_calls(self, uid: str) -> list[str]:
        """See ``Driver.prepare_calls``; by its log."""
        return prepare_calls(uid, self.logs())

    def cdi_files(self, node: str) -> list[str]:
        """List the names of the driver's CDI spec files on a node, sorted."""
        listed = self._nodes.search(self._nodes.container(node), _CDI_DIR, "-maxdepth", "1", "-type", "f")
        names = [path.rpartition("/")[2] for path in listed.split()]
        return sorted(name for name in names if self.name in name)

    def set_health(self, pool: str, device: str, health: DeviceHealth, message: str = "") -> None:
        """See ``Driver.set_health``; by a command in its pods on the nodes that have the device."""
        command = ["drakit", "driver", "health", f"{pool}/{device}", health, "--message", message]
        for node in nodes_with(self._spec, pool):
            for pod in self._plugins(node):
                where = ["exec", f"--namespace={NAMESPACE}", pod["metadata"]["name"], "--"]
                self._nodes.kubectl(*where, *command, "--driver-name", self.name)

    def _plugins(self, node: str) -> list[Object]:
        """List its pods on a node, without the publisher's. Raises ``ClusterError`` if none runs."""
        instance = workloads.instance_name(self._spec)
        pods = [pod for pod in self._pods() if pod["metadata"]["labels"][NAME_LABEL] == instance and _task(pod)]
        if not (there := [pod for pod in pods if pod["spec"]["nodeName"] == node]):
            raise ClusterError(f"driver {self.name} does not run on {node}")
        return there

    def stop(self) -> None:
        """Delete its objects and wait until its pods have ended, which take their slices with them.

        What belongs to other instances of the driver stays, and as long as they publish, its classes.
        """
        self._keep_logs(self._pods())
        for resource in (DAEMON_SETS, DEPLOYMENTS):
            self._delete(resource, propagation="Background")
        self._wait_gone(*_WORKLOADS, PODS)
        for item in self._objects:
            if item["kind"] == CONFIG_MAPS.kind:
                self._api.delete(CONFIG_MAPS, item["metadata"]["name"], NAMESPACE)
        if not self._remove_slices():
            for item in catalog.device_classes(self._spec.profile, self.name):
                self._api.delete(DEVICE_CLASSES, item["metadata"]["name"])

    def _remove_slices(self) -> bool:
        """Remove its own slices, which a killed driver leaves; return whether other instances publish any."""
        slices = self._api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={self.name}")
        own = [item for item in slices if item["spec"]["pool"]["name"] in self._pools]
        for item in own:
            self._api.delete(RESOURCE_SLICES, item["metadata"]["name"])
        return len(own) < len(slices)

    def logs(self) -> str:
        """Return the text that it has printed so far, pod by pod."""
        return self._ended + "".join(self._log(pod) for pod in self._pods())

    def _pods(self) -> list[Object]:
        return self._of(PODS)

    def _of(self, resource: Resource) -> list[Object]:
        """List the objects of one kind that belong to this instance."""
        return self._api.objects(resource, NAMESPACE, label_selector=self._chosen)

    def _wait(self, resource: Resource, condition: Callable[[list[Object]], bool], *, what: str) -> list[Object]:
        return self._api.wait_all(
            resource, condition, namespace=NAMESPACE, label_selector=self._chosen, timeout=_WAIT_SECONDS, what=what
        )

    def _log(self, pod: Object) -> str:
        # From the node: the API server has none while it or the kubelet restarts, nor of a container that has ended.
        node = pod["spec"].get("nodeName")
        return self._nodes.pod_log(self._nodes.container(node), pod["metadata"]["name"]) if node else ""

    def _keep_logs(self, pods: Sequence[Object]) -> None:
        self._ended += "".join(self._log(pod) for pod in pods)

    def _signal(self, pods: Sequence[Object], signal: str) -> None:
        for pod in pods:
            if task := _task(pod):
                self._nodes.signal_task(self._nodes.container(pod["spec"]["nodeName"]), task, signal)

    def _delete(self, resource: Resource, *, propagation: Literal["Background", "Orphan"]) -> None:
        for item in self._of(resource):
            self._api.delete(resource, item["metadata"]["name"], NAMESPACE, propagation=propagation)

    def _wait_gone(self, *resources: Resource) -> None:
        try:
            for resource in resources:
                self._wait(resource, lambda left: not left, what="gone")
        except WaitTimeout as error:
            raise ClusterError(f"driver {self.name} is not gone: {error}") from None


def _task(pod: Object) -> str | None:
    """Return the container runtime's ID of a pod's running container; None if none runs."""
    statuses = pod.get("status", {}).get("containerStatuses") or []
    running = [status["containerID"] for status in statuses if "running" in status.get("state", {})]
    return running[0].rpartition("//")[2] if running else None
