"""A driver that is killed loses nothing, leaks nothing and prepares nothing twice."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from drakit_api.kubelet import dra_v1_pb2, registration_v1_pb2, wire

pytestmark = pytest.mark.slow

NODE = "node-1"
UID = "eb72d4b6-24c9-4078-ba04-b14f2bd22715"
DRIVER = "gpu.nvidia.com"


async def test_kill_before_every_file_operation() -> None:
    script = Path(__file__).parent / "crash_at_every_step.py"
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    # Two checkpoints and a spec for each of three prepares, one and a removal for each of two unprepares, at least.
    assert int(output) > 3 * (2 * 5 + 2) + 2 * (5 + 1)


class Run:
    """``drakit driver run`` as a process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []

    async def line(self, text: str) -> str:
        """Read its output up to a line that contains ``text``."""
        assert self.process.stdout is not None
        async with asyncio.timeout(20):
            while raw := await self.process.stdout.readline():
                self.lines.append(raw.decode().rstrip())
                if text in self.lines[-1]:
                    return self.lines[-1]
        raise AssertionError(f"no line with {text!r} in {self.lines}")

    async def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        async with asyncio.timeout(20):
            return await self.process.wait()


@pytest.fixture
def kubeconfig(api: Any, short_dir: Path) -> Path:
    path = short_dir / "config"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": api.url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


@asynccontextmanager
async def run(kubeconfig: Path, *options: str) -> AsyncIterator[Run]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "drakit_kind", "driver", "run", "a100-40gb", "--node", NODE),
        *("--kubelet-dir", str(kubeconfig.parent / "{node}"), "--kubeconfig", str(kubeconfig), *options),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield Run(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def call(socket: Path, path: str, request: Any, response: Any) -> Any:
    async with grpc.aio.insecure_channel(f"unix:{socket}") as channel:
        method = channel.unary_unary(
            path, request_serializer=lambda item: item.SerializeToString(), response_deserializer=response.FromString
        )
        return await method(request, timeout=10, wait_for_ready=True)


async def register(directory: Path) -> None:
    verdict = registration_v1_pb2.RegistrationStatus(plugin_registered=True)
    socket = directory / NODE / "plugins_registry" / f"{DRIVER}-reg.sock"
    await call(socket, wire.NOTIFY_REGISTRATION_STATUS, verdict, registration_v1_pb2.RegistrationStatusResponse)


async def prepare(directory: Path) -> Any:
    request = dra_v1_pb2.NodePrepareResourcesRequest(
        claims=[dra_v1_pb2.Claim(namespace="default", name="half", uid=UID)]
    )
    socket = directory / NODE / "plugins" / DRIVER / "dra.sock"
    prepare = wire.method_path(wire.DRA_V1, wire.PREPARE_METHOD)
    answer = await call(socket, prepare, request, dra_v1_pb2.NodePrepareResourcesResponse)
    return answer.claims[UID]


async def prepare_and_kill(api: Any, kubeconfig: Path) -> Any:
    """What the kubelet was answered by a driver that was killed then."""
    directory = kubeconfig.parent
    result = {"request": "r", "driver": DRIVER, "pool": NODE, "device": "gpu-0-mig-3g20gb-9-0"}
    claim = {
        "metadata": {"name": "half", "namespace": "default", "uid": UID},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }
    await api.put("nodes", {"metadata": {"name": NODE}})
    await api.put("resourceclaims", claim)
    async with run(kubeconfig) as first:
        await first.line("listening")
        await register(directory)
        await first.line("ready")
        answer = await prepare(directory)
        assert answer.error == ""
        assert await first.end(signal.SIGKILL) == -signal.SIGKILL
    return answer


async def test_killed_process_starts_again_where_it_was(api: Any, kubeconfig: Path) -> None:
    before = await prepare_and_kill(api, kubeconfig)
    directory = kubeconfig.parent
    writes = len(api.writes)
    (spec,) = (directory / NODE / "cdi").iterdir()
    spec.unlink()
    async with run(kubeconfig) as second:
        await second.line("listening")
        assert spec.exists()
        await register(directory)
        await second.line("ready")
        assert await prepare(directory) == before
        assert await second.end(signal.SIGTERM) == 0
        await second.line("stopped")
    assert api.writes[writes:] == []
    assert not list(directory.rglob("*.sock"))


async def test_claims_that_went_away_meanwhile_are_unprepared(api: Any, kubeconfig: Path) -> None:
    directory = kubeconfig.parent
    await prepare_and_kill(api, kubeconfig)
    await api.remove("resourceclaims", "half", "default")
    async with run(kubeconfig, "--no-publish") as driver:
        await driver.line(f"claim default/half ({UID}): is gone from the API server")
    assert not list((directory / NODE / "cdi").iterdir())


@pytest.mark.usefixtures("signals_heard")
async def test_cleanup_removes_slices_and_classes(api: Any, kubeconfig: Path) -> None:
    await api.put("nodes", {"metadata": {"name": NODE}})
    foreign = {"driver": "other.example.com", "nodeName": NODE, "pool": {"name": "p", "generation": 1}}
    await api.put("resourceslices", {"metadata": {"name": "foreign"}, "spec": foreign})
    async with run(kubeconfig, "--publish-only", "--cleanup") as driver:
        await driver.line("ready")
        await api.wait(lambda: ("deviceclasses", "", "mig.nvidia.com") in api.objects)
        assert await driver.end(signal.SIGINT) == 0
    assert {(plural, name) for plural, _, name in api.objects if plural != "nodes"} == {("resourceslices", "foreign")}


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--kubelet-dir", "/tmp/" + "d" * 90], 1, "Error: socket path /tmp/ddd"),
        (["--serve", "node-2"], 2, "Error: --serve node-2: is none of the nodes node-1"),
        (["--publish-only", "--no-publish"], 2, "Error: --publish-only cannot be combined"),
        (["--node", "node-2", "--kubelet-dir", "/tmp/dk-same"], 1, "several nodes have the same kubelet dir"),
        (["--plugin-versions", ","], 2, "Error: --plugin-versions: name at least one version"),
        (["--kubeconfig", "/nonexistent/config"], 1, "give the kubeconfig of a cluster, such as"),
    ],
    ids=["long-path", "serve", "publish", "same-directory", "versions", "kubeconfig"],
)
async def test_wrong_command_lines_say_what_is_wrong(
    kubeconfig: Path, options: list[str], status: int, message: str
) -> None:
    async with run(kubeconfig, *options) as driver:
        await driver.line(message)
        assert await driver.process.wait() == status
