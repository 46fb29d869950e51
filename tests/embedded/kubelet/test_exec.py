"""Commands in containers of simulated nodes, as users give them: kubectl by both protocols, and the Python client."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from typing import TYPE_CHECKING

import aiohttp
import pytest
from kubernetes import client, config
from kubernetes.stream import stream

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import CONFIG_MAPS, PODS, SECRETS, SERVICE_ACCOUNTS

if TYPE_CHECKING:
    from tests.embedded.kubelet.conftest import Cluster

pytestmark = pytest.mark.slow
EXEC = "/api/v1/namespaces/default/pods/p/exec"
WHOLE = {"stdout": "true", "stderr": "true"}


@pytest.fixture(params=["true", "false"], ids=["websocket", "spdy"])
def protocol(request: pytest.FixtureRequest) -> dict[str, str]:
    """Environment in which kubectl uses one of the protocols."""
    return {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": request.param, "KUBECTL_PORT_FORWARD_WEBSOCKETS": request.param}


@pytest.mark.kubectl
async def test_output_errors_and_exit_status_arrive_apart(cluster: Cluster, protocol: dict[str, str]) -> None:
    await cluster.run(container={"env": [{"name": "A", "value": "1"}]})
    script = "echo out; echo $A >&2; exit 3"
    code, output, errors = await cluster.kubectl("exec", "p", "--", "sh", "-c", script, environment=protocol)
    assert (code, output, errors) == (3, "out\n", "1\ncommand terminated with exit code 3\n")
    assert await cluster.kubectl("exec", "p", "--", "true", environment=protocol) == (0, "", "")
    code, _, errors = await cluster.kubectl("exec", "p", "--", "nvidia-smi", environment=protocol)
    assert (code, errors.splitlines()[1]) == (126, "command terminated with exit code 126")
    assert errors.startswith("drakit: nvidia-smi: not simulated; ")


@pytest.mark.kubectl
async def test_input_is_read_to_its_end(cluster: Cluster, protocol: dict[str, str]) -> None:
    await cluster.run()
    text = b"0123456789abcdef" * 64 * 1024  # 1 MiB
    code, output, errors = await cluster.kubectl("exec", "-i", "p", "--", "cat", stdin=text, environment=protocol)
    assert (code, errors, output.encode() == text) == (0, "", True)
    assert (await cluster.kubectl("exec", "-i", "p", "--", "true", stdin=text, environment=protocol))[0] == 0


@pytest.mark.kubectl
async def test_attach_shows_what_a_container_prints_until_it_ends(cluster: Cluster, protocol: dict[str, str]) -> None:
    await cluster.run(container={"command": ["sh", "-c", "echo first; sleep 1000"]})
    attached = await cluster.start_kubectl("attach", "p", "-c", "c", environment=protocol)
    assert attached.stdout is not None
    async with asyncio.timeout(60):
        assert await attached.stdout.readline() == b"first\n"
        await cluster.connection.delete(PODS, "p", "default", grace_period_seconds=0)
        output, _ = await attached.communicate()
    assert (attached.returncode, output) == (0, b"")


@pytest.mark.kubectl
async def test_a_file_of_the_node_is_larger_than_all_buffers(cluster: Cluster, protocol: dict[str, str]) -> None:
    size = 5 * 1024 * 1024
    place = cluster.root / "n1" / "plugins" / "d"
    place.mkdir()
    (place / "file").write_bytes(b"x" * size)
    await cluster.run(
        container={"volumeMounts": [{"name": "v", "mountPath": "/d"}]},
        volumes=[{"name": "v", "hostPath": {"path": "/var/lib/kubelet/plugins/d"}}],
    )
    code, output, _ = await cluster.kubectl("exec", "p", "--", "cat", "/d/file", environment=protocol)
    assert (code, len(output)) == (0, size)


@pytest.mark.kubectl
async def test_refusals_come_in_words(cluster: Cluster, protocol: dict[str, str]) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    await cluster.connection.create(PODS, {"metadata": {"name": "waits"}, "spec": spec}, "default")
    _, _, errors = await cluster.kubectl("exec", "waits", "--", "env", environment=protocol)
    assert "pod waits does not have a host assigned" in errors
    await cluster.run()
    _, _, errors = await cluster.kubectl("port-forward", "p", "8080:80", environment=protocol)
    assert "no ports can be forwarded, as containers of simulated nodes are no processes" in errors


@pytest.mark.kubectl
async def test_a_container_that_has_ended_is_not_found(cluster: Cluster, protocol: dict[str, str]) -> None:
    await cluster.run(container={"command": ["sh", "-c", "sleep 0.3"]}, restartPolicy="Never")

    async def ended() -> bool:
        phase: str = (await cluster.connection.get(PODS, "p", "default"))["status"]["phase"]
        return phase == "Succeeded"

    await cluster.until(ended)
    # kubectl itself refuses a pod that has ended; the API server does not know.
    async with (
        aiohttp.ClientSession(headers=_headers(cluster)) as session,
        session.post(
            f"{cluster.connection.server}{EXEC}",
            params={**WHOLE, "command": "env"},
            headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io"},
            ssl=False,
        ) as response,
    ):
        assert (response.status, await response.text()) == (500, 'container not found ("c")')


def _headers(cluster: Cluster) -> dict[str, str]:
    users = json.loads(cluster.kubeconfig.read_text())["users"]
    return {"Authorization": f"Bearer {users[0]['user']['token']}"}


def _executed(cluster: Cluster, *command: str, given: str = "") -> tuple[str, str, Object]:
    """What the Python client gets: output, errors and the status."""
    with config.new_client_from_config(str(cluster.kubeconfig)) as api:
        socket = stream(
            client.CoreV1Api(api).connect_get_namespaced_pod_exec,
            *("p", "default"),
            command=list(command),
            stdin=bool(given),
            stdout=True,
            stderr=True,
            tty=False,
            _preload_content=False,
        )
        if given:
            socket.write_stdin(given)
            socket.close_channel(0)
        socket.run_forever(timeout=30)
        found = socket.read_stdout(), socket.read_stderr(), json.loads(socket.read_channel(3))
        socket.sock.shutdown()  # its own close() leaves a socket open that the server has closed
        return found


async def test_the_python_client(cluster: Cluster) -> None:
    await cluster.run()
    script = "cat; echo b >&2; exit 5"
    output, errors, status = await asyncio.to_thread(_executed, cluster, "sh", "-c", script, given="typed\n")
    assert (output, errors) == ("typed\n", "b\n")
    assert status == {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: command terminated with exit code 5",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": "5"}]},
    }
    output, _, status = await asyncio.to_thread(_executed, cluster, "env")
    assert output.splitlines()[1:] == ["HOSTNAME=p", "HOME=/root"]
    assert status == {"metadata": {}, "status": "Success"}


class Socket:
    """A WebSocket client that sends and sees the bytes of the protocol."""

    def __init__(self, cluster: Cluster, *protocols: str) -> None:
        self._cluster, self._protocols = cluster, protocols

    async def __aenter__(self) -> Socket:
        self._session = aiohttp.ClientSession(headers=_headers(self._cluster))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._session.close()

    async def open(self, *command: str, path: str = EXEC, **options: str) -> aiohttp.ClientWebSocketResponse:
        query = [*{**WHOLE, **options}.items(), *(("command", word) for word in command)]
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        url = f"{self._cluster.connection.server}{path}"
        return await self._session.ws_connect(url, params=query, protocols=self._protocols, ssl=tls)

    async def all(self, *command: str, **options: str) -> list[bytes | str]:
        socket = await self.open(*command, **options)
        return [message.data async for message in socket]


FAILED = "command terminated with non-zero exit code: error executing command [false], exit code 1"


@pytest.mark.parametrize(
    ("protocols", "chosen", "messages"),
    [
        (
            ("v4.channel.k8s.io",),
            "v4.channel.k8s.io",
            [
                b"\x01",
                b'\x03{"status":"Failure","message":"%s","reason":"NonZeroExitCode","details":{"causes":'
                b'[{"reason":"ExitCode","message":"1"}]}}' % FAILED.encode(),
            ],
        ),
        (("v9.channel.k8s.io", "channel.k8s.io"), "channel.k8s.io", [b"\x01", b"\x03" + FAILED.encode()]),
        (("base64.channel.k8s.io",), "base64.channel.k8s.io", ["1", "3" + base64.b64encode(FAILED.encode()).decode()]),
    ],
)
async def test_older_versions_of_the_protocol(
    cluster: Cluster, protocols: tuple[str, ...], chosen: str, messages: list[bytes | str]
) -> None:
    await cluster.run()
    async with Socket(cluster, *protocols) as client:
        socket = await client.open("false")
        assert socket.protocol == chosen
        assert [message.data async for message in socket] == messages


async def test_a_terminal_echoes_and_is_interrupted(cluster: Cluster) -> None:
    await cluster.run()
    async with Socket(cluster, "v5.channel.k8s.io") as client:
        socket = await client.open("cat", stdin="true", tty="true", stderr="false")
        await socket.send_bytes(b'\x04{"Width":80,"Height":24}')
        await socket.send_bytes(b"\x00hi\r")
        seen = b""
        while seen != b"hi\r\nhi\r\n":
            seen += (await socket.receive(timeout=30)).data[1:]
        await socket.send_bytes(b"\x00\x03")
        *echoed, status = [message.data async for message in socket]
    assert echoed == [b"\x01^C\r\n"]
    assert json.loads(status[1:])["details"]["causes"][0]["message"] == "130"


async def test_a_terminal_is_told_to_the_command_and_leaves_what_it_was_attached_to(cluster: Cluster) -> None:
    await cluster.run(container={"command": ["sh", "-c", "echo started; sleep 1000"]})
    async with Socket(cluster, "v5.channel.k8s.io") as client:
        printed = await client.all("printenv", "TERM", "HOME", tty="true")
        assert printed[1] == b"\x01xterm\r\n/root\r\n"
        socket = await client.open(path=f"{EXEC.removesuffix('exec')}attach", stdin="true", tty="true")
        assert [(await socket.receive(timeout=30)).data for _ in range(2)] == [b"\x01", b"\x01started\r\n"]
        await socket.send_bytes(b"\x00\x03")
        left = [message.data async for message in socket]
    assert left == [b"\x01^C\r\n", b'\x03{"metadata":{},"status":"Success"}']


async def test_a_command_dies_with_its_container(cluster: Cluster) -> None:
    await cluster.run()
    async with Socket(cluster, "v5.channel.k8s.io") as client:
        socket = await client.open("sleep", "infinity")
        assert (await socket.receive()).data == b"\x01"
        await cluster.connection.delete(PODS, "p", "default", grace_period_seconds=0)
        status = json.loads((await socket.receive(timeout=30)).data[1:])
    assert status["details"]["causes"][0]["message"] == "137"


async def test_messages_against_the_protocol_end_the_connection_and_nothing_else(cluster: Cluster) -> None:
    await cluster.run()
    async with Socket(cluster, "v5.channel.k8s.io") as client:
        for wrong in (b"\xff", b"\xff\x00\x00", b"\xff\x09"):
            socket = await client.open("cat", stdin="true")
            await socket.send_bytes(wrong)
            assert [message.data async for message in socket][1:] == []
        for ignored in (b"", b"\x09x", b"\x01x", b"\xff\x02"):
            socket = await client.open("cat", stdin="true")
            await socket.send_bytes(ignored)
            await socket.send_bytes(b"\xff\x00")
            assert [message.data async for message in socket][1:] == [b'\x03{"metadata":{},"status":"Success"}']


async def test_volumes_hold_what_the_api_server_has(cluster: Cluster) -> None:
    api = cluster.connection
    await api.create(
        CONFIG_MAPS, {"metadata": {"name": "cm"}, "data": {"a": "1", "b": "2"}, "binaryData": {"c": "Aw=="}}, "default"
    )
    await api.create(SECRETS, {"metadata": {"name": "s"}, "data": {"password": "c2VjcmV0"}}, "default")
    await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "robot"}}, "default")
    downward = {
        "items": [
            {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
            {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
        ]
    }
    sources = [
        {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 600}},
        {"configMap": {"name": "cm", "items": [{"key": "b", "path": "deep/er", "mode": 256}]}},
        {"downwardAPI": downward},
    ]
    await cluster.run(
        labels={"b": "2", "a": "1"},
        container={
            "volumeMounts": [
                {"name": "cm", "mountPath": "/cm"},
                {"name": "cm", "mountPath": "/only-a", "subPath": "a"},
                {"name": "secret", "mountPath": "/secret"},
                {"name": "all", "mountPath": "/all"},
                {"name": "none", "mountPath": "/none"},
                {"name": "host", "mountPath": "/host"},
            ]
        },
        serviceAccountName="robot",
        volumes=[
            {"name": "cm", "configMap": {"name": "cm"}},
            {"name": "secret", "secret": {"secretName": "s", "items": [{"key": "password", "path": "pw"}]}},
            {"name": "all", "projected": {"sources": sources}},
            {"name": "none", "configMap": {"name": "gone", "optional": True}},
            {"name": "host", "hostPath": {"path": "/etc"}},
        ],
    )

    async def output(*command: str) -> str:
        async with Socket(cluster, "v5.channel.k8s.io") as client:
            messages = await client.all(*command)
        return b"".join(each[1:] for each in messages if isinstance(each, bytes) and each[0] in (1, 2)).decode()

    assert await output("cat", "/cm/a", "/cm/b", "/cm/c", "/only-a", "/secret/pw") == "12\x031secret"
    assert await output("cat", "/all/deep/er", "/all/name", "/all/labels") == '2pa="1"\nb="2"'
    assert "-r--------" in await output("ls", "-l", "/all/deep/er")
    assert await output("ls", "/cm", "/none", "/host") == "/cm:\na\nb\nc\n\n/host:\n\n/none:\n"
    token = await output("cat", "/all/token")
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert (claims["aud"], claims["sub"]) == (["vault"], "system:serviceaccount:default:robot")
    assert claims["kubernetes.io"]["pod"]["name"] == "p"
    assert await output("cat", "/all/token") == token
    await api.patch(CONFIG_MAPS, "cm", {"data": {"a": "new"}}, "default")
    assert await output("cat", "/cm/a") == "new"


async def test_a_sidecar_can_be_reached_and_an_init_container_cannot(cluster: Cluster) -> None:
    sidecar = {"name": "side", "image": "i", "restartPolicy": "Always", "env": [{"name": "S", "value": "1"}]}
    await cluster.run(initContainers=[sidecar, {"name": "first", "image": "i"}])
    async with Socket(cluster, "v5.channel.k8s.io") as client:
        assert (await client.all("printenv", "S", container="side"))[1] == b"\x011\n"
        with pytest.raises(aiohttp.WSServerHandshakeError, match="500"):
            await client.all("env", container="first")
        with pytest.raises(aiohttp.WSServerHandshakeError, match="400"):
            await client.all("env", container="other")


async def test_many_commands_at_once(cluster: Cluster) -> None:
    await cluster.run()
    async with Socket(cluster, "v5.channel.k8s.io") as client:
        many = await asyncio.gather(*(client.all("sh", "-c", f"sleep 0.2; echo {n}") for n in range(50)))
    assert [messages[1] for messages in many] == [f"\x01{n}\n".encode() for n in range(50)]


async def test_a_client_that_leaves_ends_its_command(cluster: Cluster) -> None:
    await cluster.run()
    before = len(asyncio.all_tasks())
    async with Socket(cluster, "v5.channel.k8s.io") as client:
        sockets = [await client.open("sleep", "infinity") for _ in range(5)]
        for socket in sockets:
            await socket.receive()
        assert len(asyncio.all_tasks()) > before
    await cluster.until(lambda: len(asyncio.all_tasks()) <= before)
