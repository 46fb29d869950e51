"""When a component counts as healthy, and what is said as long as it does not."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from drakit_kind.control_plane import probes
from drakit_kind.control_plane.authority import Authority
from drakit_kind.processes.process import Probe, Unhealthy

_PATH = "/healthz?verbose"


@asynccontextmanager
async def answering(authority: Authority, status: int, text: str) -> AsyncIterator[int]:
    """The port of a component that answers every request so, with a certificate of ``authority``."""
    pair = authority.issue("server", user="server", hosts=["127.0.0.1"])

    async def handle(request: web.Request) -> web.Response:
        assert request.path_qs == _PATH
        return web.Response(status=status, text=text)

    app = web.Application()
    app.router.add_get("/healthz", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def probe_of(port: int, authority: Authority) -> Probe:
    """What waits for a controller."""
    return probes.https(port, _PATH, authority.certificate, saying="resourceclaim-controller")


async def test_a_component_is_healthy_when_it_says_what_is_waited_for(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki")
    text = "[+]leaderElection ok\n[+]resourceclaim-controller ok\nhealthz check passed\n"
    async with answering(authority, 200, text) as port:
        await probe_of(port, authority)()


@pytest.mark.parametrize(
    ("status", "answer", "problem"),
    [
        (200, "[+]leaderElection ok\nhealthz check passed\n", "answers 200, without resourceclaim-controller"),
        (
            500,
            "[+]leaderElection ok\n[-]resourceclaim-controller failed: reason withheld\nhealthz check failed\n",
            "answers 500: [-]resourceclaim-controller failed: reason withheld",
        ),
        (401, "Unauthorized", "answers 401: Unauthorized"),
    ],
)
async def test_another_answer_is_told(tmp_path: Path, status: int, answer: str, problem: str) -> None:
    authority = Authority(tmp_path / "pki")
    async with answering(authority, status, answer) as port:
        with pytest.raises(Unhealthy) as raised:
            await probe_of(port, authority)()
    assert str(raised.value) == f"https://127.0.0.1:{port}{_PATH} {problem}"


async def test_a_certificate_that_is_not_trusted_is_told(tmp_path: Path) -> None:
    async with answering(Authority(tmp_path / "theirs"), 200, "") as port:
        with pytest.raises(Unhealthy, match="certificate verify failed"):
            await probe_of(port, Authority(tmp_path / "ours"))()


async def test_a_component_that_does_not_listen_is_told(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki")
    async with answering(authority, 200, "") as port:
        pass
    with pytest.raises(Unhealthy, match=rf"https://127\.0\.0\.1:{port}.*Cannot connect"):
        await probe_of(port, authority)()
    with pytest.raises(Unhealthy, match=r"http://localhost/health.*Cannot connect"):
        await probes.unix(tmp_path / "etcd.sock", "/health")()
