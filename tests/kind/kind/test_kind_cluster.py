"""A kind cluster that does not start says why, whatever else goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec
from drakit_kind.home import ClusterHome
from drakit_kind.kind import cluster, images
from drakit_kind.kind.cluster import KindCluster
from tests.kind.kind.fake_docker import FakeDocker

SPEC = ClusterSpec(name="story", nodes=["a"], real=frozenset(COMPONENTS))


class NoGuard:
    def __init__(self, *_: Any, **__: Any) -> None: ...

    def dismiss(self) -> None: ...


def test_the_reason_of_a_failed_start_is_told_although_the_daemon_is_gone_too(
    fake: FakeDocker, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.answers("exit 0")

    def no_images(*_: object) -> None:
        fake.answers("echo 'the daemon is gone' >&2; exit 1")
        raise ClusterError("no node image")

    monkeypatch.setattr(cluster, "Guard", NoGuard)
    monkeypatch.setattr(images, "node_images", no_images)
    with pytest.raises(ClusterError, match="no node image") as error:
        KindCluster(SPEC, ClusterHome(home), kind=home / "kind").start()
    (note,) = error.value.__notes__
    assert "the daemon is gone" in note
