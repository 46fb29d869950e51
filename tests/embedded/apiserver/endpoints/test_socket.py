"""Components of one machine reach the API server without TLS, through a socket that only its user can open."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path

import pytest

from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_client.resources import CONFIG_MAPS
from drakit_embedded.apiserver import Server, ServerConfig, ServerError


async def test_the_socket_and_the_port_serve_the_same_objects() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        path = Path(directory) / "api.sock"
        async with Server(ServerConfig(token="secret", socket=path)) as server:
            assert path.stat().st_mode & 0o777 == 0o600
            async with (
                Connection("http://localhost", socket=path, token="secret") as inside,
                Connection(server.url, token="secret") as outside,
            ):
                made = await inside.create(CONFIG_MAPS, {"metadata": {"name": "shared"}}, "default")
                assert await outside.get(CONFIG_MAPS, "shared", "default") == made


async def test_the_socket_wants_the_token_too() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        path = Path(directory) / "api.sock"
        async with (
            Server(ServerConfig(token="secret", socket=path)),
            Connection("http://localhost", socket=path, token="guess") as stranger,
        ):
            with pytest.raises(ApiError, match="Unauthorized"):
                await stranger.list(CONFIG_MAPS)


async def test_a_socket_left_by_a_killed_server_is_replaced() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        path = Path(directory) / "api.sock"
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        async with (
            Server(ServerConfig(token="secret", socket=path)),
            Connection("http://localhost", socket=path, token="secret") as connection,
        ):
            assert (await connection.list(CONFIG_MAPS))["kind"] == "ConfigMapList"


@pytest.mark.parametrize(("name", "why"), [("notes.txt", "Address already in use"), ("x" * 120, "path too long")])
async def test_a_path_that_cannot_be_a_socket_is_named_and_left_alone(name: str, why: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        path = Path(directory) / name
        path.write_text("mine")
        with pytest.raises(ServerError, match=rf"cannot listen on {path}: .*{why}; give another path"):
            await Server(ServerConfig(token="secret", socket=path)).start()
        assert path.read_text() == "mine"
