"""Calls to other programs: where they are, and what Go would say if they do not answer."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_embedded import certificates
from drakit_embedded.apiserver.outgoing import addresses, clients, go_errors, targets
from drakit_embedded.apiserver.outgoing.addresses import Address, UnresolvedError
from drakit_embedded.apiserver.outgoing.clients import Clients, Reply, UnusableError
from drakit_embedded.apiserver.outgoing.targets import Service, Target
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.storage.store import Store

SERVICE = Service("default", "svc", 443)
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


@pytest.fixture
def store() -> Store:
    made = Store()
    Catalog(made, FeatureGates(), {})
    return made


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"url": "https://h.example.com"}, "https://h.example.com/"),
        ({"url": "https://h.example.com:8443/a/b/"}, "https://h.example.com:8443/a/b"),
        ({"url": "https://[::1]:8443//a"}, "https://[::1]:8443/a"),
        ({"service": {"namespace": "n", "name": "s"}}, "https://s.n.svc:443/"),
        ({"service": {"namespace": "n", "name": "s", "port": 8, "path": "/x"}}, "https://s.n.svc:8/x"),
    ],
)
def test_errors_name_a_target_as_client_go_does(config: Object, expected: str) -> None:
    assert targets.of(config).url == expected


def put(store: Store, storage: str, name: str, obj: Object) -> None:
    labels = {"kubernetes.io/service-name": "svc"}
    meta = {"name": name, "namespace": "default", "labels": labels, **obj.pop("metadata", {})}
    store.put(store.named(storage), ("default", name), {"metadata": meta, **obj})


def service(store: Store, *ports: Object, **annotations: str) -> None:
    put(store, "services", "svc", {"metadata": {"annotations": annotations}, "spec": {"ports": list(ports)}})


def endpoints(store: Store, address: str, name: str = "", **conditions: bool) -> None:
    endpoint = {"addresses": [address], "conditions": conditions}
    fields = {"ports": [{"name": name, "port": 8443}], "endpoints": [endpoint]}
    put(store, "endpointslices.discovery.k8s.io", f"svc-{address}", fields)


def test_an_annotation_says_where_a_service_is(store: Store) -> None:
    for text, expected in {"127.0.0.1:80": ("127.0.0.1", 80), "[::1]:9": ("::1", 9), ":7": ("127.0.0.1", 7)}.items():
        service(store, **{addresses.ANNOTATION: text})
        assert addresses.resolve(store, SERVICE) == Address(*expected)


@pytest.mark.parametrize("text", ["", "x", "h:", "h:0", "h:99999", "h:port", "9" * 5000])
def test_a_malformed_annotation_is_said_to_be_so(store: Store, text: str) -> None:
    service(store, **{addresses.ANNOTATION: text})
    with pytest.raises(UnresolvedError, match="must be HOST:PORT"):
        addresses.resolve(store, SERVICE)


def test_a_ready_endpoint_of_this_machine_is_where_a_service_is(store: Store) -> None:
    with pytest.raises(UnresolvedError, match='service "svc" not found'):
        addresses.resolve(store, SERVICE)
    service(store, {"port": 80, "name": "web"})
    with pytest.raises(UnresolvedError, match='no service port 443 found for service "svc"'):
        addresses.resolve(store, SERVICE)
    service(store, {"port": 80, "name": "web"}, {"port": 443, "name": "https"})
    endpoints(store, "192.0.2.1", "https")
    endpoints(store, "127.0.0.2", "web")
    endpoints(store, "127.0.0.3", "https", ready=False)
    with pytest.raises(UnresolvedError, match='no endpoints available for service "svc"'):
        addresses.resolve(store, SERVICE)
    endpoints(store, "127.0.0.4", "https", ready=True)
    assert addresses.resolve(store, SERVICE) == Address("127.0.0.4", 8443)


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(serve: Serve, context: ssl.SSLContext | None) -> Any:
    """A program on a port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def request(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.decode().splitlines() if line.lower().startswith("content-length:"))
    await reader.readexactly(length)


async def ok(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.write(OK)
    await writer.drain()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)


async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.write(b"nonsense\r\n\r\n")
    await writer.drain()


async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await writer.drain()


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n")
    for _ in range(20):
        writer.write(b" " * 1024 * 1024)
        await writer.drain()


@pytest.mark.parametrize(
    ("serve", "tls", "expected"),
    [
        (ok, True, ""),
        (plain, False, "http: server gave HTTP response to HTTPS client"),
        (silent, True, "EOF"),
        (rude, True, "net/http: HTTP/1.x transport connection broken: malformed HTTP response"),
    ],
)
async def test_what_goes_wrong_is_told_in_words_of_go(store: Store, serve: Serve, tls: bool, expected: str) -> None:
    context, pem = certificates.self_signed("127.0.0.1", None)
    caller = Clients(store)
    try:
        async with listening(serve, context if tls else None) as port:
            url = f"https://127.0.0.1:{port}/x"
            reply = await caller.post(Target(url, pem.decode(), None), b"{}", 10)
        if not expected:
            assert reply == Reply(200, "application/json", b"{}")
        else:
            assert reply.failure.startswith(f'Post "{url}?timeout=10s": {expected}')
    finally:
        await caller.close()


async def test_an_endless_answer_is_not_read_to_its_end(store: Store) -> None:
    context, pem = certificates.self_signed("127.0.0.1", None)
    caller = Clients(store)
    try:
        async with listening(endless, context) as port:
            reply = await caller.post(Target(f"https://127.0.0.1:{port}/", pem.decode(), None), b"{}", 30)
        assert "longer than" in reply.failure
    finally:
        await caller.close()


async def test_a_connection_that_was_closed_while_idle_is_made_anew(store: Store) -> None:
    context, pem = certificates.self_signed("127.0.0.1", None)
    served = []

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ok(reader, writer)
        served.append(1)
        if len(served) == 1:
            # The next request comes on this connection and is not answered.
            await request(reader)

    caller = Clients(store)
    try:
        async with listening(once, context) as port:
            target = Target(f"https://127.0.0.1:{port}/", pem.decode(), None)
            assert (await caller.post(target, b"{}", 10)).status == 200
            assert (await caller.post(target, b"{}", 10)).status == 200
        assert served == [1, 1]
    finally:
        await caller.close()


async def test_a_name_that_nobody_knows_is_told_in_words_of_go(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nowhere(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", nowhere)
    caller = Clients(store)
    try:
        reply = await caller.post(Target("https://h.invalid/", "", None), b"{}", 10)
        assert reply.failure == 'Post "https://h.invalid/?timeout=10s": dial tcp: lookup h.invalid: no such host'
    finally:
        await caller.close()


@pytest.mark.parametrize(
    ("bundle", "why"),
    [
        ("nonsense", "unable to parse bytes as PEM block"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "failed to parse certificate"),
    ],
)
def test_authorities_that_cannot_be_read_rule_out_calls(bundle: str, why: str) -> None:
    target = targets.of({"url": "https://h", "caBundle": base64.b64encode(bundle.encode()).decode()})
    with pytest.raises(UnusableError, match=f"unable to load root certificates: {why}"):
        clients.check(target)


@pytest.mark.parametrize(
    ("code", "content_type", "body", "expected"),
    [
        (404, "application/json", b"x", "the server could not find the requested resource"),
        (403, "text/plain", b" no ", "no"),
        (403, "application/json", b"no", "unknown"),
        (406, "text/plain", b"", "the server was unable to respond with a content type that the client supports"),
        (500, "", b'a "b"', r'an error on the server ("a \"b\"") has prevented the request from succeeding'),
        (418, "", b"", "the server responded with the status code 418 but did not return more information"),
    ],
)
def test_a_status_is_told_in_words_of_go(code: int, content_type: str, body: bytes, expected: str) -> None:
    assert go_errors.of_status(code, content_type, body) == expected
