"""Kubernetes' example driver, as its users get it: its chart, its demos, and its programs beside the cluster.

``$DRAKIT_EXAMPLE_DRIVER`` is a fetched copy of ``sigs.k8s.io/dra-example-driver`` whose programs are in its ``bin``.
Containers of simulated nodes run no images, so each program runs on this machine with the arguments, the environment
and the identity that the chart gives to its pod.
"""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from drakit_api.kubernetes_objects import Object
from drakit_client.files import private_files
from drakit_client.resources import BY_KIND, PODS
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.processes.command_output import output
from e2e import programs

VARIABLE = "DRAKIT_EXAMPLE_DRIVER"
NAME = "gpu.example.com"
RELEASE = "example"
# What the chart calls its objects: the release and the chart.
FULL_NAME = f"{RELEASE}-dra-example-driver"
_SECONDS = 120
_PAUSE = 0.05
_TOKEN_SECONDS = 3600


@dataclass(frozen=True)
class Source:
    """The fetched copy."""

    directory: Path
    helm: str

    @classmethod
    def found(cls) -> Source:
        """Find the copy, and helm; the test is left out without them."""
        place, helm = os.environ.get(VARIABLE), shutil.which("helm")
        if not place or helm is None:
            pytest.skip(f"there is no helm in PATH, or no ${VARIABLE}; .ci/helm has both")
        return cls(Path(place), helm)

    @property
    def chart(self) -> Path:
        """The chart's directory."""
        return self.directory / "deployments" / "helm" / "dra-example-driver"

    def program(self, name: str) -> str:
        """Return the path of one of its programs."""
        return str(self.directory / "bin" / name)

    def demo(self, name: str) -> list[Object]:
        """Read the objects of a demo, the namespace first."""
        documents: list[Object] = []
        for path in sorted((self.directory / "demo" / "examples" / name).glob("*.yaml")):
            documents += filter(None, yaml.safe_load_all(path.read_text()))
        return documents


@contextmanager
def installed(source: Source, cluster: Cluster, namespace: str, values: Mapping[str, str]) -> Iterator[None]:
    """Have the chart in a namespace until the end of the block."""
    helm = [source.helm, "--kubeconfig", str(cluster.kubeconfig), "--namespace", namespace]
    settings = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
    output([*helm, "install", RELEASE, str(source.chart), *settings], timeout=_SECONDS)
    try:
        yield
    finally:
        output([*helm, "uninstall", RELEASE, "--wait"], timeout=_SECONDS)


def pod_on(api: Api, node: str, component: str) -> Object:
    """Wait for the pod of a component of the chart on a node, and return it."""

    def there(pods: list[Object]) -> list[Object]:
        return [pod for pod in pods if (pod["spec"].get("nodeName"), _phase(pod)) == (node, "Running")]

    labelled = f"app.kubernetes.io/component={component}"
    pods = api.wait_all(PODS, lambda pods: bool(there(pods)), label_selector=labelled, what=f"{component} on {node}")
    return there(pods)[0]


def _phase(pod: Object) -> str | None:
    phase: str | None = (pod.get("status") or {}).get("phase")
    return phase


def identity_of(cluster: Cluster, pod: Object, directory: Path) -> Path:
    """Write a kubeconfig with the token that a pod has mounted: its account's, bound to the pod and so to its node."""
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    bound = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"]}
    wanted: Any = {"spec": {"audiences": [], "expirationSeconds": _TOKEN_SECONDS, "boundObjectRef": bound}}
    with config.new_client_from_config(str(cluster.kubeconfig)) as official:
        core: Any = client.CoreV1Api(official)
        answer = core.create_namespaced_service_account_token(pod["spec"]["serviceAccountName"], namespace, wanted)
    content = yaml.safe_load(cluster.kubeconfig.read_text())
    for user in content["users"]:
        user["user"] = {"token": answer.status.token}
    path = directory / f"{name}.kubeconfig"
    private_files.write(path, yaml.safe_dump(content).encode())
    return path


def wait_for(port: int) -> None:
    """Wait until a program listens on a port of this machine."""
    deadline = time.monotonic() + _SECONDS
    while True:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline, f"nothing listens on port {port}"
        time.sleep(_PAUSE)


@contextmanager
def driver_on(source: Source, cluster: Cluster, home: ClusterHome, pod: Object, directory: Path) -> Iterator[Path]:
    """Run the driver of a pod beside its node's kubelet; yields the kubeconfig of its identity."""
    node: str = pod["spec"]["nodeName"]
    kubelet, identity = home.nodes / node, identity_of(cluster, pod, directory)
    (container,) = pod["spec"]["containers"]
    environment = dict(_environment(pod, container))
    places = {
        "KUBELET_REGISTRAR_DIRECTORY_PATH": kubelet / "plugins_registry",
        "KUBELET_PLUGINS_DIRECTORY_PATH": kubelet / "plugins",
        "CDI_ROOT": kubelet / "cdi",
    }
    # Ports of pods are of their own addresses; here they would be this machine's. Directories of clusters are longer
    # than /var/lib/kubelet, and the path of a socket ends with the UID.
    own = {"KUBECONFIG": str(identity), "HEALTHCHECK_PORT": "-1", "METRICS_PORT": "-1"}
    own["POD_UID"] = environment["POD_UID"].partition("-")[0]
    environment |= {name: str(path) for name, path in places.items()} | own
    with programs.running([source.program(container["command"][0])], directory / f"driver-{node}.log", environment):
        yield identity


def _environment(pod: Object, container: Object) -> Iterator[tuple[str, str]]:
    fields: dict[str, Callable[[], str]] = {
        "spec.nodeName": lambda: pod["spec"]["nodeName"],
        "metadata.namespace": lambda: pod["metadata"]["namespace"],
        "metadata.uid": lambda: pod["metadata"]["uid"],
    }
    for variable in container["env"]:
        if "valueFrom" in variable:
            yield variable["name"], fields[variable["valueFrom"]["fieldRef"]["fieldPath"]]()
        else:
            yield variable["name"], variable.get("value", "")


def create(api: Api, objects: Sequence[Object]) -> list[str]:
    """Create the objects of a demo; returns the names of its pods."""
    for each in objects:
        api.create(each, resource=BY_KIND[each["kind"]])
    return [each["metadata"]["name"] for each in objects if each["kind"] == "Pod"]
