"""The nodes of a kind cluster as far as restarts of components touch them: files, static pods and kubelets."""

from __future__ import annotations

import fnmatch
import hashlib
import itertools
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import yaml

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import NODES
from drakit_kind.cluster import ClusterError
from drakit_kind.kind.static_pods import MANIFESTS

CONTROL_PLANE = "control-plane"
KUBELET = "/usr/bin/kubelet"
KUBELET_CONFIG = "/var/lib/kubelet/config.yaml"
BROKEN = "Broken"  # a gate with which nothing starts
_PODS = "/var/lib/kubelet/pods"
_LOOKS = 3  # at what a kubelet does until it has done it


def manifest(program: str, version: str, port: int) -> Object:
    """A static pod as kubeadm writes it, shortened."""
    command = [program, "--bind-address=127.0.0.1", "--leader-elect=false"]
    container: Object = {"name": program, "image": f"registry.k8s.io/{program}:v{version}", "command": command}
    container["ports"] = [{"name": "probe-port", "containerPort": port}]
    asked = {"host": "127.0.0.1", "path": "/readyz", "port": "probe-port", "scheme": "HTTPS"}
    container["readinessProbe"] = {"httpGet": asked}
    return {"metadata": {"name": program}, "spec": {"containers": [container]}}


class Machines:
    """In the place of ``Nodes`` and, as far as pods are asked for, of ``Api``."""

    control_plane = CONTROL_PLANE

    def __init__(self, nodes: Iterable[str], version: str, programs: Iterable[str]) -> None:
        self.files: dict[str, dict[str, bytes]] = {CONTROL_PLANE: {}}
        self._ports = {program: port for port, program in enumerate(programs, 10257)}
        for program, port in self._ports.items():
            text = yaml.safe_dump(manifest(program, version, port)).encode()
            self.files[CONTROL_PLANE][f"{MANIFESTS}/{program}.yaml"] = text
        for node in nodes:
            self.files[node] = {
                KUBELET: version.encode(),
                KUBELET_CONFIG: yaml.safe_dump({"syncFrequency": "5s"}).encode(),
            }
        self.loaded: list[str] = []  # images that were brought into the control plane
        self.written: list[tuple[str, str]] = []
        self.away: dict[str, int] = {}  # for how many questions each node's Service of the API server answers none
        self.asked: list[str] = []  # nodes from which that was asked
        self.started: list[tuple[str, str]] = []  # each kubelet's version at each of its starts
        self.nodes: dict[str, Object] = {}  # as their kubelets have reported
        self._silent: dict[str, int] = {}  # how many more looks each kubelet does not report for
        self._running = dict.fromkeys(self.files, version)
        self.has_images = True  # and can pull them
        self.unseen: int | None = None  # which of the next looks at containers, counted from 1, shows none
        self._containers: dict[str, tuple[list[str], bytes]] = {}  # of static pods: files of starts, and the manifest
        self._not_yet = dict.fromkeys(self._ports, 0)  # how many looks ago their manifest changed
        self._starts = itertools.count(1)
        for program in self._ports:
            self._look_at_pod(program, at_once=True)
        for node in nodes:
            self._report(node)

    # What Nodes has.

    def container(self, node: str) -> str:
        return node

    def run(self, container: str, *command: str) -> str:
        program, *arguments = command
        if program == KUBELET:
            return f"Kubernetes v{self.files[container][KUBELET].decode()}\n"
        answer = getattr(self, f"_{program}")(container, *arguments)
        return answer or ""

    def _kubectl(self, container: str, *arguments: str) -> str:
        """Of a node, which asks the Service of the API server."""
        assert arguments[:3] == ("get", "--raw", "/readyz")
        assert "--server=https://10.96.0.1" in arguments
        assert "/etc/kubernetes/kubelet.conf" in arguments  # who is nobody is asked for a name, which nobody types
        self.asked.append(container)
        if self.away.get(container, 0):
            self.away[container] -= 1
            raise ClusterError("connection refused")
        return "ok"

    def kubectl(self, *arguments: str) -> str:
        if arguments[:3] == ("get", "service", "kubernetes"):
            return "10.96.0.1"
        assert arguments[:3] == ("get", "--raw", "/readyz")
        (program,) = (each for each, port in self._ports.items() if f"--server=https://127.0.0.1:{port}" in arguments)
        self._look_at_pod(program)
        if program not in self._containers or self._fails(program):
            raise ClusterError("connection refused")
        return "ok"

    def load(self, archive: Path, containers: Iterable[str]) -> None:
        assert list(containers) == [CONTROL_PLANE]
        assert archive.exists()
        self.loaded.append(archive.name)

    def read_yaml(self, container: str, path: str) -> Object:
        loaded: Object = yaml.safe_load(self.files[container][path])
        return loaded

    def write(self, container: str, path: str, content: bytes | Path, *, mode: int = 0o600) -> None:
        self.files[container][path] = content.read_bytes() if isinstance(content, Path) else content
        self.written.append((container, path))

    def component_log(self, program: str, uid: str = "*") -> str:
        return f"{program} does not like {BROKEN}\n"

    def journal(self, container: str, unit: str) -> str:
        pulls = "" if self.has_images else "kube-scheduler: ErrImagePull\n"
        return f"{unit} of {container} does not like {BROKEN}\n{pulls}"

    # What Api has.

    def find(self, resource: object, name: str) -> Object:
        assert resource is NODES
        return self._look_at_node(name)

    def wait_gone(self, resource: object, names: list[str], **options: object) -> None:
        assert set(names) & {f"{program}-{CONTROL_PLANE}" for program in self.static_pods()} == set()

    # What kubelets do.

    def _look_at_pod(self, program: str, *, at_once: bool = False) -> None:
        """Its container ends some time after its manifest went, and another starts some time after that came."""
        text = self.files[CONTROL_PLANE].get(f"{MANIFESTS}/{program}.yaml")
        present = self._containers[program][1] if program in self._containers else None
        self._not_yet[program] = 0 if text == present else self._not_yet[program] + 1
        if not at_once and self._not_yet[program] <= _LOOKS:
            return
        if present is not None:
            del self._containers[program]
        elif text is not None and self.has_images:
            uid = hashlib.sha256(text).hexdigest()[:8]
            starts = 4 if BROKEN.encode() in text else 1
            files = [f"{_PODS}/{uid}/containers/{program}/{next(self._starts):08x}" for _ in range(starts)]
            self._containers[program] = (files, text)
        self._not_yet[program] = 0

    def _look_at_node(self, node: str) -> Object:
        self._silent[node] = self._silent.get(node, 0) - 1
        if self._silent[node] == 0 and not self._kubelet_fails(node):
            self._report(node)
        return self.nodes[node]

    def _report(self, node: str) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": now}
        info = {"kubeletVersion": f"v{self._running[node]}"}
        self.nodes[node] = {"status": {"conditions": [condition], "nodeInfo": info}}

    # What its commands do.

    def manifest(self, program: str) -> Object:
        """The manifest that the kubelet sees."""
        return self.read_yaml(CONTROL_PLANE, f"{MANIFESTS}/{program}.yaml")

    def static_pods(self) -> set[str]:
        """The programs of those whose manifests the kubelet sees."""
        return {program for program in self._ports if f"{MANIFESTS}/{program}.yaml" in self.files[CONTROL_PLANE]}

    def images_that_run(self) -> set[str]:
        """Those of static pods, now."""
        manifests = [yaml.safe_load(text) for _, text in self._containers.values()]
        return {manifest["spec"]["containers"][0]["image"] for manifest in manifests}

    def _fails(self, program: str) -> bool:
        """Whether the container that runs is one that does not work."""
        return BROKEN.encode() in self._containers[program][1]

    def _kubelet_fails(self, node: str) -> bool:
        return BROKEN in self.read_yaml(node, KUBELET_CONFIG).get("featureGates", {})

    def search(self, container: str, directory: str, *tests: str) -> str:
        pattern = tests[-1]
        if directory == MANIFESTS:
            return " ".join(path for path in self.files[container] if path == f"{MANIFESTS}/{pattern}")
        program = pattern.split("/")[-2]
        self._look_at_pod(program)
        if self.unseen:
            self.unseen -= 1
            if not self.unseen:
                return ""
        files, _ = self._containers.get(program, ([], b""))
        assert directory == _PODS
        assert all(fnmatch.fnmatch(file, pattern) for file in files)
        return "\n".join(files)

    def _mv(self, container: str, source: str, target: str) -> None:
        self.files[container][target] = self.files[container].pop(source)

    def _rm(self, container: str, path: str) -> None:
        del self.files[container][path]

    def _mkdir(self, container: str, *arguments: str) -> None:
        return

    def _cp(self, container: str, *arguments: str) -> None:
        source, target = arguments[-2:]
        self.files[container][target] = self.files[container][source]

    def _ls(self, container: str, directory: str) -> str:
        return "\n".join(path.rpartition("/")[2] for path in self.files[container] if path.startswith(f"{directory}/"))

    def _sed(self, container: str, *arguments: str) -> None:
        return

    def _systemctl(self, container: str, action: str, *arguments: str) -> str:
        if action == "stop":
            self._report(container)  # at the worst moment
            return ""
        if action == "start":
            self._running[container] = self.files[container][KUBELET].decode()
            self.started.append((container, self._running[container]))
            self._silent[container] = _LOOKS
            return ""
        return "2\n" if self._kubelet_fails(container) else "0\n"
