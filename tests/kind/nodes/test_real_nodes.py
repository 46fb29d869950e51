"""The slot of real nodes, as far as it goes without root: which nodes can be, and what a failed start says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.flags import Behaviour
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.control_plane.authority import Authority
from drakit_kind.nodes.credentials import NodeCredentials
from drakit_kind.nodes.premises import Premises
from drakit_kind.nodes.real_nodes import RealNodes
from drakit_kind.processes.slots import Access


def nodes(tmp_path: Path, names: list[str]) -> RealNodes:
    access = Access("https://127.0.0.1:1", "t", None)

    def binaries(version: str) -> Any:
        raise ClusterError(f"there is no Kubernetes {version} here")

    return RealNodes(
        names,
        ClusterHome(tmp_path),
        Behaviour(version="1.37.1"),
        binaries=binaries,
        credentials=NodeCredentials(access, Authority(tmp_path / "pki")),
        connect=lambda: access.connect("nodes"),
        ended=lambda problem: None,
        lost=lambda problem: None,
    )


async def test_nodes_that_never_started_can_be_stopped(tmp_path: Path) -> None:
    slot = nodes(tmp_path, ["node-1"])
    with pytest.raises(ClusterError, match=r"there is no Kubernetes 1\.37\.1 here"):
        await slot.start()
    await slot.stop()
    assert list(tmp_path.iterdir()) == []


async def test_why_nodes_do_not_start_is_told_also_if_cleaning_up_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def leave(premises: Premises) -> None:
        raise ClusterError("the bridge is busy")

    monkeypatch.setattr(Premises, "leave", leave)
    with pytest.raises(ClusterError, match=r"there is no Kubernetes 1\.37\.1 here") as failed:
        await nodes(tmp_path, ["node-1"]).start()
    assert failed.value.__notes__ == ["cleaning up failed too: the bridge is busy"]
