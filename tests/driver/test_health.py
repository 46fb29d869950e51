"""Health of devices from outside the driver's process: by its socket, and by ``drakit driver health``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from drakit_client.processes.control import ControlError, NobodyListens, call
from drakit_driver.cli.health_command import health
from drakit_driver.plugin import health_control
from drakit_driver.plugin.health import Health, HealthBoard
from drakit_driver.plugin.health_control import Change
from drakit_driver.plugin.sockets import PluginPaths

_NODE = "node-1"
_HEALTHY = Health.HEALTHY


class _Plugin:
    """What a running plugin has for this: a board behind a socket, and what it reports."""

    def __init__(self, paths: PluginPaths) -> None:
        self.paths = paths
        self.board = HealthBoard([(_NODE, "gpu-0"), (_NODE, "gpu-1")])
        self.said: list[str] = []
        paths.make_directories()

    def health(self) -> dict[str, Health]:
        return {device: state.health for (_, device), state in self.board.report().items()}


@pytest.fixture
async def plugin(short_dir: Path) -> AsyncIterator[_Plugin]:
    plugin = _Plugin(PluginPaths(short_dir, "gpu.example.com"))
    server = await health_control.listen(plugin.paths, _NODE, plugin.board, plugin.said.append)
    yield plugin
    server.close()


async def _ask(plugin: _Plugin, change: Change | None = None) -> health_control.Report:
    return await asyncio.to_thread(health_control.call, plugin.paths.health_socket, change)


async def _run(plugin: _Plugin, *arguments: str) -> Result:
    command = [*arguments, "--kubelet-dir", str(plugin.paths.kubelet_dir)]
    return await asyncio.to_thread(CliRunner().invoke, health, command)


async def test_a_device_is_set_and_all_are_reported(plugin: _Plugin) -> None:
    answer = await _ask(plugin, Change(_NODE, "gpu-1", "Unhealthy", "ECC errors"))
    assert plugin.health() == {"gpu-0": _HEALTHY, "gpu-1": Health.UNHEALTHY}
    assert plugin.said == ["plugin gpu.example.com on node-1: node-1/gpu-1 is Unhealthy: ECC errors"]
    assert answer == await _ask(plugin)
    assert answer.devices == [
        Change(_NODE, "gpu-0", "Healthy"),
        Change(_NODE, "gpu-1", "Unhealthy", "ECC errors"),
    ]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (Change("rack", "gpu-0", "Unhealthy"), "no pool rack; there is node-1"),
        (Change(_NODE, "gpu-9", "Unhealthy"), "no device gpu-9 in pool node-1; it has gpu-0, gpu-1"),
        (Change(_NODE, "gpu-0", "unwell"), "health 'unwell': use Unknown, Healthy, Unhealthy"),
        ({"pool": _NODE, "device": "gpu-0"}, "missing required field `health`"),
        ({"devices": []}, "unknown field `devices`"),
        ([], "Expected `object`, got `array`"),
    ],
)
async def test_what_is_wrong_is_refused_and_changes_nothing(plugin: _Plugin, request_: Any, error: str) -> None:
    body = request_
    if isinstance(request_, Change):
        body = {field: getattr(request_, field) for field in request_.__struct_fields__}
    with pytest.raises(ControlError, match=error):
        await asyncio.to_thread(call, plugin.paths.health_socket, body, who="driver", timeout=10)
    assert set(plugin.health().values()) == {_HEALTHY}
    assert plugin.said == []


async def test_nobody_answers_for_a_driver_that_does_not_run(short_dir: Path) -> None:
    with pytest.raises(NobodyListens, match=r"driver gpu\.example\.com does not run"):
        await asyncio.to_thread(health_control.call, PluginPaths(short_dir, "gpu.example.com").health_socket)


async def test_the_command_lists_sets_and_lists_one(plugin: _Plugin) -> None:
    listed = await _run(plugin)
    assert listed.stdout.splitlines() == [
        "DRIVER           NODE    DEVICE        HEALTH   MESSAGE",
        "gpu.example.com  node-1  node-1/gpu-0  Healthy",
        "gpu.example.com  node-1  node-1/gpu-1  Healthy",
    ]
    await _run(plugin, "node-1/gpu-0", "unhealthy", "--message", "fell off\nthe bus")
    assert plugin.health()["gpu-0"] is Health.UNHEALTHY
    one = await _run(plugin, "node-1/gpu-0")
    assert one.stdout.splitlines()[1:] == ["gpu.example.com  node-1  node-1/gpu-0  Unhealthy  fell off the bus"]
    as_json = await _run(plugin, "node-1/gpu-0", "-o", "json")
    assert json.loads(as_json.stdout) == [
        {
            "driver": "gpu.example.com",
            "node": "node-1",
            "pool": "node-1",
            "device": "gpu-0",
            "health": "Unhealthy",
            "message": "fell off\nthe bus",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["node-1/gpu-9", "healthy"], "no device gpu-9 in pool node-1; it has gpu-0, gpu-1"),
        (["gpu-0", "healthy"], "name a device as POOL/DEVICE"),
        (["node-1/gpu-0", "ill"], "is not one of 'healthy', 'unhealthy', 'unknown'"),
        (["--message", "why"], "--message goes with a device and its state"),
        (["--driver-name", "tpu.example.com"], "no driver tpu.example.com of drakit runs: looked in"),
    ],
)
async def test_the_command_says_what_is_wrong(plugin: _Plugin, arguments: list[str], error: str) -> None:
    result = await _run(plugin, *arguments)
    assert result.exit_code != 0
    assert error in result.stderr
    assert set(plugin.health().values()) == {_HEALTHY}


def test_where_no_driver_runs_the_command_names_where_it_looked(tmp_path: Path) -> None:
    result = CliRunner().invoke(health, ["--kubelet-dir", str(tmp_path)])
    assert result.exit_code == 1
    assert f"no driver of drakit runs: looked in {tmp_path}/plugins; start one" in result.stderr
