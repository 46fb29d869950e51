"""Each row has a cluster of its own; the suite's session cluster is not started for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from drakit_kind.cluster import Cluster, ClusterSpec
from e2e.matrix.row import Row
from e2e.matrix.stage import Stage


@pytest.fixture(scope="session", autouse=True)
def _ready_figure() -> None:
    """Replaces the suite's, which measures the session cluster."""


@pytest.fixture
def stage(
    row: Row, cluster_spec: ClusterSpec, start_cluster: Callable[[ClusterSpec], Cluster], tmp_path: Path
) -> Iterator[Stage]:
    """The row's cluster, stopped after it."""
    cluster = start_cluster(_cluster_of(row, cluster_spec))
    try:
        stage = Stage(cluster, tmp_path)
        try:
            yield stage
        finally:
            stage.abandon()
    finally:
        cluster.stop()


def _cluster_of(row: Row, chosen: ClusterSpec) -> ClusterSpec:
    """What a row starts where the command line has chosen the backend."""
    return replace(
        chosen,
        name="matrix",
        version=row.version,
        versions=row.versions,
        emulated_version=row.emulated_version,
        gates=row.gates,
        runtime_config=row.runtime_config,
        nodes=["node-1"],
        real=chosen.real if row.containers else chosen.real - {"kubelet"},
    )
