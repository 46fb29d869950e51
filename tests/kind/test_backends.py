"""Which components are Kubernetes' own, as a command line says it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Component, DriverSpec
from drakit_kind.clusters.backends import Local, real_components, started_components
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.local.backend import LocalCluster
from drakit_kind.nodes import leftovers

CONTROL_PLANE = {"apiserver", "controllers", "scheduler"}


@pytest.mark.parametrize(
    ("backend", "user", "chosen", "real"),
    [
        ("embedded", 0, None, set()),
        ("embedded", 1000, "scheduler", {"scheduler"}),
        ("binaries", 1000, None, CONTROL_PLANE),
        ("binaries", 0, None, CONTROL_PLANE | {"kubelet"}),
        ("binaries", 0, "apiserver, controllers", {"apiserver", "controllers"}),
        ("binaries", 0, "", set()),
    ],
)
def test_what_a_backend_runs(
    monkeypatch: pytest.MonkeyPatch, backend: Local, user: int, chosen: str | None, real: set[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert real_components(backend, chosen) == real


def test_a_component_that_does_not_exist_is_named() -> None:
    with pytest.raises(ClusterError, match="--real proxy: there is no component 'proxy'; use apiserver, controllers"):
        real_components("binaries", "proxy")


def test_a_real_api_server_is_not_started_without_real_controllers() -> None:
    spec = ClusterSpec(name="x", real=frozenset({"apiserver"}))
    cluster = LocalCluster(spec, ClusterHome.of("never-started"))
    with pytest.raises(ClusterError, match="a real API server needs real controllers"):
        cluster.start()


@pytest.mark.parametrize(
    ("spec", "started"),
    [
        (ClusterSpec(nodes=["node-1"]), ["apiserver", "controllers", "scheduler", "kubelet"]),
        (ClusterSpec(), ["apiserver", "controllers", "scheduler"]),
        (ClusterSpec(scheduler=False), ["apiserver", "controllers"]),
    ],
)
def test_an_api_server_alone_starts_nothing_else(spec: ClusterSpec, started: list[Component]) -> None:
    assert started_components(spec) == started


@pytest.mark.slow
def test_programs_are_asked_for_only_where_they_are_started(tmp_path: Path) -> None:
    """The directory has the programs of an API server with controllers, as envtest's has, and no others."""
    for name in ("etcd", "kube-apiserver", "kube-controller-manager"):
        (tmp_path / "1.37.1").mkdir(exist_ok=True)
        program = tmp_path / "1.37.1" / name
        program.write_text("#!/bin/sh\necho not really\nexit 7\n")
        program.chmod(0o755)
    everything = frozenset(COMPONENTS)
    spec = ClusterSpec(real=everything, version="1.37.1", scheduler=False, kubernetes_dir=str(tmp_path))
    home = ClusterHome.temporary()
    try:
        with pytest.raises(ClusterError, match=r"(?s)etcd ended with status 7; .*not really"):
            LocalCluster(spec, home).start()
    finally:
        shutil.rmtree(home.directory)


@pytest.mark.parametrize(("real", "refused"), [(frozenset({"kubelet"}), True), (frozenset(), False)])
def test_a_real_kubelet_emulates_no_other_version(real: frozenset[Component], refused: bool) -> None:
    cluster = LocalCluster(ClusterSpec(real=real, nodes=["node-1"]), ClusterHome.of("never-started"))
    says = "a kubelet has no emulated version; name a version" if refused else "the cluster's process does not run"
    with pytest.raises(ClusterError, match=says):
        cluster.restart("kubelet", emulated_version="1.36")


def test_a_driver_on_a_node_that_does_not_exist_is_refused() -> None:
    cluster = LocalCluster(ClusterSpec(nodes=["node-1"]), ClusterHome.of("never-started"))
    with pytest.raises(ClusterError, match="driver a30: no node node-2; this cluster has node-1"):
        cluster.driver(DriverSpec(profile="a30", nodes=["node-2"]))


def test_what_real_nodes_left_is_undone_also_where_the_next_cluster_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    homes: list[Path | None] = []
    monkeypatch.setattr(leftovers, "undo_dead", homes.append)
    home = ClusterHome.of("never-started")
    LocalCluster(ClusterSpec(), home).stop()
    assert homes == [home.directory]
