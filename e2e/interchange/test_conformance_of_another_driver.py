"""``drakit conformance --driver`` judges a driver that nobody here has written, and that is known to be sound.

Its stories know no more of a driver than its name, so what they ask for must hold for that of Kubernetes' own
end-to-end tests, which is built on the library that real drivers use.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from drakit_client.resources import SERVICE_ACCOUNTS
from drakit_kind.cluster import ClusterSpec, Component
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.backends import real_components
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.conformance.records import read
from drakit_kind.local.backend import LocalCluster
from drakit_kind.testing.reported import reported
from e2e.interchange import kubernetes_driver

pytestmark = pytest.mark.capability("interchangeable parts", source="KEP-4381")

NODES = ["node-1", "node-2"]
THEIRS = "judged.test-driver.cdi.k8s.io"
_STORIES = 10
_SECONDS = 300.0


@pytest.fixture(params=kubernetes_driver.JUDGED_ON)
def cluster(
    request: pytest.FixtureRequest, cluster_spec: ClusterSpec, start_cluster: Callable[[ClusterSpec], Cluster]
) -> Iterator[LocalCluster]:
    """With nothing of Kubernetes, and with all that this user may run."""
    real: frozenset[Component] = real_components(request.param)
    cluster = start_cluster(replace(cluster_spec, name="judged", nodes=NODES, real=real))
    assert isinstance(cluster, LocalCluster)
    yield cluster
    cluster.stop()


@pytest.fixture
def judged(request: pytest.FixtureRequest, cluster: LocalCluster) -> Iterator[str]:
    """The name of the driver, which runs on all nodes."""
    with (
        Api(cluster.kubeconfig, patience=cluster.spec.patience) as api,
        reported(request.node, cluster, api),
        ExitStack() as drivers,
    ):
        api.wait(SERVICE_ACCOUNTS, "default")
        for node in NODES:
            drivers.enter_context(kubernetes_driver.running(cluster, cluster.home, api, node, THEIRS, devices=3))
        yield THEIRS


@pytest.mark.timeout(600)
def test_a_driver_of_kubernetes_conforms(cluster: LocalCluster, judged: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "drakit_kind", "conformance", "--driver", judged]
    command += ["--kubeconfig", str(cluster.kubeconfig), "--output", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    said = ended.stdout + ended.stderr
    assert [
        record.title for record in read(tmp_path / "run-1" / "records.jsonl") if record.outcome != "passed"
    ] == [], said
    assert ended.returncode == 0, said
    assert f"driver {judged} on 1.37: {_STORIES} passed" in ended.stdout
