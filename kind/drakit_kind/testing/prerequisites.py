"""What must be there for a cluster of tests to start, looked for before it: else each test says what lacks."""

from __future__ import annotations

import importlib.util
import shutil

from drakit_kind.cluster import ClusterError, ClusterSpec, Report
from drakit_kind.clusters.backends import Backend


def require(spec: ClusterSpec, backend: Backend, report: Report, *, kind_program: str | None = None) -> None:
    """Raise ``ClusterError`` for what such a cluster lacks here. Nothing is built, but busybox may be downloaded."""
    if backend == "kind":
        require_kind(spec, kind_program)
    else:
        require_here(spec, report)


def require_here(spec: ClusterSpec, report: Report) -> None:
    """Raise ``ClusterError`` if a cluster could not start here, in a temporary directory like that of tests."""
    from drakit_kind.clusters.home import ClusterHome
    from drakit_kind.local import backend as local

    home = ClusterHome.temporary()
    try:
        local.check(spec, home, report)
    finally:
        shutil.rmtree(home.directory, ignore_errors=True)


def require_kind(spec: ClusterSpec, named: str | None) -> None:
    """Raise ``ClusterError`` for what kind lacks, before images are built for minutes; ``named``: the user's kind."""
    from drakit_kind.kind.config import check_components
    from drakit_kind.kind.docker import check_daemon
    from drakit_kind.kind.program import kind_program

    check_components(spec)
    if importlib.util.find_spec("pytest_kind") is None:
        raise ClusterError("pytest-kind is not installed: pip install '.[kind]' in drakit's directory")
    kind_program(spec, named)
    check_daemon()
