"""Which components are Kubernetes' own, as a command line says it."""

from __future__ import annotations

import os

import pytest

from drakit_kind.backends import Local, real_components
from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.home import ClusterHome
from drakit_kind.local import LocalCluster

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
