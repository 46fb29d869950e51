"""An embedded API server, and a DRA plugin that records what a kubelet asks of it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest

from drakit_api.kubelet import (
    dra_v1_pb2,
    dra_v1beta1_pb2,
    health_v1_pb2,
    health_v1alpha1_pb2,
    registration_v1_pb2,
    wire,
)
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from tests.embedded import kubeconfigs

if TYPE_CHECKING:
    from drakit_embedded.apiserver import Server


BOUND = 30.0
TOKEN = "of-the-tests"
DRA = {wire.DRA_V1: dra_v1_pb2, wire.DRA_V1BETA1: dra_v1beta1_pb2}
HEALTH = {wire.HEALTH_V1: health_v1_pb2, wire.HEALTH_V1ALPHA1: health_v1alpha1_pb2}


@pytest.fixture
async def api_server() -> AsyncIterator[Server]:
    """An API server that lives as long as the test."""
    from drakit_embedded.apiserver import Server, ServerConfig

    async with Server(ServerConfig(token=TOKEN)) as running:
        yield running


@pytest.fixture
async def connection(api_server: Server) -> AsyncIterator[Connection]:
    """Its client."""
    async with Connection(api_server.url, token=TOKEN) as client:
        yield client


@pytest.fixture
async def session(api_server: Server) -> AsyncIterator[aiohttp.ClientSession]:
    """A client of it that shows answers as they came: codes, headers, bytes."""
    async with aiohttp.ClientSession(api_server.url, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        yield client


class FakePlugin:
    """A DRA driver's plugin on a node directory: it prepares whatever it is asked to, and writes one CDI file a claim.

    ``calls`` holds ``(what, request as a dict)`` in the order of arrival, in the words of the recorded transcript;
    ``asked_at`` is the loop's time of each ``GetInfo``.
    """

    def __init__(
        self,
        node: Path,
        driver: str = "gpu.example.com",
        versions: tuple[str, ...] = (wire.DRA_V1, wire.HEALTH_V1),
        *,
        endpoint: str | None = None,
    ) -> None:
        self.driver = driver
        self.type = wire.DRA_PLUGIN_TYPE
        self.node = node
        self.versions = versions
        self.calls: list[tuple[str, Object]] = []
        self.asked_at: list[float] = []
        self.prepare_error = ""
        self.unprepare_error = ""
        self.prepare_gate = asyncio.Event()
        self.prepare_gate.set()
        self.health: asyncio.Queue[list[Object]] = asyncio.Queue()
        self.requests: tuple[str, ...] = ("gpu",)
        self.socket = node / "plugins" / driver / "dra.sock"
        self.registration_socket = node / "plugins_registry" / f"{driver}-reg.sock"
        self._endpoint = endpoint
        self._servers: list[Any] = []

    @property
    def names(self) -> list[str]:
        return [what for what, _ in self.calls]

    def claims(self, what: str) -> list[str]:
        """Names of the claims of all calls of a kind."""
        return [claim["name"] for name, request in self.calls if name == what for claim in request["claims"]]

    async def start(self) -> None:
        await self._serve(self.socket, *self._dra_handlers(), *self._health_handlers())
        await self._serve(self.registration_socket, self._registration_handler())

    async def stop(self) -> None:
        """A clean end: the sockets are gone."""
        for path in (self.registration_socket, self.socket):
            path.unlink(missing_ok=True)
        await self.kill()

    async def kill(self) -> None:
        """A crash: the sockets stay, with nobody behind them."""
        for server in reversed(self._servers):
            await server.stop(0)
        self._servers.clear()

    async def _serve(self, path: Path, *handlers: Any) -> None:
        """Listen under a hidden name and link it: gRPC removes its own name when it stops, a killed driver does not."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        hidden = path.with_name(f".{len(self._servers)}")
        server = grpc.aio.server()
        server.add_generic_rpc_handlers(handlers)
        server.add_insecure_port(f"unix:{hidden}")
        await server.start()
        path.hardlink_to(hidden)
        self._servers.append(server)

    def _registration_handler(self) -> Any:
        async def get_info(request: Any, context: Any) -> Any:
            self.calls.append(("GetInfo", {}))
            self.asked_at.append(asyncio.get_running_loop().time())
            return registration_v1_pb2.PluginInfo(
                type=self.type,
                name=self.driver,
                endpoint=self._endpoint or str(self.socket),
                supported_versions=self.versions,
            )

        async def notify(request: Any, context: Any) -> Any:
            self.calls.append(
                ("NotifyRegistrationStatus", {"plugin_registered": request.plugin_registered, "error": request.error})
            )
            return registration_v1_pb2.RegistrationStatusResponse()

        return _handler(
            wire.REGISTRATION_SERVICE,
            GetInfo=(get_info, registration_v1_pb2.InfoRequest),
            NotifyRegistrationStatus=(notify, registration_v1_pb2.RegistrationStatus),
        )

    def _dra_handlers(self) -> list[Any]:
        return [self._dra_handler(version, DRA[version]) for version in self.versions if version in DRA]

    def _dra_handler(self, version: str, messages: Any) -> Any:
        api = version.partition(".")[0]

        async def prepare(request: Any, context: Any) -> Any:
            self.calls.append(("NodePrepareResources", {"api": api, "claims": _claims(request)}))
            await self.prepare_gate.wait()
            response = messages.NodePrepareResourcesResponse()
            for claim in request.claims:
                result = response.claims[claim.uid]
                if self.prepare_error:
                    result.error = self.prepare_error
                else:
                    self._write_cdi(claim.uid, claim.name)
                    result.devices.extend(
                        messages.Device(
                            request_names=[name],
                            pool_name=self.node.name,
                            device_name=f"{claim.name}-{name}",
                            cdi_device_ids=[f"{self.driver}/claim={claim.uid}-{name}"],
                        )
                        for name in self.requests
                    )
            return response

        async def unprepare(request: Any, context: Any) -> Any:
            self.calls.append(("NodeUnprepareResources", {"api": api, "claims": _claims(request)}))
            response = messages.NodeUnprepareResourcesResponse()
            for claim in request.claims:
                response.claims[claim.uid].error = self.unprepare_error
                if not self.unprepare_error:
                    self._cdi_file(claim.uid).unlink(missing_ok=True)
            return response

        return _handler(
            wire.SERVICES[version],
            NodePrepareResources=(prepare, messages.NodePrepareResourcesRequest),
            NodeUnprepareResources=(unprepare, messages.NodeUnprepareResourcesRequest),
        )

    def _health_handlers(self) -> list[Any]:
        return [self._health_handler(version, HEALTH[version]) for version in self.versions if version in HEALTH]

    def _health_handler(self, version: str, messages: Any) -> Any:
        async def watch(request: Any, context: Any) -> AsyncIterator[Any]:
            self.calls.append(("NodeWatchResources", {"api": version.partition(".")[0]}))
            while True:
                devices = [
                    messages.DeviceHealth(
                        device=messages.DeviceIdentifier(pool_name=entry["pool"], device_name=entry["device"]),
                        health=messages.HealthStatus.Value(entry["health"]),
                        message=entry.get("message", ""),
                        health_check_timeout_seconds=entry.get("timeout", 0),
                    )
                    for entry in await self.health.get()
                ]
                yield messages.NodeWatchResourcesResponse(devices=devices)

        return _handler(wire.SERVICES[version], NodeWatchResources=(watch, messages.NodeWatchResourcesRequest))

    def _cdi_file(self, uid: str) -> Path:
        return self.node / "cdi" / f"{self.driver}-{uid}.json"

    def _write_cdi(self, uid: str, name: str) -> None:
        devices = [
            {"name": f"{uid}-{request}", "containerEdits": {"env": [f"DEVICE_{request.upper()}={name}-{request}"]}}
            for request in self.requests
        ]
        spec = {"cdiVersion": "0.8.0", "kind": f"{self.driver}/claim", "devices": devices}
        self._cdi_file(uid).parent.mkdir(parents=True, exist_ok=True)
        self._cdi_file(uid).write_text(json.dumps(spec))


def _claims(request: Any) -> list[Object]:
    return [{"namespace": c.namespace, "uid": c.uid, "name": c.name} for c in request.claims]


def _handler(service: str, **methods: tuple[Any, Any]) -> Any:
    handlers = {}
    for name, (function, request) in methods.items():
        make = (
            grpc.unary_stream_rpc_method_handler
            if name == wire.WATCH_HEALTH_METHOD
            else grpc.unary_unary_rpc_method_handler
        )
        handlers[name] = make(
            function,
            request_deserializer=request.FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )
    return grpc.method_handlers_generic_handler(service, handlers)


@pytest.fixture
def short_path(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A directory with a name short enough for sockets below it."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="dk") as directory:
        yield Path(directory)


@pytest.fixture
async def plugins() -> AsyncIterator[Callable[..., FakePlugin]]:
    """Makes plugins, and ends those that still run."""
    made: list[FakePlugin] = []

    def make(node: Path, *args: Any, **options: Any) -> FakePlugin:
        made.append(FakePlugin(node, *args, **options))
        return made[-1]

    yield make
    for plugin in made:
        await plugin.stop()


@pytest.fixture
async def controllers(connection: Connection) -> AsyncIterator[None]:
    """All controllers, on a connection of their own."""
    from drakit_embedded import controllers as package

    ready = asyncio.Event()
    async with Connection(connection.server, token=TOKEN) as own:
        task = asyncio.create_task(package.run(own, ready=ready))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait([task, waiting], timeout=BOUND, return_when=asyncio.FIRST_COMPLETED)
        assert ready.is_set(), task
        yield
        assert not task.done(), task
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def kubectl(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """Runs a command on a server over TLS and gives its output and errors; fails with these if it fails.

    A parameter is the runtime configuration of the server.
    """
    from drakit_embedded.apiserver import Server, ServerConfig

    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not in PATH")
    config = ServerConfig(token=TOKEN, tls=True, runtime_config=getattr(request, "param", {}))
    async with Server(config) as server:
        kubeconfig = kubeconfigs.write(server, TOKEN, tmp_path)
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(tmp_path)}

        async def run(*arguments: str, stdin: str = "", fails: bool = False) -> str:
            process = await asyncio.create_subprocess_exec(
                "kubectl",
                *arguments,
                env=environment,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            async with asyncio.timeout(3 * BOUND):
                output, _ = await process.communicate(stdin.encode())
            assert (process.returncode != 0) is fails, output.decode()
            return output.decode()

        yield run
