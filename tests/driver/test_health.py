"""Health of devices from outside the driver's process: by its private socket, and by ``drakit driver health``."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from drakit_client.processes import control
from drakit_driver.cli.health_command import health
from drakit_driver.plugin import health_control
from drakit_driver.plugin.health import HealthBoard
from drakit_driver.plugin.health_control import Change
from drakit_driver.plugin.sockets import PluginError, PluginPaths

DRIVER, OTHER = "gpu.example.com", "nic.example.com"


class Plugins:
    """The health sockets of some plugins below ``directory``, a kubelet directory for each node."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.lines: list[str] = []
        self.boards: dict[tuple[str, str], HealthBoard] = {}
        self._servers: list[asyncio.Server] = []

    async def start(self, node: str, *devices: tuple[str, str], driver: str = DRIVER) -> Path:
        paths = PluginPaths(self.directory / node, driver)
        paths.make_directories()
        board = self.boards[node, driver] = HealthBoard(devices)
        self._servers.append(await health_control.listen(paths, node, board, self.lines.append))
        return paths.health_socket

    def close(self) -> None:
        for server in self._servers:
            server.close()

    def told(self, node: str, driver: str = DRIVER) -> dict[tuple[str, str], tuple[str, str]]:
        """What the kubelet of a node is told."""
        report = self.boards[node, driver].report()
        return {key: (str(state.health), state.message) for key, state in report.items()}

    async def command(self, *arguments: str, kubelet_dir: str | None = None) -> Result:
        place = str(self.directory / "{node}") if kubelet_dir is None else kubelet_dir
        return await asyncio.to_thread(CliRunner().invoke, health, [*arguments, "--kubelet-dir", place])


@pytest.fixture
async def plugins(short_dir: Path) -> AsyncIterator[Plugins]:
    made = Plugins(short_dir)
    yield made
    made.close()


def _call(path: Path, request: Any) -> Any:
    return asyncio.to_thread(control.call, path, request, who="the driver", timeout=10)


async def test_the_socket_is_private_and_what_it_is_told_is_told_to_the_kubelet(plugins: Plugins) -> None:
    path = await plugins.start("a", ("a", "gpu-0"), ("a", "gpu-1"))
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    answer = await asyncio.to_thread(health_control.call, path, Change("a", "gpu-1", "Unhealthy", "ECC errors"))
    assert (answer.driver, answer.node) == (DRIVER, "a")
    assert answer.devices == [Change("a", "gpu-0", "Healthy"), Change("a", "gpu-1", "Unhealthy", "ECC errors")]
    assert plugins.told("a") == {("a", "gpu-0"): ("Healthy", ""), ("a", "gpu-1"): ("Unhealthy", "ECC errors")}
    assert plugins.lines == [f"plugin {DRIVER} on a: a/gpu-1 is Unhealthy: ECC errors"]
    assert await asyncio.to_thread(health_control.call, path) == answer
    assert len(plugins.lines) == 1


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"pool": "b", "device": "gpu-0", "health": "Unhealthy"}, "no pool b; there is a, c"),
        ({"pool": "a", "device": "gpu-9", "health": "Unhealthy"}, "no device gpu-9 in pool a; it has gpu-0, gpu-1"),
        ({"pool": "a", "device": "gpu-0", "health": "Sick"}, "health 'Sick': use Unknown, Healthy, Unhealthy"),
        ({"pool": "a", "device": "gpu-0"}, "missing required field `health`"),
        ({"pool": "a", "device": 0, "health": "Unhealthy"}, "Expected `str`, got `int`"),
        ({"pool": "a", "device": "gpu-0", "health": "Unhealthy", "mesage": "x"}, "unknown field `mesage`"),
        ([], "Expected `object`, got `array`"),
    ],
)
async def test_what_is_wrong_changes_nothing_and_names_what_there_is(
    plugins: Plugins, request_: Any, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = await plugins.start("a", ("a", "gpu-0"), ("a", "gpu-1"), ("c", "gpu-0"))
    with pytest.raises(control.ControlError) as caught:
        await _call(path, request_)
    assert error in str(caught.value)
    assert {state for state, _ in plugins.told("a").values()} == {"Healthy"}
    assert plugins.lines == []
    assert caplog.text == "", "it is no failure of the driver's"


async def test_a_socket_that_was_left_is_replaced_and_a_file_is_not(plugins: Plugins, short_dir: Path) -> None:
    paths = PluginPaths(short_dir / "a", DRIVER)
    paths.make_directories()
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(paths.health_socket))
    with pytest.raises(control.NobodyListens, match=rf"driver {DRIVER} does not run: nobody listens at .*health\.sock"):
        await asyncio.to_thread(health_control.call, paths.health_socket)
    await plugins.start("a", ("a", "gpu-0"))
    await asyncio.to_thread(health_control.call, paths.health_socket)
    paths.health_socket.unlink()
    paths.health_socket.write_text("precious")
    with pytest.raises(PluginError, match="is not a socket; remove it"):
        await plugins.start("a", ("a", "gpu-0"))


async def test_the_command_lists_the_devices_of_all_nodes(plugins: Plugins) -> None:
    await plugins.start("a", ("a", "gpu-0"))
    await plugins.start("b", ("b", "gpu-0"))
    (plugins.directory / "b/plugins/somebody-elses").mkdir()
    shown = await plugins.command()
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.splitlines() == [
        "DRIVER           NODE  DEVICE   HEALTH   MESSAGE",
        "gpu.example.com  a     a/gpu-0  Healthy",
        "gpu.example.com  b     b/gpu-0  Healthy",
    ]
    one = await plugins.command(kubelet_dir=f"{plugins.directory}/b")
    assert [line.split()[1] for line in one.stdout.splitlines()[1:]] == ["b"]


async def test_the_command_sets_a_device_on_all_nodes_that_have_it(plugins: Plugins) -> None:
    shared = ("slice", "tpu-0")
    await plugins.start("a", shared, ("a", "gpu-0"))
    await plugins.start("b", shared)
    await plugins.start("c", ("c", "gpu-0"))
    done = await plugins.command("slice/tpu-0", "unhealthy", "--message", "link\ndown", "-o", "json")
    fields = {"driver": DRIVER, "pool": "slice", "device": "tpu-0", "health": "Unhealthy", "message": "link\ndown"}
    assert json.loads(done.stdout) == [fields | {"node": node} for node in ("a", "b")]
    assert plugins.told("a") == {shared: ("Unhealthy", "link\ndown"), ("a", "gpu-0"): ("Healthy", "")}
    assert plugins.told("b") == {shared: ("Unhealthy", "link\ndown")}
    assert (await plugins.command("slice/tpu-0")).stdout.count("Unhealthy  link down\n") == 2
    assert (await plugins.command("slice/tpu-0", "Healthy")).exit_code == 0
    assert plugins.told("a")[shared] == plugins.told("b")[shared] == ("Healthy", "")


async def test_a_device_that_two_drivers_have_is_set_of_the_one_that_is_named(plugins: Plugins) -> None:
    await plugins.start("a", ("a", "dev-0"))
    await plugins.start("a", ("a", "dev-0"), driver=OTHER)
    both = await plugins.command("a/dev-0", "unhealthy")
    assert (both.exit_code, both.stdout) == (1, "")
    assert both.stderr == f"Error: a/dev-0 is of {DRIVER}, {OTHER}: choose one with --driver-name\n"
    assert (await plugins.command("a/dev-0", "unhealthy", "--driver-name", OTHER)).exit_code == 0
    assert plugins.told("a") == {("a", "dev-0"): ("Healthy", "")}
    assert plugins.told("a", OTHER) == {("a", "dev-0"): ("Unhealthy", "")}


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["b/gpu-0", "unhealthy"], 1, "Error: no pool b; there is a\n"),
        (["a/gpu-1", "unknown"], 1, "Error: no device gpu-1 in pool a; it has gpu-0\n"),
        (["a/gpu-1"], 1, "Error: no device gpu-1 in pool a; it has gpu-0\n"),
        (["gpu-0", "unhealthy"], 2, "name a device as POOL/DEVICE; `drakit driver health` lists them"),
        (["a/gpu-0", "sick"], 2, "'sick' is not one of 'healthy', 'unhealthy', 'unknown'"),
        (["a/gpu-0", "--message", "x"], 2, "--message goes with a device and its state"),
        (["--driver-name", OTHER], 1, f"Error: no driver {OTHER} of drakit runs: looked in "),
    ],
)
async def test_what_is_wrong_on_the_command_line_says_the_way_out(
    plugins: Plugins, arguments: list[str], code: int, error: str
) -> None:
    await plugins.start("a", ("a", "gpu-0"))
    result = await plugins.command(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert error in result.stderr
    assert plugins.told("a") == {("a", "gpu-0"): ("Healthy", "")}


async def test_where_no_driver_runs_the_command_says_where_it_has_looked(plugins: Plugins) -> None:
    nowhere = await plugins.command(kubelet_dir=f"{plugins.directory}/none/{{node}}")
    assert nowhere.exit_code == 1
    assert f"looked in {plugins.directory}/none/{{node}}, which is not there; " in nowhere.stderr
    for node in "abcdef":
        (plugins.directory / node).mkdir()
    nobody = await plugins.command()
    looked = ", ".join(f"{plugins.directory}/{node}/plugins" for node in "abcd")
    assert f"Error: no driver of drakit runs: looked in {looked} and 2 more; start one" in nobody.stderr
    assert "--kubelet-dir" in nobody.stderr


async def test_a_driver_that_hangs_is_named_and_the_others_are_shown(
    plugins: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_control, "_ANSWER_SECONDS", 0.2)
    paths = PluginPaths(plugins.directory / "a", OTHER)
    paths.make_directories()
    with socket.socket(socket.AF_UNIX) as hangs:
        hangs.bind(str(paths.health_socket))
        hangs.listen()
        alone = await plugins.command()
        assert (alone.exit_code, alone.stdout) == (1, "")
        assert alone.stderr == f"Error: driver {OTHER} does not answer at {paths.health_socket}: timed out\n"
        await plugins.start("a", ("a", "gpu-0"))
        shown = await plugins.command()
    assert (shown.exit_code, shown.stdout.count("Healthy")) == (0, 1)
    assert shown.stderr.startswith(f"warning: driver {OTHER} does not answer")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_directory_that_may_not_be_read_is_named(plugins: Plugins) -> None:
    directory = plugins.directory / "a" / "plugins"
    directory.mkdir(parents=True)
    directory.chmod(0)
    refused = await plugins.command()
    assert refused.exit_code == 1
    assert refused.stderr == f"Error: {directory}: Permission denied; run this as the driver's user\n"
