"""Attacks by somebody without any credential: what he sends costs next to nothing, and keeps nobody else out."""

from __future__ import annotations

import contextlib
import gzip
import os
import random
import resource
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from drakit_client.credentials import kubeconfig
from drakit_client.errors import ApiError
from drakit_client.resources import NODES
from drakit_embedded import certificates
from drakit_kind.clusters.manifests import pod
from e2e.attacks.victim import Victim

_MAPS = "/api/v1/namespaces/default/configmaps"
# 3 MB that become 3 GB.
_BOMB = gzip.compress(bytes(3_000_000_000 // 1000), 9) * 1000
_CPU_SECONDS = 5.0
_IDLE = 400
# What the log may grow by, however long it goes on.
_LOG_BYTES = 100_000
# All that a value may have without ending its line.
_HEADER_BYTES = bytes(sorted({*range(0x20, 0x7F), *range(0x80, 0x100), 0x09}))


Connect = Callable[[], socket.socket]


def _address(victim: Victim) -> tuple[str, int]:
    access = kubeconfig.read(str(victim.cluster.kubeconfig))
    assert access is not None
    address = urlsplit(access.server)
    assert address.hostname is not None
    assert address.port is not None
    return address.hostname, address.port


@pytest.fixture
def connect(victim: Victim) -> Iterator[Connect]:
    """Opens connections to the victim's API server, all of which end with the story."""
    address = _address(victim)
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(socket.create_connection(address, timeout=10))


@pytest.fixture
def speak(victim: Victim) -> Iterator[Connect]:
    """The same, with TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = _address(victim)
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(context.wrap_socket(socket.create_connection(address, timeout=10)))


def _request(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: victim", *(f"{key}: {value}" for key, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


@pytest.mark.parametrize("credential", [{"Authorization": "Bearer guessed"}, {}], ids=["a wrong one", "none"])
def test_a_gzip_bomb_is_refused_as_it_is(victim: Victim, speak: Connect, credential: dict[str, str]) -> None:
    before = victim.cpu_seconds()
    for encoding in ("gzip", "deflate", "br", "zstd"):
        client = speak()
        with contextlib.suppress(OSError):  # it may have hung up before all was sent
            client.sendall(_request("POST", _MAPS, {**credential, "Content-Encoding": encoding}, _BOMB))
        assert client.recv(20).split()[1] in (b"401", b"403")
    assert victim.slow_answers(limit=5.0) == []
    assert victim.cpu_seconds() - before < _CPU_SECONDS


def test_idle_connections_leave_room_where_descriptors_are_few(victim: Victim, connect: Connect) -> None:
    """As with `ulimit -n`: what the victim has open now, and 100 more."""
    used = len(os.listdir(f"/proc/{victim.pid}/fd"))
    before = resource.prlimit(victim.pid, resource.RLIMIT_NOFILE)
    logged = len(victim.cluster.logs())
    resource.prlimit(victim.pid, resource.RLIMIT_NOFILE, (used + 100, before[1]))
    try:
        for _ in range(_IDLE):
            connect()
        assert victim.slow_answers(limit=5.0) == []
        for _ in range(_IDLE):
            connect()
        victim.new_connection()
    finally:
        resource.prlimit(victim.pid, resource.RLIMIT_NOFILE, before)
    assert len(victim.cluster.logs()) - logged < _LOG_BYTES


def test_nonsense_ends_its_connection_and_fills_no_log(
    victim: Victim,
    connect: Connect,
    speak: Connect,
    attack_random: random.Random,
    rounds: Callable[[], Iterator[int]],
) -> None:
    """Broken handshakes, broken heads, heads that stop, bodies that stop."""
    logged, spoken = len(victim.cluster.logs()), _request("GET", "/api", {"Authorization": "Bearer guessed"}, b"x" * 50)
    for _ in rounds():
        client = attack_random.choice((connect, speak))()
        said = bytearray(attack_random.choice((spoken, attack_random.randbytes(200))))
        for _ in range(attack_random.randrange(10)):
            said[attack_random.randrange(len(said))] = attack_random.randrange(256)
        with contextlib.suppress(OSError):
            client.sendall(said[: attack_random.randrange(1, len(said))])
        if attack_random.random() < 0.5:
            client.close()
    assert victim.slow_answers(limit=5.0) == []
    assert len(victim.cluster.logs()) - logged < _LOG_BYTES


def test_no_header_is_an_error_of_a_server(
    victim: Victim, attack_random: random.Random, rounds: Callable[[], Iterator[int]]
) -> None:
    """Of the API server and of the kubelets' port for logs: bearers, codings and media that are no text, or broken."""
    status = victim.api.get(NODES, victim.cluster.spec.nodes[0])["status"]
    kubelet = ("127.0.0.1", int(status["daemonEndpoints"]["kubeletEndpoint"]["Port"]))
    whole = gzip.compress(b'{"metadata": {"name": "a"}}', mtime=0)
    for number in rounds():
        # The first is one that has been an error.
        odd = _odd_header(attack_random) if number else ("Authorization", b"Bearer \xff\xfe")
        headers = {"Authorization": f"Bearer {victim.cluster.spec.token}".encode(), "Connection": b"close"}
        body = whole[: attack_random.randrange(len(whole) + 1)]
        for address, method in ((_address(victim), "POST"), (kubelet, "GET")):
            answer = _answer(address, f"{method} {_MAPS}?dryRun=All", {**headers, odd[0]: odd[1]}, body)
            assert answer.split()[1][:1] in (b"2", b"4"), (method, odd, body, answer)


def _odd_header(chosen: random.Random) -> tuple[str, bytes]:
    name = chosen.choice(("Authorization", "Content-Encoding", "Content-Type", "Accept", "Impersonate-User"))
    begin = chosen.choice((b"", b"Bearer ", b"gzip", b"application/json", b"Basic "))
    return name, begin + bytes(chosen.choice(_HEADER_BYTES) for _ in range(chosen.randrange(30)))


def _answer(address: tuple[str, int], asked: str, headers: dict[str, bytes], body: bytes) -> bytes:
    """The beginning of the answer to a request with headers that may be any bytes."""
    lines = [f"{asked} HTTP/1.1".encode(), b"Host: victim", b"Content-Length: %d" % len(body)]
    lines += [name.encode() + b": " + value for name, value in headers.items()]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection(address, timeout=10)) as client:
        client.sendall(b"\r\n".join([*lines, b"", body]))
        return client.recv(4096)


def test_a_node_that_names_another_port_gets_no_token(victim: Victim, tmp_path: Path) -> None:
    """Whoever may write a node may have the API server ask any port of this machine for logs."""
    heard: list[bytes] = []
    context, _ = certificates.self_signed("127.0.0.1", tmp_path / "thief.pem")
    with socket.create_server(("127.0.0.1", 0)) as thief:
        thief.settimeout(10)

        def listen() -> None:
            client, _ = thief.accept()
            with contextlib.suppress(OSError), context.wrap_socket(client, server_side=True) as spoken:
                heard.append(spoken.recv(4096))

        thread = threading.Thread(target=listen)
        thread.start()
        node = {"kubeletEndpoint": {"Port": thief.getsockname()[1]}}
        status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": node}
        victim.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "thief"}, "status": status})
        victim.api.create(pod("asked", nodeName="thief"))
        with pytest.raises(ApiError, match="failed to verify certificate"):
            victim.api.log("asked")
        thread.join(10)
    assert heard in ([], [b""])
