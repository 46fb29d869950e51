"""Ctrl-C ends every command by the status that its help promises, however early it comes."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from drakit_client.processes.ending_signals import ended_at_once_by_ctrl_c
from drakit_kind.cli.drakit_command import main
from tests.allocator import kubeconfigs

_SECONDS = 60.0


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """A server that takes connections and says nothing, and a kubeconfig for it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(_SECONDS)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        yield server, str(kubeconfigs.write(tmp_path / "kubeconfig", url, "t"))


def _started(*arguments: str) -> subprocess.Popen[str]:
    """A process that says on stderr which module it has imported as soon as it has."""
    command = [sys.executable, "-X", "importtime", "-m", "drakit_kind", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _until_imported(process: subprocess.Popen[str], module: str) -> None:
    assert process.stderr is not None
    while (line := process.stderr.readline()) and line.split("|")[-1].strip() != module:
        pass
    assert line, f"{module} was not imported"


def _interrupted(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Interrupt a process; return its status and what it says besides its imports."""
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=_SECONDS)
    return process.returncode, "".join(line for line in said.splitlines(True) if not line.startswith("import time:"))


@pytest.fixture
def ending() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are killed if a test leaves them, or if they do not do what it waits for."""
    started: list[subprocess.Popen[str]] = []

    def kill() -> None:
        for one in started:
            one.kill()

    timer = threading.Timer(_SECONDS, kill)
    timer.start()
    yield started
    timer.cancel()
    for one in started:
        one.kill()
        one.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("command", [("get", "devices"), ("explain", "claim", "c")], ids=lambda one: one[0])
@pytest.mark.parametrize(
    "module",
    [
        pytest.param("click.exceptions", id="in what all commands import"),
        pytest.param("drakit_allocator.cli.cluster_reading", id="in what this one imports"),
        pytest.param("aiohttp.client_exceptions", id="in what connects"),
    ],
)
def test_ctrl_c_while_modules_are_imported(
    silent: tuple[socket.socket, str], ending: list[subprocess.Popen[str]], module: str, command: tuple[str, ...]
) -> None:
    _, kubeconfig = silent
    ending.append(_started(*command, "--kubeconfig", kubeconfig))
    _until_imported(ending[0], module)
    assert _interrupted(ending[0]) == (130, "interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("command", [("get", "devices"), ("webhook", "patches", "--register")], ids=lambda one: one[0])
def test_ctrl_c_while_a_server_does_not_answer(
    silent: tuple[socket.socket, str], ending: list[subprocess.Popen[str]], command: tuple[str, ...]
) -> None:
    server, kubeconfig = silent
    ending.append(_started(*command, "--kubeconfig", kubeconfig))
    # What it has imported must not fill the pipe.
    drained: list[str] = []
    stderr = ending[0].stderr
    assert stderr is not None
    reading = threading.Thread(target=lambda: drained.extend(stderr))
    reading.start()
    with server.accept()[0]:
        ending[0].send_signal(signal.SIGINT)
        assert ending[0].wait(_SECONDS) == 130
    reading.join(_SECONDS)
    assert [line for line in drained if not line.startswith("import time:")] == ["interrupted\n"]


def test_any_command_that_does_not_hear_ctrl_c_ends_by_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def deaf() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(main.commands, "deaf", deaf)
    result = CliRunner().invoke(main, ["deaf"])
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")


def test_who_has_a_handler_for_ctrl_c_keeps_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ended_at_once_by_ctrl_c():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with ended_at_once_by_ctrl_c():
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
