"""``drakit apiserver run``: what it leaves for others, and what it leaves alone."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow


async def test_nobody_who_has_the_old_kubeconfig_open_reads_the_new_one(tmp_path: Path) -> None:
    there, link = tmp_path / "there", tmp_path / "link"
    there.touch(mode=0o644)
    link.symlink_to(there)
    options = ["-m", "drakit_kind", "apiserver", "run", "--no-tls", "--no-controllers", "--kubeconfig", str(link)]
    process = await asyncio.create_subprocess_exec(sys.executable, *options, stdout=asyncio.subprocess.PIPE)
    try:
        with there.open() as open_already:
            assert process.stdout is not None
            said = await asyncio.wait_for(process.stdout.readline(), 20)
            assert said.decode() == f"kubeconfig: {link}\n"
            assert open_already.read() == ""
        assert link.is_symlink()
        assert stat.S_IMODE(there.stat().st_mode) == 0o600
        assert yaml.safe_load(link.read_text())["users"][0]["user"]["token"]
    finally:
        process.terminate()
        await process.wait()


async def test_the_authorities_of_the_environment_are_not_read(tmp_path: Path) -> None:
    """That would take a sixth of the start. To read a pipe that nobody writes to would take for ever."""
    pipe = tmp_path / "authorities.pem"
    os.mkfifo(pipe)
    options = ["-m", "drakit_kind", "apiserver", "run", "--cert-dir", str(tmp_path)]
    environment = {**os.environ, "SSL_CERT_FILE": str(pipe), "DRAKIT_TOKEN": "t"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, *options, stdout=asyncio.subprocess.PIPE, env=environment
    )
    try:
        assert process.stdout is not None
        said = await asyncio.wait_for(process.stdout.readline(), 20)
        assert said.startswith(b"serving on https://")
    finally:
        process.kill()
        await process.wait()
