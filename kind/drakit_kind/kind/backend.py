"""The backend ``kind``: a real Kubernetes cluster in containers, with drakit's driver and scheduler as pods."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import yaml

from drakit_api.core.conditions import is_ready
from drakit_api.kubernetes_objects import Object
from drakit_client.errors import REQUEST_FAILURES
from drakit_client.resources import DAEMON_SETS, DEPLOYMENTS, NODES, PODS
from drakit_kind.cluster import (
    COMPONENTS,
    ClusterError,
    ClusterSpec,
    Component,
    Driver,
    DriverSpec,
    Report,
    check_names,
    check_nodes,
    cleaning_up_after,
    silent,
)
from drakit_kind.clusters.api import Api, WaitTimeout
from drakit_kind.clusters.cluster_logs import part_head, told, whole
from drakit_kind.clusters.evidence import file_name
from drakit_kind.clusters.flags import PROGRAMS, Change
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.kind import credentials, network, workloads
from drakit_kind.kind.config import at_creation, behaviour_of, check_components, gates_of_our_scheduler, kind_config
from drakit_kind.kind.docker import check_daemon, cluster_containers
from drakit_kind.kind.drivers import PodDriver
from drakit_kind.kind.guard import Guard
from drakit_kind.kind.node_images import component_images, images
from drakit_kind.kind.nodes import Nodes
from drakit_kind.kind.program import kind_program
from drakit_kind.kind.removal import remove_cluster
from drakit_kind.kind.restarts import Restarts
from drakit_kind.kind.sessions import run_in_session
from drakit_kind.processes.spawn import log_tail

SCHEDULER_NAME = "drakit-scheduler"
_CREATE_SECONDS = 600.0
_DELETE_SECONDS = 120.0
_READY_SECONDS = 120.0
_LOGS_SECONDS = 60.0
_LAST_LINES = 8  # of each program of a cluster that does not start
_UNITS = ("containerd", "kubelet")  # services of each node


class KindCluster(Cluster):
    """One kind cluster, its files in ``home``; ``name`` is what kind calls it: `kind get clusters`.

    Neither the cluster nor ``home`` outlives the process that starts it, however that ends. ``kind`` is a program, by
    default drakit's own build or the one in PATH; ``image`` is the node image. ``report`` is told of each step that
    takes long. No kubectl is needed on this machine.
    """

    def __init__(
        self,
        spec: ClusterSpec,
        home: ClusterHome,
        *,
        kind: str | Path | None = None,
        image: str | None = None,
        report: Report = silent,
    ) -> None:
        super().__init__(spec, home.kubeconfig)
        self.home: Final = home
        self._kind = kind
        self._program: Path | None = None  # once it starts
        self._image = image
        self._report = report
        # Containers are named after the cluster, for all of the machine's users.
        place = hashlib.sha256(os.fsencode(home.directory.absolute())).hexdigest()[:6]
        self.name: Final = f"drakit-{spec.name}-{place}"
        self._nodes = Nodes(self.name, spec.nodes)
        self._guard: Guard | None = None
        self._settled = True  # nothing that kind has asked of the daemon is still under way
        self._api: Api | None = None
        self._changes: Restarts | None = None
        self._driver_image = ""

    def _start(self) -> None:
        """Make what is missing of its images, create it, and wait until its nodes and our scheduler are ready."""
        check_names(self.spec)
        check_components(self.spec)
        images.check_tag(self.spec, self._image)
        for driver in self.spec.drivers:
            workloads.instance_name(driver)  # which finds what is wrong in it
        self._program = kind_program(self.spec, self._kind)
        check_daemon()
        if cluster_containers(self.name):
            raise ClusterError(f"cluster {self.spec.name} is there already, as {self.name}; stop it first")
        self.home.make()
        self._guard = Guard(self.name, self.home.directory)
        try:
            self._make()
        except BaseException as error:
            with cleaning_up_after(error):
                self.stop()
            raise

    def _make(self) -> None:
        try:
            self.home.write_spec(self.spec)
            self.home.logs.mkdir(exist_ok=True)
            chosen = images.node_images(self.spec, self._image, self._report)
            pod_images = list(images.pod_images(self._report))
            self._driver_image = pod_images[0][0]
            self._image_note.write_text(self._driver_image)
            self._create(chosen)
            self._report("images into the nodes")
            for _, archive in pod_images:
                self.load_images(archive)
            self._set_up()
        except (ClusterError, WaitTimeout, *REQUEST_FAILURES) as error:
            ends = "".join(f"\n{line}" for line in told(self._keep_logs))
            raise ClusterError(f"cluster {self.spec.name} did not start: {error}{ends}") from None

    def load_images(self, archive: Path) -> None:
        """Give the images of an archive, as ``docker save`` writes it, to all nodes in which pods run."""
        self._nodes.load(archive, self._nodes.for_pods)

    def join(self) -> None:
        """Use a cluster that another process has started in this ``home``, and that ends with that process."""
        self._driver_image = self._image_note.read_text()
        self._api = Api(self.kubeconfig, patience=self.spec.patience)

    @property
    def _image_note(self) -> Path:
        """The file that names the driver image in the nodes: a process that joins later may see other source code."""
        return self.home.directory / "driver-image"

    def leave(self) -> None:
        """Use it no more; it runs on."""
        if self._api is not None:
            self._api.close()
            self._api = self._changes = None

    def _create(self, chosen: images.NodeImages) -> None:
        config = self.home.directory / "kind.yaml"
        config.write_text(yaml.safe_dump(kind_config(self.spec, chosen.by_version, dns=chosen.dns), sort_keys=False))
        self._report(f"kind create cluster {self.name}")
        network.note_if_new(self.home.directory)
        self._settled = False
        self._adapter("create", "--config", str(config), timeout=_CREATE_SECONDS)
        self._settled = True
        credentials.move_to_files(self.kubeconfig)
        self._api = Api(self.kubeconfig, patience=self.spec.patience)
        self._check_version(self._api.version(), chosen.by_version[self.spec.version])
        self._api.wait_all(NODES, self._all_ready, timeout=_READY_SECONDS, what="Ready")
        if self.spec.version_of("kubelet") != self.spec.version:
            # Nodes of another version have another kube-proxy in their image than the one that they shall run.
            image = component_images.image_name("kube-proxy", self.spec.version)
            control_plane, workers = self._nodes.control_plane, self._nodes.workers
            self._nodes.copy_image(image, control_plane, workers, scratch=self.home.directory)
        self._api.wait(
            DAEMON_SETS,
            "kube-proxy",
            lambda seen: seen.get("status", {}).get("numberReady") == 1 + len(self.spec.nodes),
            namespace="kube-system",
            timeout=_READY_SECONDS,
            what="ready on all nodes",
        )

    def _check_version(self, seen: str, image: str) -> None:
        """Refuse an API server of another version than the run assumes, by which it reports and skips tests."""
        if seen != (expected := at_creation(self.spec, "apiserver").minor):
            raise ClusterError(
                f"node image {image}: its API server is Kubernetes {seen}, and {expected} was asked for; say "
                "--drakit-kubernetes-version, or name another image with --drakit-kind-image"
            )

    def _all_ready(self, nodes: Sequence[Object]) -> bool:
        return len(nodes) == 1 + len(self.spec.nodes) and all(map(is_ready, nodes))

    def _set_up(self) -> None:
        self._restarts.settle()
        self._apply(workloads.access())
        self._start_scheduler()
        for driver in self.spec.drivers:
            self.driver(driver).start()

    def _start_scheduler(self) -> None:
        """Start drakit's scheduler: beside kube-scheduler under a name of its own, or instead of it."""
        ours = "scheduler" not in self.spec.real
        gates = gates_of_our_scheduler(self.spec)
        objects = workloads.scheduler(
            self._driver_image,
            name="default-scheduler" if ours else SCHEDULER_NAME,
            gates=gates.overrides,
            emulated_version=gates.emulated_version,
        )
        self._report("drakit's scheduler")
        self._apply(objects)
        self._connected.wait(
            DEPLOYMENTS,
            objects[-1]["metadata"]["name"],
            lambda seen: seen.get("status", {}).get("availableReplicas") == 1,
            namespace=workloads.NAMESPACE,
            timeout=_READY_SECONDS,
            what="available",
        )
        if ours:
            # Only at this point, because kube-scheduler had to place the pod of drakit's own.
            self._restarts.remove("scheduler")

    def stop(self) -> None:
        """Delete the cluster; its files stay."""
        self.leave()
        try:
            if cluster_containers(self.name):
                self._adapter("delete", timeout=_DELETE_SECONDS)
        finally:
            if not self._settled:
                self._report(f"removing what is still made of {self.name}")
            remove_cluster(self.name, self.home.directory, settled=self._settled)
            self._settled = True
            if self._guard is not None:
                self._guard.dismiss()
                self._guard = None

    def _restart(self, component: Component, change: Change) -> None:
        if component == "scheduler" and "scheduler" not in self.spec.real:
            raise ClusterError("this cluster has no kube-scheduler, only drakit's, whose Deployment can be changed")
        self._restarts.restart(component, behaviour_of(self.spec, component, change))

    def logs(self, component: Component | None = None) -> str:
        """Return the log of one component on all its nodes, or of all components, with a heading for each program."""
        parts = [part for each in ([component] if component else COMPONENTS) for part in self._logs(each)]
        return "\n".join(f"{part_head(name)}\n{whole(log)}" for name, log in parts)

    def _keep_logs(self) -> Iterator[str]:
        """Write all logs into the home as long as there are nodes to read them from; yield the last lines of each."""
        if not cluster_containers(self.name):
            return
        self._report("logs of what runs")
        deadline = time.monotonic() + _LOGS_SECONDS
        for name, log in (part for component in COMPONENTS for part in self._logs(component)):
            if time.monotonic() > deadline:
                yield f"the rest could not be read within {_LOGS_SECONDS:.0f} s"
                return
            text = whole(log)
            self.home.component_log(file_name(name)).write_text(f"{text}\n")
            yield from (part_head(name), *text.splitlines()[-_LAST_LINES:])

    def _logs(self, component: Component) -> Iterator[tuple[str, Callable[[], str]]]:
        """Yield for each program its heading and a function that reads its log."""
        if component == "kubelet":
            places = {self._nodes.control_plane: self._nodes.control_plane}
            places |= {node: self._nodes.container(node) for node in self.spec.nodes}
            for node, container in places.items():
                yield f"kube-proxy of {node}", partial(self._nodes.pod_log, container, "kube-proxy-*")
                yield from ((f"{unit} of {node}", partial(self._nodes.journal, container, unit)) for unit in _UNITS)
            return
        for program in PROGRAMS[component]:
            yield program, partial(self._nodes.component_log, program)
        if component == "scheduler":
            yield "drakit's scheduler", self._scheduler_log

    def _scheduler_log(self) -> str:
        label = f"{workloads.NAME_LABEL}={SCHEDULER_NAME}"
        pods = self._connected.objects(PODS, workloads.NAMESPACE, label_selector=label)
        return "".join(self._connected.log(pod["metadata"]["name"], namespace=workloads.NAMESPACE) for pod in pods)

    def driver(self, spec: DriverSpec) -> Driver:
        """Make a driver that runs as a DaemonSet, without creating it."""
        check_nodes(spec, self.spec)
        return PodDriver(spec, api=self._connected, nodes=self._nodes, image=self._driver_image)

    @property
    def _connected(self) -> Api:
        if self._api is None:
            raise ClusterError(f"cluster {self.spec.name} does not run")
        return self._api

    @property
    def _restarts(self) -> Restarts:
        if self._changes is None:
            self._changes = Restarts(self.spec, self._nodes, self._connected, scratch=self.home.directory)
        return self._changes

    def _apply(self, objects: Sequence[Object]) -> None:
        self._connected.apply(*objects, resources=workloads.RESOURCES)

    def _adapter(self, action: str, *options: str, timeout: float) -> None:
        """Create or delete, in a process of its own; what kind prints is kept among the logs."""
        log = self.home.component_log("kind")
        command = [sys.executable, "-P", "-m", "drakit_kind.kind.pytest_kind_adapter", action, "--name", self.name]
        command += ["--directory", str(self.home.directory), "--kubeconfig", str(self.kubeconfig)]
        command += ["--kind", str(self._program or kind_program(self.spec, self._kind)), *options]
        try:
            status = run_in_session(command, log, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"kind {action}: not done within {timeout:.0f} s:{log_tail(log)}") from None
        if status:
            raise ClusterError(f"kind cluster {self.name}: {action} failed; the end of what it printed:{log_tail(log)}")
