"""Registration of plugins, against what a real kubelet was recorded to do."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from drakit_api.kubelet import wire
from drakit_embedded.kubelet.claims import ClaimInfo
from drakit_embedded.kubelet.device_health import Report
from drakit_embedded.kubelet.plugin_calls import CallError
from drakit_embedded.kubelet.plugins import PluginError, Plugins
from drakit_embedded.kubelet.registration import Registrar, _Failures
from drakit_embedded.kubelet.release import Release

if TYPE_CHECKING:
    from tests.embedded.conftest import FakePlugin

Until = Callable[..., Awaitable[Any]]

TRANSCRIPT = Path(__file__).parents[2] / "vectors" / "kubelet" / "transcript.jsonl"
RECORDED_ENDPOINT = "/var/lib/kubelet/plugins/gpu.example.com/dra.sock"


class Node:
    """Registrar and plugins of one node, polled as the simulator does."""

    def __init__(self, directory: Path, *, wiping: float = 60.0, release: Release | None = None) -> None:
        (directory / "plugins_registry").mkdir(parents=True)
        self.wiped: list[str] = []
        self.health: list[Sequence[Report] | None] = []
        self.plugins = Plugins(
            wiping=wiping,
            health_retry=0.05,
            wipe=self.wiped.append,
            health=lambda driver, reports: self.health.append(reports),
            release=release or Release(),
        )
        self.registrar = Registrar(directory / "plugins_registry", self.plugins)
        self._polling = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        while True:
            self.registrar.poll()
            await asyncio.sleep(0.01)

    def is_at_rest(self) -> bool:
        """Whether a plugin is registered and has been told so."""
        sockets = self.registrar._sockets.values()
        return bool(sockets) and all(entry.registered and entry.attempt is None for entry in sockets)

    async def close(self) -> None:
        self._polling.cancel()
        await asyncio.gather(self._polling, return_exceptions=True)
        await self.registrar.close()
        await self.plugins.close()


@pytest.fixture
async def node(short_path: Path) -> AsyncIterator[Node]:
    node = Node(short_path / "n")
    yield node
    await node.close()


def recorded_registrations() -> list[tuple[tuple[str, ...], dict[str, Any], set[str]]]:
    """(versions, verdict, health APIs) of each way to register that was recorded with a 1.37 kubelet."""
    found: dict[tuple[str, ...], tuple[dict[str, Any], set[str]]] = {}
    versions: tuple[str, ...] = ()
    for line in TRANSCRIPT.read_text().splitlines():
        entry = json.loads(line)
        if entry["what"] == "start":
            versions = tuple(entry["services"])
        elif entry["what"] == "NotifyRegistrationStatus":
            found.setdefault(versions, (entry["request"], set()))
        elif entry["what"] == "NodeWatchResources" and entry["t"] < 1900:  # later, a 1.36 kubelet took part
            found[versions][1].add(entry["api"])
    return [(versions, verdict, health) for versions, (verdict, health) in found.items()]


@pytest.mark.parametrize(
    ("versions", "verdict", "health"), recorded_registrations(), ids=lambda value: " ".join(value) if value else "none"
)
async def test_registers_as_the_recorded_kubelet_did(
    versions: tuple[str, ...],
    verdict: dict[str, Any],
    health: set[str],
    node: Node,
    plugins: Callable[..., FakePlugin],
    short_path: Path,
    until: Until,
) -> None:
    endpoint = None if verdict["plugin_registered"] else RECORDED_ENDPOINT
    plugin = plugins(short_path / "n", versions=versions, endpoint=endpoint)
    await plugin.start()

    await until(lambda: "NotifyRegistrationStatus" in plugin.names)
    await until(lambda: {r["api"] for n, r in plugin.calls if n == "NodeWatchResources"} == health)

    assert plugin.names[0] == "GetInfo"
    assert next(request for name, request in plugin.calls if name == "NotifyRegistrationStatus") == verdict
    assert plugin.names.count("NodeWatchResources") == len(health)
    assert bool(node.plugins.names()) == verdict["plugin_registered"]


def test_each_delay_is_twice_the_last_one_up_to_a_limit() -> None:
    """k8s.io/kubernetes/pkg/util/goroutinemap/exponentialbackoff."""
    failures = _Failures()
    assert [failures.add() for _ in range(10)] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 122.0, 122.0]


@pytest.mark.slow
async def test_a_refused_plugin_is_asked_again_after_half_a_second_and_then_later(
    node: Node, plugins: Callable[..., FakePlugin], short_path: Path, until: Until
) -> None:
    plugin = plugins(short_path / "n", versions=("1.0.0",))
    await plugin.start()
    await until(lambda: len(plugin.asked_at) >= 3)
    first, second, third, *_ = plugin.asked_at
    assert second - first >= 0.5
    assert third - second >= 1.0
    plugin.versions = (wire.DRA_V1,)
    await until(node.plugins.names)


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        ([wire.DRA_V1, wire.DRA_V1BETA1], wire.DRA_V1),
        ([wire.DRA_V1BETA1, wire.DRA_V1], wire.DRA_V1BETA1),
        ([wire.HEALTH_V1, "v2.DRAPlugin", wire.DRA_V1], wire.DRA_V1),
    ],
    ids=["newest first", "oldest first", "unknown first"],
)
async def test_the_first_version_of_the_plugins_list_that_the_kubelet_knows_is_taken(
    versions: list[str], chosen: str, node: Node
) -> None:
    assert node.plugins.validate("d", "/e", versions) == chosen


async def test_a_plugin_without_versions_is_refused(node: Node) -> None:
    with pytest.raises(PluginError, match="empty list of supported gRPC services"):
        node.plugins.validate("d", "/e", [])


async def test_another_type_of_plugin_is_refused(
    node: Node, plugins: Callable[..., FakePlugin], short_path: Path, until: Until
) -> None:
    plugin = plugins(short_path / "n")
    plugin.type = "CSIPlugin"
    await plugin.start()
    await until(lambda: "NotifyRegistrationStatus" in plugin.names)
    error = "RegisterPlugin error -- no handler registered for plugin type: CSIPlugin at socket"
    assert plugin.calls[1][1] == {"plugin_registered": False, "error": f"{error} {plugin.registration_socket}"}
    assert node.plugins.names() == []


async def test_a_removed_socket_deregisters_and_wipes_after_the_delay(
    short_path: Path, plugins: Callable[..., FakePlugin], until: Until
) -> None:
    node = Node(short_path / "n", wiping=0.2)
    try:
        plugin = plugins(short_path / "n")
        await plugin.start()
        await until(lambda: node.plugins.names() and node.plugins.get("gpu.example.com").connected)
        await plugin.stop()
        await until(lambda: not node.plugins.names())
        with pytest.raises(PluginError, match=r"^DRA driver gpu\.example\.com is not registered$"):
            node.plugins.get("gpu.example.com")
        await until(lambda: node.wiped == ["gpu.example.com"])
    finally:
        await node.close()


async def test_a_driver_that_returns_in_time_keeps_its_slices(
    node: Node, plugins: Callable[..., FakePlugin], short_path: Path, until: Until
) -> None:
    plugin = plugins(short_path / "n")
    await plugin.start()
    await until(lambda: node.plugins.names() and node.plugins.get("gpu.example.com").connected)
    assert not node.plugins._pending_wipes
    await plugin.stop()
    await until(lambda: "gpu.example.com" in node.plugins._pending_wipes)
    await plugin.start()
    await until(lambda: not node.plugins._pending_wipes)
    assert node.wiped == []


async def test_a_killed_plugin_stays_registered_but_unconnected(
    node: Node, plugins: Callable[..., FakePlugin], short_path: Path, until: Until
) -> None:
    plugin = plugins(short_path / "n", versions=(wire.DRA_V1,))
    await plugin.start()
    await until(lambda: node.is_at_rest() and node.plugins.get("gpu.example.com").connected)
    registered = node.plugins.get("gpu.example.com")
    await plugin.kill()
    await until(lambda: not registered.connected)
    assert node.plugins.get("gpu.example.com") is registered
    assert "gpu.example.com" in node.plugins._pending_wipes


@pytest.mark.slow
async def test_a_failed_call_is_told_in_the_words_of_grpc_go(
    node: Node,
    plugins: Callable[..., FakePlugin],
    short_path: Path,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("drakit_embedded.kubelet.plugin_calls._CALL_SECONDS", 0.2)
    plugin = plugins(short_path / "unwatched", versions=(wire.DRA_V1,))
    await plugin.start()
    node.plugins.register("gpu.example.com", str(plugin.socket), (wire.DRA_V1,))
    registered = node.plugins.get("gpu.example.com")
    await until(lambda: registered.connected)

    async def failure() -> str:
        with pytest.raises(CallError) as raised:
            await registered.client.prepare([ClaimInfo("u", "c", "ns", {})])
        return str(raised.value)

    plugin.prepare_gate.clear()
    assert await failure() == "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    plugin.prepare_gate.set()
    # As a kubelet was seen to tell it in an event.
    nobody = f'connection error: desc = "transport: Error while dialing: dial unix {plugin.socket}: connect: '
    await plugin.kill()
    await until(lambda: not registered.connected)
    assert await failure() == f'rpc error: code = Unavailable desc = {nobody}connection refused"'
    plugin.socket.unlink()
    gone = f'rpc error: code = Unavailable desc = {nobody}no such file or directory"'

    async def is_gone() -> bool:
        return await failure() == gone

    await until(is_gone)


def _has_call(connection: socket.socket) -> bool:
    """Whether a frame of type HEADERS waits to be read, which a call begins with."""
    try:
        received = connection.recv(65536, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    at = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    while at + 9 <= len(received):
        if received[at + 3] == 1:
            return True
        at += 9 + int.from_bytes(received[at : at + 3], "big")
    return False


@pytest.mark.parametrize(("read_all", "reason"), [(True, "EOF"), (False, "connection reset by peer")])
async def test_a_call_under_way_when_its_plugin_dies_is_told_as_by_the_recorded_kubelet(
    read_all: bool, reason: str, node: Node, short_path: Path, until: Until
) -> None:
    path = str(short_path / "dies.sock")

    async def die(listener: socket.socket) -> None:
        connection, _ = await asyncio.get_running_loop().sock_accept(listener)
        with connection:
            # Settings of HTTP/2, then the end as soon as a call has come in.
            connection.send(b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
            await until(lambda: _has_call(connection))
            if read_all:
                connection.recv(65536)
            # Closing a unix socket with something unread in it resets the connection.

    with socket.socket(socket.AF_UNIX) as listener:
        listener.setblocking(False)
        listener.bind(path)
        listener.listen()
        dying = asyncio.create_task(die(listener))
        node.plugins.register("gpu.example.com", path, (wire.DRA_V1,))
        with pytest.raises(CallError) as raised:
            await node.plugins.get("gpu.example.com").client.prepare([ClaimInfo("u", "c", "ns", {})])
        await dying
    assert str(raised.value) == f"rpc error: code = Unavailable desc = error reading from server: {reason}"


async def test_a_call_under_way_fails_when_its_plugin_is_deregistered(
    node: Node, plugins: Callable[..., FakePlugin], short_path: Path, until: Until
) -> None:
    plugin = plugins(short_path / "n", versions=(wire.DRA_V1,))
    plugin.prepare_gate.clear()
    await plugin.start()
    await until(node.plugins.names)
    registered = node.plugins.get("gpu.example.com")
    call = asyncio.create_task(registered.client.prepare([ClaimInfo("u", "c", "ns", {})]))
    await until(lambda: "NodePrepareResources" in plugin.names)
    node.plugins.deregister("gpu.example.com", str(plugin.socket))
    with pytest.raises(CallError, match="code = Canceled"):
        await asyncio.wait_for(call, 30)
    plugin.prepare_gate.set()


async def test_health_reports_come_in_and_the_stream_is_opened_again(
    node: Node, plugins: Callable[..., FakePlugin], short_path: Path, until: Until
) -> None:
    plugin = plugins(short_path / "n")
    await plugin.start()
    await plugin.health.put([{"pool": "p", "device": "d", "health": "UNHEALTHY", "message": "hot"}])
    await until(lambda: node.health)
    reports = node.health[0]
    assert reports is not None
    report = reports[0]
    assert (report.pool, report.device, report.as_health().state, report.message) == ("p", "d", "Unhealthy", "hot")
    await plugin.kill()
    await until(lambda: None in node.health)
    await plugin.stop()
    await plugin.start()
    await until(lambda: plugin.names.count("NodeWatchResources") == 2)


@pytest.mark.slow
async def test_a_driver_that_replaces_a_refused_one_waits_for_the_time_that_the_refused_one_earned(
    node: Node, plugins: Callable[..., FakePlugin], short_path: Path, until: Until
) -> None:
    refused = plugins(short_path / "n", versions=("1.0.0",))
    await refused.start()
    await until(lambda: refused.names.count("GetInfo") >= 2)
    await until(lambda: next(iter(node.registrar._sockets.values())).attempt is None)
    earned = refused.asked_at[1] + 1.0
    await refused.stop()
    await until(lambda: not node.registrar._sockets)
    good = plugins(short_path / "n")
    await good.start()
    await until(lambda: "GetInfo" in good.names)
    assert good.asked_at[0] > earned
    await until(lambda: node.plugins.names())


@pytest.mark.parametrize("where", ["below", "below/deep", "linked"])
async def test_sockets_in_directories_below_and_behind_links_are_found_and_missed(
    where: str, node: Node, plugins: Callable[..., FakePlugin], short_path: Path, until: Until
) -> None:
    registry = short_path / "n" / "plugins_registry"
    plugin = plugins(short_path / "n")
    if where == "linked":
        plugin.registration_socket = short_path / "elsewhere.sock"
        await plugin.start()
        (registry / "link.sock").symlink_to(plugin.registration_socket)
    else:
        (registry / where).mkdir(parents=True)
        plugin.registration_socket = registry / where / "driver.sock"
        await plugin.start()
    await until(lambda: node.plugins.names() == ["gpu.example.com"])
    (registry / "link.sock" if where == "linked" else plugin.registration_socket).unlink()
    await until(lambda: not node.plugins.names())


async def test_files_that_are_no_sockets_are_left_alone(node: Node, short_path: Path) -> None:
    registry = short_path / "n" / "plugins_registry"
    (registry / "readme.txt").write_text("not a plugin")
    (registry / ".hidden.sock").write_text("")
    node.registrar.poll()
    assert node.registrar._scan()[1] == {}


async def test_a_socket_path_that_is_too_long_is_named(node: Node) -> None:
    with pytest.raises(ValueError, match="longer than 107 bytes"):
        node.plugins.register("d", "/" + "x" * 120, [wire.DRA_V1])
