"""What names can be, and what else a spec says is refused before anything starts, whatever the backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Component, DriverSpec, check_names
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.kind.backend import KindCluster
from drakit_kind.local.backend import LocalCluster

REAL: frozenset[Component] = frozenset({"kubelet"})
GPUS = DriverSpec(profile="a100-40gb", nodes=["node-9"])


@pytest.mark.parametrize(
    "spec",
    [
        ClusterSpec(name="a", nodes=["node-1", "a.b-c.d", "x" * 200]),
        ClusterSpec(name="0-9", nodes=["x" * 52], real=REAL),
        ClusterSpec(nodes=["node-9"], drivers=[GPUS]),
        ClusterSpec(),
    ],
)
def test_names_of_kubernetes_are_names_here(spec: ClusterSpec) -> None:
    check_names(spec)


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a.b", "a/b", "../a", "a" * 41])
def test_a_cluster_is_named_like_a_directory(name: str) -> None:
    with pytest.raises(ClusterError, match=r"cluster name .*: use at most 40 lower case letters"):
        check_names(ClusterSpec(name=name))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        *(
            ({"nodes": [name]}, f"node name {name!r}: use lower case letters, digits, '-' and '.', at most 253")
            for name in ("", "..", "a/b", "../a", "Node", "a..b", "-a", "a-", "a.-b", "a\n", "a" * 254)
        ),
        ({"nodes": ["a" * 53], "real": REAL}, "at most 52 of them"),
        ({"nodes": ["a", "b", "a"]}, "each node needs a name of its own: a more than once"),
        ({"nodes": ["node-1"], "drivers": [GPUS]}, "driver a100-40gb: no node node-9; this cluster has node-1"),
        ({"drivers": [GPUS]}, "driver a100-40gb: no node node-9; this cluster has none"),
    ],
)  # fmt: skip
def test_what_is_no_node_is_refused(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(ClusterError) as refused:
        check_names(replace(ClusterSpec(), **spec))
    assert says in str(refused.value)


@pytest.mark.parametrize("backend", [LocalCluster, KindCluster])
def test_every_backend_asks_before_it_does_anything(
    backend: Callable[[ClusterSpec, ClusterHome], Cluster], tmp_path: Path
) -> None:
    home = ClusterHome(tmp_path / "home")
    spec = ClusterSpec(nodes=["node-1"], drivers=[GPUS], real=frozenset(COMPONENTS))
    with pytest.raises(ClusterError, match="driver a100-40gb: no node node-9; this cluster has node-1"):
        backend(spec, home).start()
    assert not home.directory.exists()
