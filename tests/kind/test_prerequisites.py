"""What a machine lacks for a cluster of the suite is said once, before the first story."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[2]
# As anybody, not only as root, whose nodes need more.
_CLUSTER = ["--drakit-cluster", "binaries", "--drakit-real", "scheduler"]


def _pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *_CLUSTER, *arguments]
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture(autouse=True)
def nothing_built(all_plugins: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path))
    monkeypatch.delenv("DRAKIT_KUBERNETES_DIR", raising=False)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_program_that_is_not_there_is_named_once_and_no_story_is_begun(workers: str) -> None:
    ended = _pytest("e2e", "-n", workers, "-k", "mig")
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR, ended.stdout + ended.stderr
    said = ended.stdout + ended.stderr
    assert (
        said.count("there is no kube-scheduler of Kubernetes 1.37.1; `drakit kubernetes build 1.37.1` builds it") == 1
    )
    assert "Traceback" not in said
    assert " error" not in said


@pytest.mark.parametrize("arguments", [["e2e", "--collect-only", "-q"], ["e2e/attacks", "-k", "no_such_attack"]])
def test_runs_that_do_not_start_that_cluster_need_nothing(arguments: list[str]) -> None:
    ended = _pytest(*arguments)
    assert ended.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED), ended.stdout + ended.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="others have simulated nodes")
def test_root_reads_which_packages_real_nodes_need_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code = "from drakit_kind.nodes import requirements, tools\ntools._SBIN = ()\nrequirements.main()\n"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("this machine lacks what real nodes need:\n- there is no `runc`, ")
    assert "`apt-get install runc iproute2 mount util-linux coreutils`" in ended.stderr
