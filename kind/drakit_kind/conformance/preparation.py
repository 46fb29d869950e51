"""What must be there before the stories begin: else each of them says what is missing, or has no time left."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from drakit_kind.cluster import ClusterError, ClusterSpec, Component, Report
from drakit_kind.clusters.backends import real_components, refuse_unused_programs
from drakit_kind.clusters.flags import PROGRAMS
from drakit_kind.conformance.pytest_options import last_of
from drakit_kind.conformance.runs import Configuration, suite, told
from drakit_kind.local import backend as local
from drakit_kind.testing.prerequisites import require_here, require_kind


def prepare(configuration: Configuration, options: Sequence[str], report: Report) -> None:
    """Make the images of a cluster in kind; raise ``ClusterError`` or ``FeatureGateError`` for what cannot start.

    That is what a start would refuse, and where programs or Docker are missing. ``options`` are the user's for pytest.
    """
    if configuration.kubeconfig is not None:
        return
    spec = _cluster_of(configuration, options)
    refuse_unused_programs(spec, prefix="--drakit-")
    if configuration.backend == "kind":
        require_kind(spec, last_of(options, "--drakit-kind-bin"))
        _make_images(spec, last_of(options, "--drakit-kind-image"), report)
        return
    local.check_spec(spec)
    if configuration.matrix:
        _prepare_rows(configuration, spec, options, report)
    else:
        require_here(spec, report)


def _cluster_of(configuration: Configuration, options: Sequence[str]) -> ClusterSpec:
    from drakit_api.features import parse_gates
    from drakit_kind.cluster import minor_version
    from drakit_kind.testing.features_off import NEEDED, to_turn_on

    minor = configuration.emulated or minor_version(configuration.version)
    is_needed = configuration.gates == NEEDED  # known when the stories are, but they are gates of this version
    return ClusterSpec(
        version=configuration.version,
        real=real_components(configuration.backend, configuration.real),
        kubernetes_dir=last_of(options, "--drakit-kubernetes-dir"),
        nodes=["node-1"],
        emulated_version=configuration.emulated,
        gates=to_turn_on((), minor) if is_needed else parse_gates(configuration.gates),
    )


def _require_programs(spec: ClusterSpec, of: Iterable[tuple[Component, str]]) -> None:
    from drakit_kind.kubernetes.assets import assets_of

    for component, version in of:
        for program in PROGRAMS[component]:
            assets_of(spec, version).path(program)


def _prepare_rows(configuration: Configuration, spec: ClusterSpec, options: Sequence[str], report: Report) -> None:
    """Check programs for the rows that the user's options choose, each with its own versions, and the machine.

    For the machine the first row stands for all: what they need of it is the same.
    """
    rows = _rows(spec, in_kind=configuration.backend == "kind")
    if options and spec.real:
        chosen = told(configuration, options)
        rows = [row for row in rows if any(name.endswith(f"[{row.name}]") for name in chosen)]
    for row in rows:
        real = sorted(spec.real - row.ours)
        needed = [(component, version) for component in real for version in row.versions_of(component)]
        try:
            _require_programs(spec, needed)
        except ClusterError as error:
            raise ClusterError(f"row {row.name}: {error}") from None
    for row in rows[:1]:
        require_here(replace(spec, version=row.version, versions=row.versions), report)


def _rows(spec: ClusterSpec, *, in_kind: bool) -> list[Any]:
    """List the matrix's rows that are not left out here; the suite is no part of this package."""
    sys.path.insert(0, str(suite().parent))
    try:
        rows = importlib.import_module("e2e.matrix.rows").ROWS
    finally:
        sys.path.pop(0)
    return [row for row in rows if not row.left_out(spec.real, in_kind=in_kind)]


def _make_images(spec: ClusterSpec, image: str | None, report: Report) -> None:
    from drakit_kind.kind.node_images import images

    images.node_images(spec, image, report)
    for name, _ in images.pod_images(report):
        report(f"{name} is there")
