"""What must be there before the stories begin: else each of them says what is missing, or has no time left."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from drakit_kind.backends import real_components
from drakit_kind.cluster import ClusterError, ClusterSpec, Report
from drakit_kind.conformance.pytest_options import last_of
from drakit_kind.conformance.runs import Configuration
from drakit_kind.control_plane.flags import PROGRAMS


def prepare(configuration: Configuration, options: Sequence[str], report: Report) -> None:
    """Make the images of a cluster in kind; raise ``ClusterError`` where programs or Docker are missing.

    ``options`` are the user's for pytest. Rows of the matrix have clusters of several versions; each speaks for itself.
    """
    if configuration.kubeconfig is not None or configuration.matrix:
        return
    spec = ClusterSpec(
        version=configuration.version,
        real=real_components(configuration.backend, configuration.real),
        kubernetes_dir=last_of(options, "--kubernetes-dir"),
    )
    if configuration.backend == "kind":
        _require_kind(spec, last_of(options, "--kind-bin"))
        _make_images(spec, last_of(options, "--kind-image"), report)
    else:
        _require_programs(spec)


def _require_programs(spec: ClusterSpec) -> None:
    from drakit_kind.kubernetes.assets import assets_of

    for component in sorted(spec.real):
        for program in PROGRAMS[component]:
            assets_of(spec, spec.version).path(program)


def _require_kind(spec: ClusterSpec, named: str | None) -> None:
    """Before images are made, which takes minutes."""
    from drakit_kind.kind.program import kind_program

    if importlib.util.find_spec("pytest_kind") is None:
        raise ClusterError("pytest-kind is not installed: pip install 'drakit[kind]'")
    kind_program(spec, named)


def _make_images(spec: ClusterSpec, image: str | None, report: Report) -> None:
    from drakit_kind.kind import images
    from drakit_kind.kind.docker import check_daemon

    check_daemon()
    images.node_images(spec, image, report)
    for name, _ in images.pod_images(report):
        report(f"{name} is there")
