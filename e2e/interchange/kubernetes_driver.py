"""A DRA driver that is not ours: that of Kubernetes' own end-to-end tests.

``k8s.io/kubernetes/test/e2e/dra/test-driver`` publishes a pool for its node and prepares whatever a
claim of its name holds, so a story can publish partitions under its name in a pool of their own: with a node selector,
as the driver keeps only what names its node. Each claim's parameters become environment variables of its containers
(``user_<name>``).
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from drakit_client.resources import RESOURCE_SLICES
from drakit_kind.api import Api
from drakit_kind.cluster import Cluster
from drakit_kind.home import ClusterHome
from drakit_kind.kubernetes.assets import find_assets
from drakit_kind.process import tied

Object = dict[str, Any]
_STOP_SECONDS = 20


@contextmanager
def running(cluster: Cluster, home: ClusterHome, api: Api, node: str, name: str) -> Iterator[None]:
    """Run it on a node until the end of the block; it is there once it has published its slice."""
    program = find_assets(cluster.spec.version).path("dra-test-driver")
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
    # None of its own plain devices: selectors of partitions would fail on them, as they have no attributes.
    command += ["--cdi-dir", str(kubelet / "cdi"), "--num-devices", "0"]
    (kubelet / "plugins" / name).mkdir(parents=True, exist_ok=True)  # it makes the directory above only
    log = home.directory / f"driver-{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(tied(command), stdout=output, stderr=output, stdin=subprocess.DEVNULL)
    try:
        api.wait_all(RESOURCE_SLICES, _published(name), what=f"published by {name}, see {log}")
        yield
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _published(name: str) -> Callable[[list[Object]], bool]:
    return lambda slices: any(item["spec"]["driver"] == name for item in slices)
