"""Which kind is run: one that is named must be there, as nothing is downloaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.kind.backend import KindCluster
from drakit_kind.kind.program import kind_program
from tests.kind.kind.fake_docker import FakeDocker

SPEC = ClusterSpec(name="story", nodes=["a"], real=frozenset(COMPONENTS))


@pytest.fixture(autouse=True)
def _nothing_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("DRAKIT_KUBERNETES_DIR", raising=False)


def _program(file: Path, mode: int = 0o755) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(mode)
    return file


def test_the_one_that_is_named_comes_first_then_drakits_build_then_that_in_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_path = _program(tmp_path / "path" / "kind")
    named = _program(tmp_path / "my-kind")
    monkeypatch.setenv("PATH", str(in_path.parent))
    monkeypatch.chdir(tmp_path)
    assert kind_program(SPEC, None) == in_path
    built = _program(tmp_path / "built" / "kind")
    monkeypatch.setenv("DRAKIT_KUBERNETES_DIR", str(built.parent))
    assert kind_program(SPEC, None) == built
    assert kind_program(SPEC, named) == kind_program(SPEC, "./my-kind") == named
    assert kind_program(SPEC, "kind") == in_path


@pytest.mark.parametrize("name", ["missing", "not-executable", "directory", "name-in-path"])
def test_a_name_of_no_program_is_refused_before_anything_is_asked_for(
    fake: FakeDocker, tmp_path: Path, name: str
) -> None:
    """pytest-kind would download an old kind to where it was told to look for one."""
    fake.answers("exit 0")
    (tmp_path / "directory").mkdir()
    _program(tmp_path / "not-executable", mode=0o644)
    named = Path(name) if name == "name-in-path" else tmp_path / name
    cluster = KindCluster(SPEC, ClusterHome(tmp_path / "cluster"), kind=named)
    with pytest.raises(
        ClusterError, match=rf"^--drakit-kind-bin {named}: there is no program of this name; name another"
    ):
        cluster.start()
    assert fake.calls == []


@pytest.mark.parametrize("version", ["1.37.1", "1.36.3", "1.35.1"])
def test_without_any_the_error_says_the_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """kind is in the module of the newest version only, and serves all."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ClusterError,
        match=r"no kind in PATH; install it.*--drakit-kind-bin.*`drakit kubernetes build 1\.37\.1` .*`--only kind`",
    ):
        kind_program(replace(SPEC, version=version), None)
