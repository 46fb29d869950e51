"""What a command imports, and leaves behind when it is killed, that is given the kubeconfig of a cluster."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from drakit_kind.control_plane.authority import Authority

SECONDS = 30
_API = """
import sys
from pathlib import Path
from drakit_client.resources import PODS
from drakit_kind.clusters.api import Api
Api(Path(sys.argv[1])).find(PODS, "p")
"""
COMMANDS = {
    "driver": ["-m", "drakit_kind", "driver", "run", "a100-40gb", "--node", "n", "--publish-only", "--kubeconfig"],
    "scheduler": ["-m", "drakit_kind", "scheduler", "run", "--kubeconfig"],
    "kubelet": ["-m", "drakit_kind", "kubelet", "run", "--root", "nodes", "--kubeconfig"],
    "test API": ["-c", _API],
}
USERS: dict[str, Callable[[Path, Path], dict[str, str]]] = {
    "token": lambda certificate, key: {"token": "t"},
    "keys": lambda certificate, key: {
        "client-certificate-data": base64.b64encode(certificate.read_bytes()).decode(),
        "client-key-data": base64.b64encode(key.read_bytes()).decode(),
    },
}


@asynccontextmanager
async def _started(arguments: list[str], user: str, directory: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A command that has shown an API server its credentials; from then on that server is silent."""
    authority = Authority(directory / "pki")
    serving = authority.issue("server", user="server", hosts=["127.0.0.1"])
    client = authority.issue("client", user="alice")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.certificate)
    tls.verify_mode = ssl.CERT_REQUIRED if user == "keys" else ssl.CERT_NONE
    tls.load_cert_chain(serving.certificate, serving.key)
    asked, over = asyncio.Event(), asyncio.Event()

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await over.wait()
        writer.transport.abort()

    server = await asyncio.start_server(ask, "127.0.0.1", 0, ssl=tls)
    cluster = {
        "server": f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}",
        "certificate-authority-data": base64.b64encode(authority.certificate.read_bytes()).decode(),
    }
    content = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": USERS[user](client.certificate, client.key)}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (directory / "config").write_text(yaml.safe_dump(content))
    (directory / "tmp").mkdir()
    with (directory / "errors").open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-X", "importtime", *arguments, str(directory / "config")),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=errors,
            cwd=directory,
            env={**os.environ, "TMPDIR": str(directory / "tmp")},
        )
    try:
        async with asyncio.timeout(SECONDS):
            await asked.wait()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        over.set()
        server.close()
        await server.wait_closed()


@pytest.mark.slow
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("command", COMMANDS)
async def test_it_needs_no_official_client_and_leaves_no_keys_when_it_is_killed(
    tmp_path: Path, command: str, user: str
) -> None:
    async with _started(COMMANDS[command], user, tmp_path) as process:
        process.kill()
        await process.wait()
    imported = re.findall(r"\| +([\w.]+)$", (tmp_path / "errors").read_text(), re.MULTILINE)
    assert "drakit_client.credentials.kubeconfig" in imported
    assert not [module for module in imported if module.split(".")[0] in {"kubernetes", "requests", "websocket"}]
    assert not list((tmp_path / "tmp").iterdir())
