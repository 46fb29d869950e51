"""The components alone, as processes: their starter learns when they are ready, and they can be tied to its life."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from drakit_kind.cli.drakit_command import main
from drakit_kind.processes import spawn

_DRAKIT = [sys.executable, "-m", "drakit_kind"]
_BOUND = 30


@contextlib.contextmanager
def _running(tmp_path: Path, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    process = spawn.spawn([*_DRAKIT, *command], log=tmp_path / f"{command[0]}.log", timeout=_BOUND, tied=True)
    try:
        yield process
    finally:
        spawn.end(process, timeout=_BOUND)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Of an API server in a process of its own."""
    path = tmp_path / "kubeconfig"
    with _running(tmp_path, "apiserver", "run", "--kubeconfig", str(path)):
        assert path.exists(), "ready without the kubeconfig that was asked for"
        yield path


@pytest.mark.slow
@pytest.mark.parametrize("component", ["scheduler", "kubelet"])
def test_a_component_says_that_it_is_ready_and_ends_with_its_starter(
    component: str, kubeconfig: Path, tmp_path: Path
) -> None:
    options = ["--root", str(tmp_path / "nodes")] if component == "kubelet" else []
    with _running(tmp_path, component, "run", "--kubeconfig", str(kubeconfig), *options) as process:
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.close()  # as the kernel does when the starter dies
        assert process.wait(_BOUND) == 0


@pytest.mark.slow
def test_an_api_server_ends_with_its_starter(tmp_path: Path) -> None:
    with _running(tmp_path, "apiserver", "run") as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(_BOUND) == 0


@pytest.mark.parametrize("component", ["apiserver", "scheduler", "kubelet", "driver"])
def test_every_component_logs_as_it_is_told(component: str) -> None:
    """One place decides how: ``drakit_client.processes.process_logging``."""
    shown = CliRunner().invoke(main, [component, "run", "--help"]).output
    assert "-v, --verbose" in shown
    assert "--log-format [text|json]" in shown
