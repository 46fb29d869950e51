"""etcd and kube-apiserver, set up as the recorded servers were: alone, or with controllers."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import aiohttp

from drakit_api.features import FeatureGates
from drakit_client.credentials import kubeconfig
from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.flags import Behaviour
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.kubernetes.assets import assets_of
from drakit_kind.local.backend import LocalCluster
from drakit_kind.local.real_control_plane import ControlPlane
from drakit_kind.processes.ports import free_port
from tests.vectors.exchanges import GATES
from tests.vectors.replay import RUNTIME_CONFIG, Replay

# Many warnings come as many headers.
_FIELD_BYTES, _HEADERS = 4 * 1024 * 1024, 10_000
# Pods are admitted only where their account is; a controller would make it.
_ACCOUNT = {"metadata": {"name": "default"}}


@asynccontextmanager
async def answering(server: str, version: str) -> AsyncIterator[Replay]:
    """Exchanges with a server of ``GATES`` in a Kubernetes version, which ends with the block."""
    async with running(server, version) as (session, token):
        replay = Replay(session, token)
        await replay.prepare()
        await _make_accounts(session, token)
        yield replay


@asynccontextmanager
async def with_accounts(server: str, version: str) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A server of ``GATES`` that takes pods in its namespace ``default``; a client and the token to send."""
    async with running(server, version) as (session, token):
        await _make_accounts(session, token)
        yield session, token


@asynccontextmanager
async def running(
    server: str, version: str, *, lasting: bool = True
) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """Such a server itself: a client without credentials, and the token to send.

    Unless its connections are ``lasting``, each request has one of its own: a server may close one that is kept while
    something is sent on it.
    """
    async with _started(_behaviour(version, GATES[server]), lasting=lasting) as (session, token, _):
        yield session, token


@asynccontextmanager
async def storing(server: str, version: str) -> AsyncIterator[tuple[aiohttp.ClientSession, str, Path]]:
    """A server of ``GATES`` that takes pods, as ``with_accounts``, and the unix socket of its etcd."""
    async with _started(_behaviour(version, GATES[server])) as (session, token, home):
        await _make_accounts(session, token)
        yield session, token, home.directory / "etcd.sock"


@asynccontextmanager
async def behaving(behaviour: Behaviour) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A server of any behaviour, with the older versions of resource.k8s.io."""
    async with _started(behaviour) as (session, token, _):
        yield session, token


@asynccontextmanager
async def _started(
    behaviour: Behaviour, *, lasting: bool = True
) -> AsyncIterator[tuple[aiohttp.ClientSession, str, ClusterHome]]:
    spec = ClusterSpec(
        name="vectors",
        version=behaviour.version,
        real=frozenset({"apiserver"}),
        port=free_port(),
        runtime_config=RUNTIME_CONFIG,
    )
    home = ClusterHome.temporary()
    plane = ControlPlane(spec, home, partial(assets_of, spec))
    async with AsyncExitStack() as stack:
        stack.callback(shutil.rmtree, home.directory, ignore_errors=True)
        for process in (plane.etcd(), plane.apiserver(behaviour)):
            stack.push_async_callback(process.stop)
            await process.start()
        session = await stack.enter_async_context(client(plane.access.url, plane.access.certificate, lasting=lasting))
        yield session, plane.access.token, home


@asynccontextmanager
async def cluster(
    version: str, runtime_config: Mapping[str, str] | None = None
) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A real API server with real controllers, and no node; the same two."""
    spec = ClusterSpec(
        name="vectors",
        version=version,
        real=frozenset({"apiserver", "controllers"}),
        scheduler=False,
        runtime_config=runtime_config or {},
    )
    home = ClusterHome.temporary()
    made = LocalCluster(spec, home, temporary=True)
    try:
        await asyncio.to_thread(made.start)
        access = kubeconfig.read(str(made.kubeconfig))
        assert access is not None
        assert isinstance(access.token, str)
        connector = aiohttp.TCPConnector(ssl=access.tls if access.tls is not None else True)
        async with aiohttp.ClientSession(access.server, connector=connector) as session:
            yield session, access.token
    finally:
        await asyncio.to_thread(made.stop)
        shutil.rmtree(home.directory, ignore_errors=True)


def client(url: str, certificate: bytes | None, *, lasting: bool = True) -> aiohttp.ClientSession:
    """A client that trusts one certificate; it takes warnings of any length and number."""
    trust = ssl.create_default_context(cadata=certificate.decode()) if certificate else False
    connector = aiohttp.TCPConnector(ssl=trust, force_close=not lasting)
    return aiohttp.ClientSession(url, connector=connector, max_field_size=_FIELD_BYTES, max_headers=_HEADERS)


def _behaviour(version: str, gates: FeatureGates) -> Behaviour:
    """``off136`` emulates 1.36; the others are what their version is."""
    older = gates.emulated_version if gates.emulated_version != FeatureGates().emulated_version else None
    return Behaviour(version=version, emulated_version=older, gates=gates.overrides)


async def _make_accounts(session: aiohttp.ClientSession, token: str) -> None:
    for namespace in ("default", "admin"):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        async with session.post(path, json=_ACCOUNT, headers={"Authorization": f"Bearer {token}"}) as response:
            await response.read()
