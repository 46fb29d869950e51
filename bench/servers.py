"""API servers to be measured: ours as a process of its own, and kube-apiserver with etcd beside it.

Both keep what they acknowledge, as a cluster's does: ours in a file, etcd in its directory. Neither has controllers,
which would react to what is written here.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench import processes
from bench.wire import Client, Refused, Request
from drakit_client.resources import NAMESPACES
from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.clusters.flags import PROGRAMS, Behaviour
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.kubernetes.assets import assets_of
from drakit_kind.local.real_control_plane import ControlPlane
from drakit_kind.processes.ports import free_port

NAMESPACE = "default"
_START_SECONDS = 60.0
_PAUSE = 0.02


@dataclass
class Endpoint:
    """A running server, and the names of what was created there so far; ``start_seconds`` is from start to ready."""

    url: str
    token: str
    pids: Sequence[int]
    certificate: bytes | None = None
    start_seconds: float = 0.0
    config_maps: list[str] = field(default_factory=list)
    slices: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def client(self) -> Client:
        """A new connection."""
        return Client(self.url, self.token, self.certificate)

    def cpu_seconds(self) -> float:
        """What its processes have used so far."""
        return sum(map(processes.cpu_seconds, self.pids))

    def mebibytes(self) -> float:
        """What its processes have in memory now."""
        return sum(map(processes.mebibytes, self.pids))


@asynccontextmanager
async def embedded(directory: Path, *, tls: bool) -> AsyncIterator[Endpoint]:
    """``drakit apiserver run``; a second one in the same directory finds what the first has stored."""
    token, kubeconfig = secrets.token_urlsafe(16), directory / "kubeconfig"
    options = ["--no-controllers", "--data-file", f"{directory / 'store.sqlite'}", "--kubeconfig", f"{kubeconfig}"]
    command = ["apiserver", "run", "--tls" if tls else "--no-tls", *options]
    began = time.monotonic()
    async with processes.python("drakit_kind", *command, environment={"DRAKIT_TOKEN": token}) as server:
        url = ""
        while not url:
            line = await processes.line_of(server, _START_SECONDS)
            url = line.decode().strip().partition("serving on ")[2]
        cluster = json.loads(kubeconfig.read_text())["clusters"][0]["cluster"]
        certificate = base64.b64decode(cluster["certificate-authority-data"]) if tls else None
        endpoint = Endpoint(url, token, [server.pid], certificate)
        await _until_ready(endpoint, "/readyz")
        endpoint.start_seconds = time.monotonic() - began
        yield endpoint


def lacking_kubernetes() -> str | None:
    """Why kube-apiserver and etcd cannot be started here, or None."""
    assets = assets_of(ClusterSpec(), ClusterSpec().version)
    try:
        for program in PROGRAMS["apiserver"]:
            assets.path(program)
    except ClusterError as error:
        return str(error).partition("\n")[0]
    return None


@asynccontextmanager
async def kubernetes(directory: Path) -> AsyncIterator[Endpoint]:
    """etcd and kube-apiserver with the flags of a test cluster; HTTPS, as it serves nothing else."""
    spec = ClusterSpec(name="bench", real=frozenset({"apiserver"}), port=free_port(), token=secrets.token_urlsafe(16))
    control_plane = ControlPlane(spec, ClusterHome(directory), partial(assets_of, spec))
    etcd, apiserver = control_plane.etcd(), control_plane.apiserver(Behaviour.of(spec, "apiserver"))
    began = time.monotonic()
    try:
        await etcd.start()
        await apiserver.start()
        access = control_plane.access
        endpoint = Endpoint(access.url, access.token, [etcd.pid, apiserver.pid], access.certificate)
        # The namespace is not there yet when it says that it is ready.
        await _until_ready(endpoint, NAMESPACES.path(name=NAMESPACE))
        endpoint.start_seconds = time.monotonic() - began
        yield endpoint
    finally:
        await apiserver.stop()
        await etcd.stop()


async def _until_ready(endpoint: Endpoint, path: str) -> None:
    async with asyncio.timeout(_START_SECONDS), endpoint.client() as client:
        while True:
            try:
                await client.send(Request("GET", path))
                return
            except Refused:
                await asyncio.sleep(_PAUSE)
