"""When a component counts as healthy."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from aiohttp import web

from drakit_kind.control_plane import probes
from drakit_kind.control_plane.authority import Authority


@pytest.mark.parametrize(
    ("status", "answer", "healthy"),
    [
        (200, "[+]leaderElection ok\n[+]resourceclaim-controller ok\nhealthz check passed\n", True),
        (200, "[+]leaderElection ok\nhealthz check passed\n", False),
        (500, "[-]resourceclaim-controller failed\n", False),
    ],
)
async def test_a_component_is_healthy_when_it_says_what_is_waited_for(
    tmp_path: Path, status: int, answer: str, healthy: bool
) -> None:
    authority = Authority(tmp_path / "pki")
    pair = authority.issue("server", user="server", hosts=["127.0.0.1"])

    async def handle(request: web.Request) -> web.Response:
        assert request.path_qs == "/healthz?verbose"
        return web.Response(status=status, text=answer)

    app = web.Application()
    app.router.add_get("/healthz", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    port = runner.addresses[0][1]
    probe = probes.https(port, "/healthz?verbose", authority.certificate, saying="resourceclaim-controller")
    try:
        assert await probe() == healthy
    finally:
        await runner.cleanup()
    assert not await probe()
