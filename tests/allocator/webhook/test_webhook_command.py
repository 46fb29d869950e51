"""``drakit webhook patches`` beside an API server, and the objects with which it runs in a cluster."""

from __future__ import annotations

import asyncio
import contextlib
import io
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner

from drakit_allocator.webhook.configuration import BY_URL
from drakit_allocator.webhook.serving import Address, ServingError, serving
from drakit_api.features import PATCHES_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client.certificates import self_signed
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, NotFound
from drakit_client.resources import RESOURCE_SLICE_PATCHES, VALIDATING_WEBHOOKS
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_kind.cli.drakit_command import main
from tests.allocator import kubeconfigs

_GATES = FeatureGates(overrides={PATCHES_GATE: True})
_BOUND = 60.0


def _patch(expression: str, name: str = "p") -> Object:
    filtered = {"selectors": [{"cel": {"expression": expression}}]}
    return {"metadata": {"name": name}, "spec": {"devices": {"filter": filtered}}}


@contextlib.asynccontextmanager
async def _cluster(tmp_path: Path) -> AsyncIterator[tuple[Connection, str]]:
    """An API server that has patches, and a kubeconfig for it."""
    async with Server(ServerConfig(gates=_GATES)) as server, Connection(server.url, token=server.token) as api:
        file = kubeconfigs.write(tmp_path / "kubeconfig", server.url, server.token)
        yield api, str(file)


@contextlib.asynccontextmanager
async def _webhook(*arguments: str, before_ready: list[str] | None = None) -> AsyncIterator[asyncio.subprocess.Process]:
    """The command as a process, once it says that it is ready; ``before_ready`` gets what it said until then."""
    command = (sys.executable, "-m", "drakit_kind", "webhook", "patches", *arguments)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    try:
        assert process.stderr is not None
        async with asyncio.timeout(_BOUND):
            while b"ready" not in (line := await process.stderr.readline()):
                assert line, "it has ended before it was ready"
                if before_ready is not None:
                    before_ready.append(line.decode())
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.slow
async def test_a_patch_whose_selector_does_not_compile_is_refused_while_the_webhook_is_registered(
    tmp_path: Path,
) -> None:
    wrong, right = _patch("device.drive == 'gpu.example.com'"), _patch("device.driver == 'gpu.example.com'")
    async with _cluster(tmp_path) as (api, kubeconfig):
        # Nobody compiles it yet.
        await api.create(RESOURCE_SLICE_PATCHES, wrong)
        await api.delete(RESOURCE_SLICE_PATCHES, "p")
        async with _webhook("--register", "--kubeconfig", kubeconfig) as process:
            with pytest.raises(ApiError) as refused:
                await api.create(RESOURCE_SLICE_PATCHES, wrong)
            assert f'webhook "selectors.{RESOURCE_SLICE_PATCHES.group}" denied the request' in refused.value.message
            about = f'ResourceSlicePatch.{RESOURCE_SLICE_PATCHES.group} "p" is invalid: '
            assert f"{about}spec.devices.filter.selectors[0].cel.expression: Invalid value" in refused.value.message
            assert "undefined field 'drive'" in refused.value.message
            await api.create(RESOURCE_SLICE_PATCHES, right)
            with pytest.raises(ApiError, match="undefined field 'drive'"):
                await api.patch(RESOURCE_SLICE_PATCHES, "p", {"spec": wrong["spec"]})
            process.terminate()
            assert await asyncio.wait_for(process.wait(), _BOUND) == 0
        with pytest.raises(NotFound):
            await api.get(VALIDATING_WEBHOOKS, BY_URL)
        await api.patch(RESOURCE_SLICE_PATCHES, "p", {"spec": wrong["spec"]})


@pytest.mark.slow
async def test_who_takes_over_a_registration_says_whose(tmp_path: Path) -> None:
    async with _cluster(tmp_path) as (api, kubeconfig), _webhook("--register", "--kubeconfig", kubeconfig) as first:
        url = (await api.get(VALIDATING_WEBHOOKS, BY_URL))["webhooks"][0]["clientConfig"]["url"]
        said: list[str] = []
        async with _webhook("--register", "--kubeconfig", kubeconfig, before_ready=said) as second:
            assert f"the registration of {url} was replaced: the API server no longer calls it\n" in said
            first.terminate()
            assert await asyncio.wait_for(first.wait(), _BOUND) == 0
            # It has left the other one's registration alone.
            assert (await api.get(VALIDATING_WEBHOOKS, BY_URL))["webhooks"][0]["clientConfig"]["url"] != url
            second.terminate()
            assert await asyncio.wait_for(second.wait(), _BOUND) == 0
        with pytest.raises(NotFound):
            await api.get(VALIDATING_WEBHOOKS, BY_URL)


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "is_taken"), [("Ignore", True), ("Fail", False)])
async def test_a_webhook_that_is_gone_lets_patches_pass_unless_told_otherwise(
    tmp_path: Path, policy: str, is_taken: bool
) -> None:
    async with _cluster(tmp_path) as (api, kubeconfig):
        async with _webhook("--register", "--kubeconfig", kubeconfig, "--failure-policy", policy) as process:
            process.kill()
            await process.wait()
        if is_taken:
            await api.create(RESOURCE_SLICE_PATCHES, _patch("1 +"))
        else:
            with pytest.raises(ApiError, match="failed calling webhook"):
                await api.create(RESOURCE_SLICE_PATCHES, _patch("true"))


async def test_it_answers_reviews_and_probes_and_nothing_else() -> None:
    async with serving(Address("127.0.0.1", 0), _GATES) as served:
        trust = ssl.create_default_context(cadata=served.certificate.decode())
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            found = [
                await _status(session, method, served.address.url(path), **sent)
                for method, path, sent in (
                    ("GET", "/healthz", {}),
                    ("POST", "/validate", {"data": b"no review"}),
                    ("GET", "/validate", {}),
                    ("POST", "/", {}),
                    ("POST", "/validate", {"data": io.BytesIO(b" " * (9 * 1024 * 1024))}),
                )
            ]
    assert found == [200, 400, 405, 404, 413]


async def _status(session: aiohttp.ClientSession, method: str, url: str, **sent: Any) -> int:
    async with session.request(method, url, **sent) as response:
        return response.status


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
async def test_a_certificate_of_its_own_is_for_the_address_that_it_listens_on(host: str) -> None:
    async with serving(Address(host, 0), _GATES) as served:
        trust = ssl.create_default_context(cadata=served.certificate.decode())
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            assert await _status(session, "GET", served.address.url("/healthz")) == 200


async def test_a_given_certificate_is_used(tmp_path: Path) -> None:
    certificate, key = self_signed(["localhost"])
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    async with serving(Address("localhost", 0), _GATES, tmp_path / "tls.crt", tmp_path / "tls.key") as served:
        assert served.certificate == certificate
    with pytest.raises(ServingError, match="must be given together"):
        async with serving(Address("localhost", 0), _GATES, tmp_path / "tls.crt"):
            pass
    (tmp_path / "tls.key").write_text("no key")
    with pytest.raises(ServingError, match="cannot be used"):
        async with serving(Address("localhost", 0), _GATES, tmp_path / "tls.crt", tmp_path / "tls.key"):
            pass


async def test_an_address_that_is_taken_is_named() -> None:
    async with serving(Address("127.0.0.1", 0), _GATES) as served:
        with pytest.raises(ServingError, match=f"cannot listen on 127.0.0.1:{served.address.port}: .*give another"):
            async with serving(served.address, _GATES):
                pass


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--listen", "127.0.0.1"], "is no address to listen on; give HOST:PORT"),
        (["--listen", "127.0.0.1:65536"], "is no address to listen on"),
        (["--listen", "192.0.2.1:0"], "give another --listen"),
        (["--feature-gates", "Unknown=true"], "unrecognized feature gate: Unknown"),
        (["--register", "--kubeconfig", "/nonexistent"], "name a file with --kubeconfig"),
    ],
)
def test_wrong_use_is_refused_with_the_way_out(arguments: list[str], complaint: str) -> None:
    result = CliRunner().invoke(main, ["webhook", "patches", *arguments])
    assert result.exit_code != 0
    assert complaint in result.output
