"""``drakit kubelet run`` against an API server of another process."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from drakit_client.connection import Connection
from drakit_client.resources import NODES, PODS
from drakit_embedded.kubelet_command import kubelet

Until = Callable[..., Awaitable[Any]]
COMMAND = [sys.executable, "-c", "from drakit_embedded.kubelet_command import kubelet; kubelet()", "run"]


@pytest.fixture
def kubeconfig(connection: Connection, short_path: Path) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": connection.server}}],
        "users": [{"name": "u", "user": {"token": "of-the-tests"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path = short_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.mark.slow
@pytest.mark.usefixtures("signals_heard")
async def test_nodes_come_up_and_run_pods_until_interrupted(
    connection: Connection, kubeconfig: Path, short_path: Path, until: Until
) -> None:
    options = ["--kubeconfig", str(kubeconfig), "--root", str(short_path / "nodes")]
    options += ["--nodes", "3", "--name-prefix", "sim-", "--label", "zone=a"]
    process = await asyncio.create_subprocess_exec(*COMMAND, *options, stderr=asyncio.subprocess.PIPE)
    try:
        assert process.stderr is not None
        said = await asyncio.wait_for(process.stderr.readline(), 20)
        assert said.endswith(b" INFO    kubelet: 3 nodes are Ready: sim-1 ... sim-3\n")
        nodes = (await connection.list(NODES, label_selector="zone=a"))["items"]
        assert [node["metadata"]["name"] for node in nodes] == ["sim-1", "sim-2", "sim-3"]
        spec = {"nodeName": "sim-2", "containers": [{"name": "c", "image": "i"}]}
        await connection.create(PODS, {"metadata": {"name": "p"}, "spec": spec}, "default")

        async def running() -> bool:
            pod = await connection.get(PODS, "p", "default")
            return bool(pod["status"].get("phase") == "Running")

        await until(running)
        process.send_signal(signal.SIGINT)
        _, complaints = await asyncio.wait_for(process.communicate(), 20)
        assert (process.returncode, complaints) == (0, b"")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--name-prefix", "Node_"], "node name 'Node_1': write lower case letters"),
        (["--label", "zone"], "--label zone: write KEY=VALUE"),
        (["--kubeconfig", "/absent"], "kubeconfig: "),
        (["--client-ca-file", __file__], "no PEM certificates in it"),
    ],
    ids=["name", "label", "kubeconfig", "authorities"],
)
def test_mistakes_are_named_and_nothing_is_made(options: list[str], message: str, short_path: Path) -> None:
    result = CliRunner().invoke(kubelet, ["run", "--root", str(short_path / "nodes"), *options])
    assert result.exit_code != 0
    assert message in result.output
    assert not (short_path / "nodes").exists()
