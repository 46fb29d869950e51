"""Restarting one component of a kind cluster, as an administrator would: with other gates, or as another version.

Components of the control plane are static pods, which the kubelet starts again when their manifest changes; kubelets
are services of their nodes. What does not come back as it was asked to is put back as it was.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import yaml

from drakit_api.kubernetes_objects import Object
from drakit_client.errors import REQUEST_FAILURES
from drakit_client.resources import NODES, PODS
from drakit_kind.cluster import ClusterError, ClusterSpec, Component
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.flags import Behaviour
from drakit_kind.clusters.heartbeats import is_ready_since, next_second, seconds_until
from drakit_kind.kind import static_pods
from drakit_kind.kind.config import MAIN_PROGRAMS, at_creation, behaviour_of, component_flags
from drakit_kind.kind.node_images import component_images
from drakit_kind.kind.nodes import Nodes, in_parallel
from drakit_kind.kubernetes.assets import assets_of
from drakit_kind.nodes.kubelet_config import settable_gates

_READY_SECONDS = 120.0
_PAUSE = 0.3
_LOG_LINES = 40  # a kubelet's last words are a stack
_CRASHES = 2  # what ends a second time will not work the third
_KUBELET = "/usr/bin/kubelet"
_KUBELET_CONFIG = "/var/lib/kubelet/config.yaml"
_KUBELET_FLAGS = "/var/lib/kubelet/kubeadm-flags.env"
# Scheduler and controllers have certificates of their own making, of which a kubelet asks nothing either.
_WHOEVER_ANSWERS = ("--insecure-skip-tls-verify", "--request-timeout=2s")
_AS_NODE = ("--kubeconfig", "/etc/kubernetes/kubelet.conf")  # kubectl without an identity asks for one and fails
_PODS = "/var/lib/kubelet/pods"
_ASIDE = "/etc/kubernetes"  # where a manifest is while its component is stopped
_KUBELETS = "/kind/kubelets"  # each version that a node has run


class Restarts:
    """What runs in a cluster now, and how it becomes something else.

    ``scratch`` is where images are written on their way into nodes; it has to go however this process ends.
    """

    def __init__(self, spec: ClusterSpec, nodes: Nodes, api: Api, *, scratch: Path) -> None:
        self._spec = spec
        self._nodes = nodes
        self._api = api
        self._scratch = scratch
        self._now: dict[Component, Behaviour] = {each: behaviour_of(spec, each) for each in MAIN_PROGRAMS}
        self._loaded = {(each, at_creation(spec, each).version) for each in MAIN_PROGRAMS}

    def settle(self) -> None:
        """Make of each component, as kind has just created it, what the cluster's spec says."""
        for component, asked in list(self._now.items()):
            made = at_creation(self._spec, component)
            if asked != made and component in self._spec.real:
                self._now[component] = made
                self.restart(component, asked)

    def restart(self, component: Component, behaviour: Behaviour) -> None:
        """Restart it, and wait until it works; else put it back and raise ``ClusterError`` with the end of its log."""
        before = self._now[component]
        try:
            self._change(component, behaviour)
        except ClusterError:
            self._change(component, before)
            raise
        self._now[component] = behaviour
        if component == "apiserver":
            self._wait_for_service()

    def _change(self, component: Component, behaviour: Behaviour) -> None:
        if component == "kubelet":
            in_parallel(lambda node: self._restart_kubelet(node, behaviour), self._spec.nodes)
        else:
            self._restart_static_pod(component, behaviour)

    def remove(self, component: Component) -> None:
        """Take a component of the control plane out of the cluster, and wait until it is gone."""
        program = MAIN_PROGRAMS[component]
        self._nodes.run(self._nodes.control_plane, "rm", f"{static_pods.MANIFESTS}/{program}.yaml")
        pod = f"{program}-{self._nodes.control_plane}"
        self._api.wait_gone(PODS, [pod], namespace="kube-system", timeout=_READY_SECONDS)

    def _restart_static_pod(self, component: Component, behaviour: Behaviour) -> None:
        node, program = self._nodes.control_plane, MAIN_PROGRAMS[component]
        path, aside = f"{static_pods.MANIFESTS}/{program}.yaml", f"{_ASIDE}/{program}.yaml"
        self._load(component, behaviour.version)
        before = self._containers(program)
        if path in self._nodes.search(node, static_pods.MANIFESTS, "-name", f"{program}.yaml").split():
            self._nodes.run(node, "mv", path, aside)
        # A pod that takes another one's place waits for the kubelet's next look at it, ten seconds later.
        self._wait(program, lambda: not self._containers(program), log=lambda: self._nodes.component_log(program))
        image = component_images.image_name(program, behaviour.version)
        manifest = static_pods.changed(
            self._nodes.read_yaml(node, aside), component_flags(component, behaviour), image=image
        )
        self._nodes.write(node, path, yaml.safe_dump(manifest, sort_keys=False).encode())
        self._wait(
            program,
            lambda: bool(self._containers(program) - before) and self._is_healthy(manifest),
            log=lambda: self._present_log(program),
            crashes=lambda: len(self._containers(program) - before) - 1,
        )

    def _present_log(self, program: str) -> str:
        if log := "".join(self._nodes.component_log(program, uid) for uid in self._uids(program)):
            return log
        # The container has not started, for example because its image is missing; the kubelet says why.
        journal = self._nodes.journal(self._nodes.control_plane, "kubelet").splitlines(keepends=True)
        return "".join(line for line in journal if program in line)

    def _containers(self, program: str) -> set[str]:
        """List the kubelet's file for each container of a static pod, there until nothing of the pod is left.

        Files of containers that have ended stay, and each name is of one start alone, also within one pod
        (``makeMounts`` in pkg/kubelet/kuberuntime/kuberuntime_container.go).
        """
        pattern = f"{_PODS}/*/containers/{program}/*"
        return set(self._nodes.search(self._nodes.control_plane, _PODS, "-maxdepth", "4", "-path", pattern).split())

    def _uids(self, program: str) -> set[str]:
        return {PurePosixPath(path).relative_to(_PODS).parts[0] for path in self._containers(program)}

    def _load(self, component: Component, version: str) -> None:
        """Bring the image of another version into the node; without its binary, the node will pull it."""
        program = MAIN_PROGRAMS[component]
        if (component, version) in self._loaded or assets_of(self._spec, version).find(program) is None:
            return
        with tempfile.TemporaryDirectory(prefix="component-", dir=self._scratch) as directory:
            archive = Path(directory) / f"{program}.tar"
            component_images.write_component(archive, program, assets_of(self._spec, version))
            self._nodes.load(archive, [self._nodes.control_plane])
        self._loaded.add((component, version))

    def _is_healthy(self, manifest: Object) -> bool:
        """Ask a component's health port directly: the API server may learn of a pod's health half a minute later."""
        server, path = static_pods.health_address(manifest)
        try:
            self._nodes.kubectl("get", "--raw", path, f"--server={server}", *_WHOEVER_ANSWERS)
        except ClusterError:
            return False
        return True

    def _wait_for_service(self) -> None:
        """Wait until pods of all nodes reach the API server: kube-proxies learn of it some seconds later."""
        address = self._nodes.kubectl("get", "service", "kubernetes", "--output=jsonpath={.spec.clusterIP}").strip()
        in_parallel(lambda node: self._wait_until_reached(node, f"--server=https://{address}"), self._spec.nodes)

    def _wait_until_reached(self, node: str, server: str) -> None:
        container = self._nodes.container(node)
        self._wait(
            f"kube-apiserver, for pods of {node}",
            lambda: self._is_reached(container, server),
            log=lambda: self._nodes.pod_log(container, "kube-proxy-*"),
        )

    def _is_reached(self, container: str, server: str) -> bool:
        try:
            self._nodes.run(container, "kubectl", "get", "--raw", "/readyz", server, *_AS_NODE, "--request-timeout=2s")
        except ClusterError:
            return False
        return True

    def _restart_kubelet(self, node: str, behaviour: Behaviour) -> None:
        container = self._nodes.container(node)
        gates, _ = settable_gates(behaviour)
        config = self._nodes.read_yaml(container, _KUBELET_CONFIG)
        new = _with_gates(config, gates)
        if new != config:
            self._nodes.write(container, _KUBELET_CONFIG, yaml.safe_dump(new, sort_keys=False).encode(), mode=0o644)
        self._install_kubelet(container, behaviour.version)
        self._nodes.run(container, "systemctl", "stop", "kubelet")
        began = next_second(datetime.now(UTC))
        time.sleep(seconds_until(began))
        self._nodes.run(container, "systemctl", "start", "kubelet")
        self._wait(
            f"the kubelet of {node}",
            lambda: self._is_ready_since(node, began),
            log=lambda: self._nodes.journal(container, "kubelet"),
            crashes=lambda: self._kubelet_crashes(container),
        )

    def _install_kubelet(self, container: str, version: str) -> None:
        now = self._nodes.run(container, _KUBELET, "--version").strip().rpartition(" v")[2]
        if now == version:
            return
        self._nodes.run(container, "mkdir", "-p", _KUBELETS)
        self._nodes.run(container, "cp", "--update", _KUBELET, f"{_KUBELETS}/{now}")
        if version not in self._nodes.run(container, "ls", _KUBELETS).split():
            binary = assets_of(self._spec, version).path("kubelet")
            self._nodes.write(container, f"{_KUBELETS}/{version}", binary, mode=0o755)
        # kubeadm 1.34 gives kubelets a flag that is gone in 1.35 and that none of them needs.
        self._nodes.run(container, "sed", "-i", 's/--pod-infra-container-image=[^ "]*//', _KUBELET_FLAGS)
        self._nodes.run(container, "cp", f"{_KUBELETS}/{version}", f"{_KUBELET}.new")
        self._nodes.run(container, "mv", f"{_KUBELET}.new", _KUBELET)

    def _is_ready_since(self, node: str, began: datetime) -> bool:
        try:
            return is_ready_since(self._api.find(NODES, node), began)
        except (*REQUEST_FAILURES, TimeoutError):
            return False

    def _kubelet_crashes(self, container: str) -> int:
        """How often a kubelet has ended since it was restarted."""
        return int(self._nodes.run(container, "systemctl", "show", "--property", "NRestarts", "--value", "kubelet"))

    def _wait(
        self,
        what: str,
        done: Callable[[], bool],
        *,
        log: Callable[[], str],
        crashes: Callable[[], int] = lambda: 0,
    ) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not done():
            ended = crashes()
            if ended >= _CRASHES or time.monotonic() > deadline:
                problem = f"ended {ended} times" if ended >= _CRASHES else f"is not done after {_READY_SECONDS:.0f} s"
                last = "".join(f"\n  {line}" for line in log().splitlines()[-_LOG_LINES:])
                raise ClusterError(f"restart of {what}: it {problem}; the end of its log:{last}")
            time.sleep(_PAUSE)


def _with_gates(config: Object, gates: Mapping[str, bool]) -> Object:
    new = deepcopy(config)
    new.pop("featureGates", None)
    return new | ({"featureGates": dict(gates)} if gates else {})
