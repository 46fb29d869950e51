"""The self-signed certificate: where it is kept, and what then becomes of it."""

from __future__ import annotations

import asyncio
import ssl
import stat
import sys
from pathlib import Path

import aiohttp
import pytest
import yaml
from cryptography import x509

from drakit_embedded.apiserver import Server, ServerConfig, ServerError


async def certificate(directory: Path | None = None, data_file: Path | None = None) -> bytes | None:
    """That of a server which is started and stopped."""
    config = ServerConfig(tls=True, certificate_directory=directory, data_file=data_file)
    async with Server(config) as server:
        return server.ca_certificate


async def test_servers_of_one_directory_share_one_that_only_the_user_can_read(tmp_path: Path) -> None:
    directory = tmp_path / "certificates"
    first = await certificate(directory)
    assert await certificate(directory) == first
    assert await certificate() != first
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (directory, *directory.iterdir())}
    assert modes == {"certificates": 0o700, "apiserver.pem": 0o600}


async def test_a_client_that_verifies_strictly_trusts_it() -> None:
    """Python does from 3.13 on: RFC 5280 to the letter, key usage and key identifiers among it."""
    async with Server(ServerConfig(tls=True)) as server:
        trust = ssl.create_default_context(cadata=(server.ca_certificate or b"").decode())
        trust.verify_flags |= ssl.VERIFY_X509_STRICT
        async with aiohttp.ClientSession() as session, session.get(f"{server.url}/livez", ssl=trust) as answer:
            assert answer.status == 200
        made = x509.load_pem_x509_certificate(server.ca_certificate or b"")
    usage = made.extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert usage.value.digital_signature
    assert usage.value.key_cert_sign


async def test_new_data_get_a_copy_which_outlives_the_directory(tmp_path: Path) -> None:
    shared, data = tmp_path / "shared", tmp_path / "data" / "store.db"
    first = await certificate(shared, data)
    assert await certificate(shared) == first
    (shared / "apiserver.pem").unlink()
    assert await certificate(shared, data) == first
    assert stat.S_IMODE((tmp_path / "data" / "store.db.pem").stat().st_mode) == 0o600


async def test_data_keep_the_certificate_that_they_have(tmp_path: Path) -> None:
    data = tmp_path / "store.db"
    first = await certificate(data_file=data)
    assert await certificate(tmp_path / "shared", data) == first


@pytest.mark.slow
async def test_of_servers_that_start_at_once_all_show_what_is_kept(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "drakit_kind", "apiserver", "run", "--no-controllers", "--kubeconfig"]
    files = [tmp_path / str(number) for number in range(3)]
    started = [
        await asyncio.create_subprocess_exec(
            *command, str(file), stdout=asyncio.subprocess.PIPE, env={"DRAKIT_CACHE": str(tmp_path / "cache")}
        )
        for file in files
    ]
    try:
        for process in started:
            assert process.stdout is not None
            await asyncio.wait_for(process.stdout.readline(), 20)
        shown = [yaml.safe_load(file.read_text())["clusters"][0]["cluster"] for file in files]
    finally:
        for process in started:
            process.terminate()
            await process.wait()
    assert len({cluster["certificate-authority-data"] for cluster in shown}) == 1
    assert [path.name for path in (tmp_path / "cache" / "certificates").iterdir()] == ["apiserver.pem"]


@pytest.mark.slow
async def test_without_a_cache_a_server_starts_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "drakit_kind", "apiserver", "run", "--no-controllers", "--token", "t"),
        stdout=asyncio.subprocess.PIPE,
        env={"DRAKIT_CACHE": str(tmp_path / "file" / "cache")},
    )
    try:
        assert process.stdout is not None
        assert (await asyncio.wait_for(process.stdout.readline(), 20)).startswith(b"serving on https://127.0.0.1:")
    finally:
        process.terminate()
        await process.wait()


async def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    (tmp_path / "apiserver.pem").write_text("-----BEGIN")
    with pytest.raises(ServerError, match=r"/apiserver\.pem is damaged \(.*\); delete it, and another is made"):
        await certificate(tmp_path)
