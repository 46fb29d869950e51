"""A program that does not start is named to whoever started the cluster, and has the user's environment."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.local.backend import LocalCluster
from drakit_kind.processes.spawn import SpawnError, spawn

pytestmark = pytest.mark.slow


@pytest.fixture
def home() -> Iterator[ClusterHome]:
    made = ClusterHome.temporary()
    yield made
    shutil.rmtree(made.directory)


def _failure(home: ClusterHome, programs: Path, etcd: str) -> str:
    """What the start of a cluster says whose etcd is this shell script."""
    programs.mkdir()
    for name in ("etcd", "kube-apiserver", "kube-controller-manager"):
        (programs / name).write_text(f"#!/bin/sh\n{etcd}\n")
        (programs / name).chmod(0o700)
    spec = ClusterSpec(real=frozenset({"apiserver", "controllers"}), kubernetes_dir=str(programs.parent))
    with pytest.raises(ClusterError) as failed:
        LocalCluster(spec, home).start()
    return str(failed.value)


def test_a_program_that_ends_at_once_is_named_with_the_end_of_its_own_log(home: ClusterHome, tmp_path: Path) -> None:
    failure = _failure(home, tmp_path / "1.37.1", "seq 40; exit 3")
    headline = f"cluster default did not start: etcd ended with status 3; the end of {home.component_log('etcd')}:"
    assert failure.splitlines() == [headline, *(f"  {number}" for number in range(26, 41))]
    assert "Traceback" not in home.log.read_text()
    assert "etcd ended with status 3" in home.log.read_text()


def test_programs_trust_the_authorities_that_the_user_trusts(
    home: ClusterHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node's containerd pulls images over https; without any variable, from authorities of the machine."""
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/own-ca.pem")
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    failure = _failure(
        home, tmp_path / "1.37.1", 'echo "file ${SSL_CERT_FILE-unset} dir ${SSL_CERT_DIR-unset}"; exit 1'
    )
    assert failure.splitlines()[1:] == ["  file /etc/own-ca.pem dir unset"]


def test_what_went_wrong_after_a_failed_start_is_told_too(home: ClusterHome) -> None:
    code = (
        "import drakit_kind.local.host as host\n"
        "from drakit_kind.cluster import ClusterError\n"
        "async def serve(home):\n"
        "    error = ClusterError('node-1 is not Ready'); error.add_note('the bridge is busy'); raise error\n"
        "host._serve = serve\n"
        "host.main()\n"
    )
    with pytest.raises(SpawnError) as failed:
        spawn([sys.executable, "-c", code, str(home.directory)], log=home.log, timeout=30)
    assert str(failed.value) == "node-1 is not Ready\nthe bridge is busy"


def test_gates_that_are_found_to_be_wrong_late_are_no_traceback(home: ClusterHome) -> None:
    code = (
        "from drakit_api.features import FeatureGates\n"
        "import drakit_kind.local.host as host\n"
        "async def serve(home):\n    FeatureGates('1.38')\n"
        "host._serve = serve\n"
        "host.main()\n"
    )
    with pytest.raises(SpawnError, match=r"^emulation version 1\.38 is not between"):
        spawn([sys.executable, "-c", code, str(home.directory)], log=home.log, timeout=30)
    assert "Traceback" not in home.log.read_text()
