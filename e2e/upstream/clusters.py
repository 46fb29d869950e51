"""The clusters that tests run in: one with default gates, one with those of tests of what is off by default.

A test that may not run beside others gets a cluster of its own: on this machine that takes two seconds, and nobody
waits for it; in kind a minute.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from drakit_client.errors import REQUEST_FAILURES
from drakit_kind.cluster import ClusterError, ClusterSpec, Component
from drakit_kind.clusters.backends import Backend
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.kind.backend import KindCluster
from drakit_kind.kubernetes.assets import assets_of
from drakit_kind.local.backend import LocalCluster
from drakit_kind.nodes.image_import import import_images
from drakit_kind.processes.concurrency import together

# Some tests need two nodes, none needs more. Short names, as drivers' sockets lie below their directories.
_NODES = ("a", "b")
# Tests of other versions of the API are part of the suite.
_RUNTIME_CONFIG = {f"resource.k8s.io/{version}": "true" for version in ("v1alpha3", "v1beta1", "v1beta2")}
# What Kubernetes' tests of DRA test and is off by default.
_GATES = (
    "DRADeviceCompatibilityGroups",
    "DRAOptionalNodeOperations",
    "DRAPartitionableDevicesType",
    "DRAResourcePoolStatus",
)
# drakit's API server serves no PodGroups, without which a kube-scheduler with these does not become ready.
_WORKLOAD_GATES = ("DRAWorkloadResourceClaims", "GenericWorkload")
_WORKLOAD_CONFIG = {"scheduling.k8s.io/v1beta1": "true"}


@dataclass(frozen=True)
class Clusters:
    """Clusters of one ``backend`` with some ``real`` components, whose logs are kept in ``logs``.

    ``images`` is an archive of those that real nodes get, None where nodes are simulated. ``kind_image`` is the node
    image in kind, None for drakit's own.
    """

    backend: Backend
    real: frozenset[Component]
    logs: Path
    images: Path | None
    kind_image: str | None = None

    @asynccontextmanager
    async def running(self, name: str, *, with_gates: bool) -> AsyncIterator[ClusterHome]:
        """A cluster for the time of the block; ``name`` is that of its log."""
        home = ClusterHome.temporary()
        cluster = self._cluster(self._spec(with_gates=with_gates), home)
        try:
            await asyncio.to_thread(cluster.start)
            if self.images is not None:
                await _import_images(cluster, self.images)
            yield home
        finally:
            with suppress(ClusterError, *REQUEST_FAILURES):  # of one that did not start, the error has their ends
                (self.logs / f"cluster-{name}.log").write_text(cluster.logs())
            await asyncio.to_thread(cluster.stop)
            shutil.rmtree(home.directory, ignore_errors=True)

    def _spec(self, *, with_gates: bool) -> ClusterSpec:
        has_workloads = "apiserver" in self.real
        gates = (*_GATES, *(_WORKLOAD_GATES if has_workloads else ()))
        return ClusterSpec(
            name="upstream",
            nodes=_NODES,
            real=self.real,
            gates=dict.fromkeys(gates, True) if with_gates else {},
            runtime_config={**_RUNTIME_CONFIG, **(_WORKLOAD_CONFIG if has_workloads else {})},
        )

    def _cluster(self, spec: ClusterSpec, home: ClusterHome) -> LocalCluster | KindCluster:
        if self.backend == "kind":
            return KindCluster(spec, home, image=self.kind_image)
        return LocalCluster(spec, home, temporary=True)


async def _import_images(cluster: LocalCluster | KindCluster, images: Path) -> None:
    if isinstance(cluster, KindCluster):
        await asyncio.to_thread(cluster.load_images, images)
        return
    binaries = assets_of(cluster.spec, cluster.spec.version)
    nodes = {name: cluster.home.nodes / name / "host" for name in cluster.spec.nodes}
    await together(*(import_images(binaries, nodes[name], images, node=name) for name in nodes))
