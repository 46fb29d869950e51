"""Who may ask a simulated kubelet for logs and commands: its port speaks https, and answers nobody it does not know."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_client.resources import NODES, PODS
from drakit_embedded import certificates
from drakit_embedded.apiserver import KubeletAccess, Server, ServerConfig, ServerError
from drakit_embedded.apiserver.endpoints.pod_kubelets import is_local
from drakit_embedded.kubelet.endpoint import Endpoint
from drakit_embedded.serving.http_server import HttpServer

TOKEN = "of-the-logs"
PATHS = [
    "/containerLogs/default/p/c",
    "/exec/default/p/c?output=1&command=env",
    "/attach/default/p/c",
    "/healthz",
    "/",
    "/pods",
]


@dataclass
class Authority:
    """A CA that issues client certificates."""

    directory: Path
    name: str

    def __post_init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.file = self.directory / f"{self.name}.crt"
        self.file.write_bytes(self._signed(self.key, self.name, x509.BasicConstraints(ca=True, path_length=None)))

    def client(self, usage: ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH) -> Path:
        """A file with a new certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path = self.directory / f"{self.name}-client.pem"
        path.write_bytes(pem + self._signed(key, "kube-apiserver-kubelet-client", x509.ExtendedKeyUsage([usage])))
        return path

    def _signed(self, key: ec.EllipticCurvePrivateKey, name: str, extension: x509.ExtensionType) -> bytes:
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(extension, critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "cluster")


@pytest.fixture
async def port(authority: Authority) -> AsyncIterator[int]:
    server = Endpoint(lambda _namespace, _pod: None, TOKEN, client_ca_file=authority.file)
    yield await server.start()
    await server.stop()


async def ask(port: int, path: str = PATHS[0], *, token: str = "", certificate: Path | None = None) -> int:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate is not None:
        context.load_cert_chain(certificate)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"https://127.0.0.1:{port}{path}", headers=headers, ssl=context) as response,
    ):
        return response.status


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", ["", "of-somebody-else", TOKEN[:-1]])
async def test_nothing_is_served_to_strangers(port: int, path: str, token: str) -> None:
    assert await ask(port, path, token=token) == 401


async def test_the_token_opens_it(port: int) -> None:
    assert await ask(port, token=TOKEN) == 404  # let in; there is no such pod
    assert await ask(port, "/healthz", token=TOKEN) == 200


async def test_a_certificate_of_the_client_authority_opens_it(port: int, authority: Authority) -> None:
    assert await ask(port, certificate=authority.client()) == 404
    assert await ask(port, token="of-somebody-else", certificate=authority.client()) == 404


@pytest.mark.parametrize("name", ["stranger", "cluster"])
async def test_a_certificate_of_another_authority_does_not(port: int, tmp_path: Path, name: str) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(aiohttp.ClientError):
        await ask(port, token=TOKEN, certificate=Authority(other, name).client())


async def test_a_certificate_that_is_for_servers_does_not(port: int, authority: Authority) -> None:
    with pytest.raises(aiohttp.ClientError):
        await ask(port, certificate=authority.client(ExtendedKeyUsageOID.SERVER_AUTH))


async def test_without_an_authority_certificates_count_for_nothing(authority: Authority) -> None:
    server = Endpoint(lambda _namespace, _pod: None, TOKEN)
    port = await server.start()
    try:
        assert await ask(port, certificate=authority.client()) == 401
    finally:
        await server.stop()


@pytest.mark.parametrize(("shown", "code"), [(True, 404), (False, 401)])
async def test_the_api_server_gets_in_with_its_certificate(
    port: int, authority: Authority, shown: bool, code: int
) -> None:
    """As kube-apiserver does with --kubelet-client-certificate; 404, as there is no such container."""
    file = authority.client() if shown else None
    assert (await refusal(KubeletAccess(certificate=file, key=file), port)).code == code


async def refusal(kubelets: KubeletAccess, port: int) -> ApiError:
    """What is said of the log of a pod on a node that names a port."""
    config = ServerConfig(token="t", kubelets=kubelets)
    async with Server(config) as server, Connection(server.url, token="t") as connection:
        endpoint = {"kubeletEndpoint": {"Port": port}}
        status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": endpoint}
        await connection.create(NODES, {"metadata": {"name": "n"}, "status": status})
        pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}
        await connection.create(PODS, pod, "default")
        with pytest.raises(ApiError) as refused:
            await connection.request("GET", "/api/v1/namespaces/default/pods/p/log")
        return refused.value


async def test_a_token_is_sent_to_nobody_but_the_kubelet(tmp_path: Path) -> None:
    """A node may name any port of this machine; whoever listens there does not see a byte of the request."""
    Endpoint(lambda _namespace, _pod: None, TOKEN, keep=tmp_path / ".kubelet.pem")._tls()
    access = KubeletAccess(authority=tmp_path / ".kubelet.crt", token=TOKEN)
    seen = []

    async def listen(request: web.BaseRequest) -> web.Response:
        seen.append(dict(request.headers))
        return web.Response(text="a log")

    context, _ = certificates.self_signed("127.0.0.1", None)
    thief = HttpServer(listen, body_bytes=0)
    bound = socket.create_server(("127.0.0.1", 0))
    thief.listen(bound, context)
    try:
        refused = await refusal(access, bound.getsockname()[1])
    finally:
        await thief.close(1.0)
    assert refused.code == 500
    assert "tls: failed to verify certificate: x509" in refused.message
    assert seen == []


async def test_the_kubelet_is_known_by_its_certificate(tmp_path: Path) -> None:
    server = Endpoint(lambda _namespace, _pod: None, TOKEN, keep=tmp_path / ".kubelet.pem")
    port = await server.start()
    try:
        refused = await refusal(KubeletAccess(authority=tmp_path / ".kubelet.crt", token=TOKEN), port)
    finally:
        await server.stop()
    assert refused.code == 404  # let in; there is no such pod


async def test_before_there_is_a_kubelet_nobody_is_one(tmp_path: Path) -> None:
    refused = await refusal(KubeletAccess(authority=tmp_path / ".kubelet.crt", token=TOKEN), 1)
    assert refused.code == 500
    assert "No such file or directory" in refused.message


async def test_a_token_without_an_authority_is_refused_at_start() -> None:
    with pytest.raises(ServerError, match="give their authority, too"):
        await Server(ServerConfig(kubelets=KubeletAccess(token=TOKEN))).start()


@pytest.mark.parametrize("token", [b"\xff\xfe", "ключ".encode(), b"", b"a b"], ids=repr)
async def test_a_bearer_that_is_no_text_is_a_stranger(port: int, token: bytes) -> None:
    """401, as of a real kubelet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + token + b"\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
    writer.close()


def test_a_machine_knows_its_own_addresses() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        try:
            route.connect(("203.0.113.1", 9))  # sends nothing: it chooses the address that would
            own = route.getsockname()[0]
        except OSError:  # a machine without a network
            own = "127.0.0.2"
    assert is_local(ip_address(own))
    assert is_local(ip_address("127.0.0.1"))
    assert not is_local(ip_address("203.0.113.1"))  # reserved for documentation (RFC 5737)


async def test_plain_http_is_not_spoken(port: int) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError):
            await session.get(f"http://127.0.0.1:{port}{PATHS[0]}", headers={"Authorization": f"Bearer {TOKEN}"})


async def test_the_serving_certificate_is_kept_private_and_used_again(tmp_path: Path) -> None:
    keep = tmp_path / ".kubelet.pem"
    shown = []
    for _ in range(2):
        server = Endpoint(lambda _namespace, _pod: None, TOKEN, keep=keep)
        port = await server.start()
        shown.append(await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port)))
        await server.stop()
    assert shown[0] == shown[1]
    assert keep.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == [".kubelet.crt", ".kubelet.pem"]
    assert "PRIVATE" not in (tmp_path / ".kubelet.crt").read_text()
