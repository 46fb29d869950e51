"""Each row has a cluster of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterSpec, Component
from drakit_kind.clusters.backends import real_components
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.testing.reported import reported
from drakit_kind.testing.settings.values import backend, text
from e2e.matrix.row import Row, StillLacking
from e2e.matrix.stage import Stage


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark rows with what they show; those that cannot be run here, or that must fail here, with the reason.

    What else a row says goes with its reports.
    """
    real = real_components(backend(config), text(config, "real"))
    for item in items:
        row = getattr(item, "callspec", None) and item.callspec.params.get("row")  # type: ignore[attr-defined]
        if isinstance(row, Row):
            phases = " → ".join(phase.name for phase in row.phases)
            item.user_properties += [("versions", row.all_versions), ("phases", phases)]
            for mark in _marks(row, real, in_kind=backend(config) == "kind"):
                item.add_marker(mark)


def _marks(row: Row, real: frozenset[Component], *, in_kind: bool) -> Iterator[pytest.MarkDecorator]:
    switched = {gate for phase in row.phases for change in phase.changes for gate in change.gates}
    yield pytest.mark.capability(row.feature, source=row.source, gates=sorted({*row.gates, *switched}))
    if reason := row.left_out(real, in_kind=in_kind):
        yield pytest.mark.skip(reason=reason)
    if row.not_yet and not real:
        yield pytest.mark.xfail(reason=f"not yet: {row.not_yet}", raises=StillLacking, strict=True)


@pytest.fixture
def stage(
    row: Row,
    request: pytest.FixtureRequest,
    cluster_spec: ClusterSpec,
    start_cluster: Callable[[ClusterSpec], Cluster],
    tmp_path: Path,
) -> Iterator[Stage]:
    """The row's cluster, stopped after it."""
    cluster = start_cluster(_cluster_of(row, cluster_spec))
    try:
        stage = Stage(cluster, tmp_path)
        try:
            with reported(request.node, cluster, stage.api, stage.drivers):
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
        real=chosen.real - row.ours,
    )
