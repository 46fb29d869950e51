"""What the API server says to exec, attach and port-forward before a kubelet does, and to what a kubelet says.

Codes and texts are those of kube-apiserver 1.37.1.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.resources import NODES, PODS, Resource
from drakit_embedded import certificates
from drakit_embedded.apiserver import KubeletAccess, Server, ServerConfig
from drakit_embedded.apiserver.endpoints import pod_kubelets
from drakit_embedded.apiserver.identity.users import User
from drakit_embedded.apiserver.statuses import StatusError

UPGRADE = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io"}
PATH = "/api/v1/namespaces/default/pods/"
REQUIRED = (400, "BadRequest", "Upgrade request required")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")


CANNOT = 'User "reader" cannot create resource "pods/exec" in API group "" in the namespace "default"'


class FakeKubelet:
    """Something that listens where a node says its kubelet does: it keeps what it is asked, and answers ``answer``."""

    def __init__(self) -> None:
        self.answer = b""
        self.asked = b""
        self.received = b""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked = await reader.readuntil(b"\r\n\r\n")
        writer.write(self.answer)
        if b"101 Switching Protocols" in self.answer:
            self.received = await reader.read(1000)
            writer.write(self.received.upper())
        writer.close()


@pytest.fixture
def kubelet() -> FakeKubelet:
    return FakeKubelet()


@pytest.fixture
async def server(kubelet: FakeKubelet, tmp_path: Path) -> AsyncIterator[Server]:
    """A server with pods on nodes whose kubelets are the fake one, nobody, and nowhere."""
    context, certificate = certificates.self_signed("127.0.0.1", None)
    (tmp_path / "kubelet.crt").write_bytes(certificate)
    listening = await asyncio.start_server(kubelet.talk, "127.0.0.1", 0, ssl=context)
    access = KubeletAccess(authority=tmp_path / "kubelet.crt", token="of-the-kubelet")
    config = ServerConfig(token="t", kubelets=access)
    async with Server(config) as server, Connection(server.url, token="t") as connection:
        for name, port in (("node", listening.sockets[0].getsockname()[1]), ("dead", 1)):
            place = {"kubeletEndpoint": {"Port": port}}
            status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": place}
            await connection.create(NODES, {"metadata": {"name": name}, "status": status})
        for name, node in (("p", "node"), ("lost", "dead"), ("two", "nowhere"), ("one", "")):
            others = [{"name": "d", "image": "i"}] if name == "two" else []
            spec: Object = {
                "containers": [{"name": "c", "image": "i"}, *others],
                **({"nodeName": node} if node else {}),
            }
            spec["initContainers"] = [{"name": "i", "image": "i"}]
            await connection.create(PODS, {"metadata": {"name": name}, "spec": spec}, "default")
        yield server
    listening.close()
    await listening.wait_closed()


async def ask(server: Server, method: str, path: str, headers: Any = (), token: str = "t") -> tuple[int, str, str]:
    """Code, reason and message; the text where the answer is no Status."""
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session,
        session.request(method, f"{server.url}{PATH}{path}", headers=dict(headers)) as response,
    ):
        if response.content_type != "application/json":
            return response.status, "", await response.text()
        status = await response.json()
        return response.status, status.get("reason", ""), status["message"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "answer"),
    [
        ("GET", "nope/exec?command=env&stdout=1", {}, (404, "NotFound", 'pods "nope" not found')),
        (
            "POST",
            "two/exec?command=env&stdout=1",
            {},
            (400, "BadRequest", "a container name must be specified for pod two, choose one of: [i c d]"),
        ),
        ("POST", "two/exec?container=x", {}, (400, "BadRequest", "container x is not valid for pod two")),
        ("POST", "two/exec?container=i", UPGRADE, (404, "NotFound", 'pods "nowhere" not found')),
        ("POST", "one/attach?stdout=1", {}, (400, "BadRequest", "pod one does not have a host assigned")),
        ("POST", "one/portforward", {}, (400, "BadRequest", "pod one does not have a host assigned")),
        ("POST", "lost/exec?command=env&stdout=1", {}, REQUIRED),
        ("GET", "lost/exec?stdin=maybe&tty=no", {}, REQUIRED),
        ("POST", "p/portforward", {}, REQUIRED),
        (
            "POST",
            "lost/exec?command=env&stdout=1",
            UPGRADE,
            (500, "", "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused"),
        ),
        ("POST", "p/exec?command=env&dryRun=All", UPGRADE, (400, "BadRequest", "dryRun is not supported")),
        (
            "PUT",
            "p/exec",
            {},
            (405, "MethodNotAllowed", "the server does not allow this method on the requested resource"),
        ),
        (
            "POST",
            "lost/portforward?ports=80,x",
            {},
            (400, "BadRequest", 'cannot convert to []int32: strconv.ParseUint: parsing "x": invalid syntax'),
        ),
        (
            "POST",
            "lost/portforward?ports=65536",
            {},
            (400, "BadRequest", 'cannot convert to []int32: strconv.ParseUint: parsing "65536": value out of range'),
        ),
        ("POST", "p/exec/x", {}, (404, "NotFound", "the server could not find the requested resource")),
    ],
)
async def test_refusals_before_a_kubelet_is_asked(
    server: Server, method: str, path: str, headers: dict[str, str], answer: tuple[int, str, str]
) -> None:
    assert await ask(server, method, path, headers) == answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 18\r\n\r\npod does not exist", (404, "", "pod does not exist")),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", (500, "", "invalid upgrade response: status code 200")),
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 99999999\r\n\r\n" + b"x" * 70_000, (500, "", "x" * 65536)),
        (b"SPDY? No.\r\n\r\n", (500, "", 'malformed HTTP response "SPDY? No."')),
        (b"\r\n\r\n", (500, "", 'malformed HTTP response ""')),
        (b"HTTP/1.1 101 Switching", (500, "", "unexpected EOF")),
        (
            b"HTTP/1.1 101 ok\r\n" + b"a: b\r\n" * 200 + b"\r\n",
            (500, "", "malformed HTTP response: got more than 100 headers"),
        ),
        (b"x" * 200_000, (500, "", "malformed HTTP response: its head is too long")),
    ],
    ids=["refusal", "no upgrade", "long", "nonsense", "nothing", "cut", "many", "endless"],
)
async def test_what_a_kubelet_says_instead_of_changing_the_protocol(
    server: Server, kubelet: FakeKubelet, said: bytes, answer: tuple[int, str, str]
) -> None:
    kubelet.answer = said
    assert await ask(server, "POST", "p/exec?command=a%20b&command=c&stdout=true", UPGRADE) == answer


async def test_the_request_is_passed_on_with_the_servers_own_credentials(server: Server, kubelet: FakeKubelet) -> None:
    kubelet.answer = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
    headers = {**UPGRADE, "Cookie": "private", "User-Agent": "tester"}
    await ask(server, "POST", "p/exec?command=a%20b&command=c%26&stdin=1&stdout=true&stderr=false&tty=1", headers)
    first, *others = kubelet.asked.decode().split("\r\n")
    assert first == "POST /exec/default/p/c?input=1&output=1&tty=1&command=a+b&command=c%26 HTTP/1.1"
    found = dict(line.split(": ", 1) for line in others if line)
    assert found.pop("Host").startswith("127.0.0.1:")
    assert found == {**UPGRADE, "User-Agent": "tester", "Authorization": "Bearer of-the-kubelet", "Content-Length": "0"}


async def test_bytes_are_passed_both_ways_once_the_protocol_has_changed(server: Server, kubelet: FakeKubelet) -> None:
    kubelet.answer = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nfirst "
    host, _, port = server.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [f"POST {PATH}p/attach?stdout=1 HTTP/1.1", "Host: x", "Authorization: Bearer t", "Content-Length: 0"]
    lines += [f"{name}: {value}" for name, value in UPGRADE.items()]
    writer.write("".join(f"{line}\r\n" for line in (*lines, "")).encode())
    assert await reader.readuntil(b"\r\n\r\n") == kubelet.answer.removesuffix(b"first ")
    assert await asyncio.wait_for(reader.readexactly(6), 10) == b"first "
    async with (
        aiohttp.ClientSession(headers={"Authorization": "Bearer t"}) as session,
        session.get(f"{server.url}/metrics") as response,
    ):
        assert 'apiserver_current_inflight_requests{request_kind="mutating"} 0.0' in await response.text()
    writer.write(b"second")
    assert await asyncio.wait_for(reader.read(), 10) == b"SECOND"
    assert kubelet.asked.startswith(b"POST /attach/default/p/c?output=1 HTTP/1.1\r\n")
    writer.close()


@pytest.mark.parametrize(
    ("method", "gate", "message"),
    [
        ("POST", True, f'pods "p" is forbidden: {CANNOT}'),
        ("GET", True, 'pods "p" is forbidden: '),
        ("GET", False, "Upgrade request required"),
    ],
)
async def test_who_may_only_read_cannot_execute(method: str, gate: bool, message: str) -> None:
    gates = FeatureGates("1.37", {"AuthorizePodWebsocketUpgradeCreatePermission": gate})
    config = ServerConfig(token="t", users={"reader": User("reader")}, gates=gates)
    async with Server(config) as server, Connection(server.url, token="t") as connection:
        rule = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get"]}
        await connection.create(ROLES, {"metadata": {"name": "r"}, "rules": [rule]}, "default")
        subject = {"kind": "User", "name": "reader", "apiGroup": "rbac.authorization.k8s.io"}
        role = {"kind": "Role", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
        binding = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": role}
        await connection.create(BINDINGS, binding, "default")
        await connection.create(NODES, _node())
        spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "node"}
        await connection.create(PODS, {"metadata": {"name": "p"}, "spec": spec}, "default")
        assert (await ask(server, method, "p/exec?command=env", token="reader"))[2] == message


def _node() -> Object:
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
    }
    return {"metadata": {"name": "node"}, "status": status}


POLICIES = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "", namespaced=False)
POLICY_BINDINGS = Resource(
    "admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings", "", namespaced=False
)


async def test_a_policy_decides_what_may_be_executed(server: Server, kubelet: FakeKubelet) -> None:
    kubelet.answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CONNECT"], "resources": ["pods/exec"]}
    allowed = {"expression": "object.command[0] == 'env' && !has(object.tty)", "message": "only env"}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [allowed]}
    binding = {"policyName": "p", "validationActions": ["Deny"]}
    async with Connection(server.url, token="t") as connection:
        await connection.create(POLICIES, {"metadata": {"name": "p"}, "spec": spec})
        await connection.create(POLICY_BINDINGS, {"metadata": {"name": "b"}, "spec": binding})
    refused = "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: only env"
    assert await ask(server, "POST", "p/exec?command=rm&stdout=1", UPGRADE) == (422, "Invalid", refused)
    assert (await ask(server, "POST", "p/exec?command=env&tty=1", UPGRADE))[0] == 422
    assert (await ask(server, "POST", "p/exec?command=env&stdout=1", UPGRADE))[0] == 404
    assert (await ask(server, "POST", "p/attach?stdout=1", UPGRADE))[0] == 404


def test_any_container_of_a_pod_can_be_named() -> None:
    others = {"initContainers": [{"name": "i"}], "ephemeralContainers": [{"name": "debugger"}]}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}], **others}}
    for asked, found in (("", "a"), ("i", "i"), ("debugger", "debugger")):
        assert pod_kubelets.container(pod, asked) == found
    with pytest.raises(StatusError, match="container x is not valid for pod p"):
        pod_kubelets.container(pod, "x")
