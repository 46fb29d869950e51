"""A DRA driver that is not ours: that of Kubernetes' own end-to-end tests.

``k8s.io/kubernetes/test/e2e/dra/test-driver`` publishes a pool for its node and prepares whatever a
claim of its name holds, so a story can publish partitions under its name in a pool of their own: with a node selector,
as the driver keeps only what names its node. Its own devices are plain ones, ``device-00`` and so on, in a pool named
after the node. Each claim's parameters become environment variables of its containers (``user_<name>``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import RESOURCE_SLICES
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.kubernetes.assets import find_assets
from e2e import programs

JUDGED_ON = ("embedded", "binaries")  # clusters
PROGRAM = "dra-test-driver"


@contextmanager
def running(cluster: Cluster, home: ClusterHome, api: Api, node: str, name: str, *, devices: int) -> Iterator[None]:
    """Run it on a node, with ``devices`` of its own, until the end of the block.

    It is there once it has published its slice, also one without devices.
    """
    program = find_assets(cluster.spec.version).path(PROGRAM)
    kubelet = home.nodes / node
    command = [
        str(program),
        "kubelet-plugin",
        "--drivername",
        name,
        "--node-name",
        node,
        "--kubeconfig",
        str(cluster.kubeconfig),
    ]
    command += ["--plugin-registration-path", str(kubelet / "plugins_registry"), "--datadir", str(kubelet / "plugins")]
    command += ["--cdi-dir", str(cdi_directory(home, node)), "--num-devices", str(devices)]
    (kubelet / "plugins" / name).mkdir(parents=True, exist_ok=True)  # it makes the directory above only
    log = home.directory / f"driver-{name}-{node}.log"
    with programs.running(command, log):
        api.wait_all(RESOURCE_SLICES, _published(name, node), what=f"published by {name}, see {log}")
        yield


def cdi_directory(home: ClusterHome, node: str) -> Path:
    """Where it writes a file for each request that it has prepared on a node, with its name in front."""
    return home.nodes / node / "cdi"


def _published(name: str, node: str) -> Callable[[list[Object]], bool]:
    return lambda slices: any((item["spec"]["driver"], item["spec"].get("nodeName")) == (name, node) for item in slices)
