"""Answers of an API server become objects or errors that say what the server said."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from drakit_api import formats
from drakit_client import errors
from drakit_client.connection import Connection
from drakit_client.events import EventRecorder
from drakit_client.processes import readiness
from drakit_client.resources import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES


async def _serve(handler: Any) -> TestServer:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    server = TestServer(app)
    await server.start_server()
    return server


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (404, "NotFound", errors.NotFound),
        (409, "AlreadyExists", errors.AlreadyExists),
        (409, "Conflict", errors.Conflict),
        (422, "Invalid", errors.Invalid),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Expired),
        (403, "Forbidden", errors.ApiError),
    ],
)
async def test_a_refusal_is_an_error_of_its_reason(code: int, reason: str, expected: type[errors.ApiError]) -> None:
    status = {"kind": "Status", "code": code, "reason": reason, "message": "because", "details": {"causes": [{"f": 1}]}}

    async def refuse(_: web.Request) -> web.Response:
        return web.json_response(status, status=code)

    server = await _serve(refuse)
    async with Connection(str(server.make_url("/"))) as connection:
        with pytest.raises(expected, match="because") as caught:
            await connection.get(PODS, "p", "ns")
    await server.close()
    assert type(caught.value) is expected
    assert caught.value.causes == [{"f": 1}]


async def test_a_refusal_without_a_status_still_says_what_came_back() -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=502, text="bad gateway\n")

    server = await _serve(refuse)
    async with Connection(str(server.make_url("/"))) as connection:
        with pytest.raises(errors.ApiError, match="bad gateway"):
            await connection.list(PODS)
    await server.close()


async def test_a_kubeconfig_of_the_official_client_is_enough(tmp_path: Path) -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})

    server = await _serve(answer)
    config = {
        "clusters": [{"name": "c", "cluster": {"server": str(server.make_url("/"))}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    (tmp_path / "config").write_text(yaml.safe_dump(config))
    async with await Connection.from_kubeconfig(tmp_path / "config") as connection:
        await connection.list(PODS)
    await server.close()
    assert seen == ["Bearer secret"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path("ns", "p", "status"), "/api/v1/namespaces/ns/pods/p/status"),
        (PODS.path(), "/api/v1/pods"),
        (RESOURCE_SLICES.path("ignored", "s"), "/apis/resource.k8s.io/v1/resourceslices/s"),
        (
            RESOURCE_CLAIMS.in_version("v1beta1").path("ns"),
            "/apis/resource.k8s.io/v1beta1/namespaces/ns/resourceclaims",
        ),
        (PODS.path("ns", "../x"), "/api/v1/namespaces/ns/pods/..%2Fx"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


async def test_a_repeated_event_raises_its_count() -> None:
    requests: list[tuple[str, Any]] = []

    async def store(request: web.Request) -> web.Response:
        requests.append((request.method, await request.json()))
        return web.json_response({})

    server = await _serve(store)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns", "uid": "1"}}
    async with Connection(str(server.make_url("/"))) as connection:
        recorder = EventRecorder(connection, "tester")
        for message in ("same", "same", "other " + "x" * 2000):
            recorder.event(pod, "Warning", "Why", message)
            await recorder.flush()
    await server.close()
    assert [method for method, _ in requests] == ["POST", "PATCH", "POST"]
    assert requests[1][1]["count"] == 2
    assert len(requests[2][1]["message"]) == 1024
    assert requests[0][1]["involvedObject"]["uid"] == "1"


@pytest.mark.parametrize(
    ("combines", "expected"),
    [
        (True, [*(f"name-{n}" for n in range(9)), *(f"(combined from similar events): name-{n}" for n in (9, 10, 11))]),
        (False, [f"name-{n}" for n in range(12)]),
    ],
    ids=["record", "events"],
)
async def test_events_that_differ_in_their_text_only_become_one(combines: bool, expected: list[str]) -> None:
    stored: dict[str, Any] = {}
    told: list[str] = []

    async def store(request: web.Request) -> web.Response:
        body = await request.json()
        name = body["metadata"]["name"] if request.method == "POST" else request.path.rpartition("/")[2]
        stored[name] = {**stored.get(name, {}), **body}
        told.append(stored[name]["message"])
        return web.json_response(stored[name])

    server = await _serve(store)
    async with Connection(str(server.make_url("/"))) as connection:
        recorder = EventRecorder(connection, "tester", combines=combines)
        for number in range(12):
            recorder.event({"kind": "Pod", "name": "p", "namespace": "ns"}, "Warning", "Why", f"name-{number}")
            await recorder.flush()
    await server.close()
    assert told == expected
    assert sorted(event["count"] for event in stored.values()) == ([1] * 9 + [3] if combines else [1] * 12)


@pytest.mark.parametrize("name", ["p", "a" * 253, "a" * 17 + "." + "b" * 235, "a" * 235 + "-." + "b" * 16])
async def test_the_name_of_an_event_is_one_whatever_the_name_of_the_object_is(name: str) -> None:
    told: list[str] = []

    async def store(request: web.Request) -> web.Response:
        body = await request.json()
        told.append(body["metadata"]["name"])
        return web.json_response(body)

    server = await _serve(store)
    async with Connection(str(server.make_url("/"))) as connection:
        recorder = EventRecorder(connection, "tester")
        recorder.event({"kind": "Pod", "name": name, "namespace": "ns"}, "Normal", "Why", "text")
        await recorder.flush()
    await server.close()
    assert len(told) == 1
    assert formats.dns_subdomain(told[0]) == []
    assert told[0].startswith(name[:235])


async def test_an_event_that_was_told_before_a_restart_is_counted_on() -> None:
    stored: dict[str, Any] = {}

    async def store(request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else {}
        if request.method == "POST" and stored:
            status = {"kind": "Status", "code": 409, "reason": "AlreadyExists", "message": "exists"}
            return web.json_response(status, status=409)
        stored.update(body)
        return web.json_response(stored)

    server = await _serve(store)
    async with Connection(str(server.make_url("/"))) as connection:
        for expected in (1, 2, 3):
            recorder = EventRecorder(connection, "tester")
            recorder.event({"kind": "Pod", "name": "p", "namespace": "ns"}, "Warning", "Why", "same")
            await recorder.flush()
            assert stored["count"] == expected
    await server.close()


async def test_an_event_that_cannot_be_written_is_logged_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async with Connection("http://127.0.0.1:9") as connection:
        recorder = EventRecorder(connection, "tester")
        recorder.event({"kind": "Pod", "name": "p", "namespace": "ns"}, "Normal", "Why", "text")
        await recorder.flush()
    assert "event Why of Pod p dropped" in caplog.text


async def test_ready_is_said_once_where_systemd_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "n"))
        listener.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "n"))
        readiness.announce_ready()
        readiness.announce_ready()
        assert await asyncio.get_running_loop().sock_recv(listener, 64) == b"READY=1"
        with pytest.raises(BlockingIOError):
            listener.recv(64)


@pytest.mark.slow
async def test_requests_take_turns_so_that_sockets_do_not_run_out() -> None:
    under_way, most = 0, 0

    async def count(_: web.Request) -> web.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return web.json_response({})

    server = await _serve(count)
    async with Connection(str(server.make_url("/"))) as connection:
        await asyncio.gather(*(connection.get(PODS, "p", "ns") for _ in range(400)))
        connections = len(connection._open().connector._conns.popitem()[1])  # type: ignore[union-attr]
    await server.close()
    assert most <= connections <= 128


@pytest.mark.parametrize(
    ("header", "text"),
    [('299 - "a \\"b\\" \\\\ c"', 'a "b" \\ c'), ('299 - "plain"', "plain"), ("odd", "odd")],
)
async def test_warnings_of_the_server_are_handed_on(header: str, text: str) -> None:
    async def warn(_: web.Request) -> web.Response:
        return web.json_response({}, headers={"Warning": header})

    server, told = await _serve(warn), list[str]()
    async with Connection(str(server.make_url("/"))) as connection:
        await connection.get(PODS, "p", "ns")
        connection.on_warning = told.append
        await connection.get(PODS, "p", "ns")
    await server.close()
    assert told == [text]
