"""A program that answers AdmissionReviews, as a webhook's server does."""

from __future__ import annotations

import base64
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection

GROUP = "/apis/admissionregistration.k8s.io/v1"
ALLOW: Object = {"allowed": True}
# Makes the response of a review from its request, or the whole answer of HTTP.
Decision = Callable[[Object], "Object | web.Response | Awaitable[Object | web.Response]"]


class Call(NamedTuple):
    """A review that came."""

    hook: str
    request: Object
    query: str
    host: str


class HookServer:
    """Serves any number of webhooks, each below a path of its name, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.decisions: dict[str, Decision] = {}
        self.url = ""
        self.port = 0
        self.ca = ""

    def asked(self, hook: str) -> list[Object]:
        """The requests that a webhook got, in order."""
        return [call.request for call in self.calls if call.hook == hook]

    async def answer(self, request: web.Request) -> web.Response:
        name, review = request.match_info["name"], await request.json()
        self.calls.append(Call(name, review["request"], request.query_string, request.headers["Host"]))
        found: Any = self.decisions[name](review["request"])
        if isinstance(found, Awaitable):
            found = await found
        if isinstance(found, web.Response):
            return found
        response = {"uid": review["request"]["uid"], **found}
        return web.json_response({"kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response})

    def client_config(self, name: str) -> Object:
        """Name a webhook of this server by its URL."""
        return {"url": f"{self.url}/{name}", "caBundle": self.ca}


@pytest.fixture(scope="session")
def hook_certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PEM of a key and its certificate, for this machine and for the Service ``svc`` in ``default``."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks")])
    names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("svc.default.svc")]
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    path = tmp_path_factory.mktemp("hooks") / "server.pem"
    path.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain) + certificate.public_bytes(pem))
    return path


@pytest.fixture
async def hook_server(hook_certificate: Path) -> AsyncIterator[HookServer]:
    """A running server of webhooks."""
    made = HookServer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(hook_certificate)
    made.ca = base64.b64encode(hook_certificate.read_bytes()).decode()
    application = web.Application()
    application.router.add_post("/{name}", made.answer)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    made.port = runner.addresses[0][1]
    made.url = f"https://127.0.0.1:{made.port}"
    yield made
    await runner.cleanup()


class Webhooks:
    """Registers webhooks at the API server of the test."""

    def __init__(self, connection: Connection, server: HookServer) -> None:
        self._connection, self.server = connection, server

    async def add(self, decision: Decision, *, name: str = "hook", mutating: bool = False, **fields: Any) -> None:
        """Register a webhook, by default for every write of ConfigMaps; it decides as ``decision`` does."""
        self.server.decisions[name] = decision
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
        hook = {
            "name": f"{name}.example.com",
            "clientConfig": self.server.client_config(name),
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **fields,
        }
        plural = "mutatingwebhookconfigurations" if mutating else "validatingwebhookconfigurations"
        await self._connection.json("POST", f"{GROUP}/{plural}", {"metadata": {"name": name}, "webhooks": [hook]})


@pytest.fixture
def webhooks(connection: Connection, hook_server: HookServer) -> Webhooks:
    """What registers webhooks."""
    return Webhooks(connection, hook_server)


def patch(*operations: Object, **fields: Any) -> Object:
    """The response of a webhook that changes the object."""
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded, **fields}
