"""A fake ``go``, a pinned version that it builds, and the command as a user types it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from drakit_kind.kubernetes.releases import Release
from tests.kind.drakit_command import Drakit
from tests.kind.kubernetes.fake_go import FakeGo, write_module


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    """A ``go`` in PATH that writes a small script instead of building."""
    fake = FakeGo.make(tmp_path / "fake-go")
    monkeypatch.setenv("PATH", f"{fake.state / 'bin'}:{os.environ['PATH']}")
    return fake


@pytest.fixture
def release(tmp_path: Path) -> Release:
    """1.37.1 with three mains and one tool."""
    return write_module(tmp_path / "modules", "1.37.1", ["kube-apiserver", "kubelet", "etcd"])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no directory of the user's."""
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DRAKIT_KUBERNETES_DIR", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def drakit(drakit: Drakit, cache: Path) -> Drakit:
    """Run the command on the versions that are really pinned, with the cache of this test."""
    return drakit
