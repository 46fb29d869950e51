"""What a kubelet may, where objects are as kube-apiserver would not have stored them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.identity.users import User

ADMIN = "of-the-tests"
VOLUMES = "/api/v1/persistentvolumes"
PODS = "/api/v1/namespaces/default/pods"
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """With a pod on the node n1 that uses the claim c."""
    users = {"of-n1": User("system:node:n1", groups=("system:nodes",))}
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}], "volumes": [volume]}
    async with Server(ServerConfig(token=ADMIN, users=users)) as running:
        await ask(running, ADMIN, "POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
        yield running


async def ask(server: Server, token: str, method: str, path: str, body: Object | None = None) -> tuple[int, str]:
    """The code, and what is wrong."""
    async with Connection(server.url, token=token) as client:
        try:
            await client.json(method, path, body)
        except ApiError as error:
            return error.code, error.message
        return 200, ""


async def test_a_volume_without_a_spec_is_nobodys(server: Server) -> None:
    assert (await ask(server, ADMIN, "POST", VOLUMES, {"metadata": {"name": "v"}}))[0] == 200
    code, why = await ask(server, "of-n1", "GET", f"{VOLUMES}/v")
    assert (code, why.rpartition(": ")[2]) == (403, "no relationship found between node 'n1' and this object")


@pytest.mark.parametrize("path", ["/api/v1/nodes/n1", "/api/v1/nodes/n1/status"])
async def test_whether_it_is_another_object_is_asked_before_what_may_be_changed(server: Server, path: str) -> None:
    await ask(server, ADMIN, "POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
    metadata = {"name": "n1", "labels": {"node-restriction.kubernetes.io/a": "b"}}
    assert (await ask(server, "of-n1", "PUT", path, {"metadata": metadata}))[0] == 403
    assert (await ask(server, "of-n1", "PUT", path, {"metadata": {**metadata, "uid": "another"}}))[0] == 409


SECRETS_OF_VOLUMES: dict[str, tuple[Object, int]] = {
    "with a namespace": ({"csi": {"nodeStageSecretRef": {"name": "s", "namespace": "default"}}}, 404),
    "of a sort that takes the claim's": ({"rbd": {"secretRef": {"name": "s"}}}, 404),
    "of a driver": ({"csi": {"nodeStageSecretRef": {"name": "s"}}}, 403),
    "of a sort that has its own": ({"cinder": {"secretRef": {"name": "s"}}}, 403),
    "of another sort that has its own": ({"storageos": {"secretRef": {"name": "s"}}}, 403),
    "of no name": ({"azureFile": {}}, 403),
}


@pytest.mark.parametrize("what", SECRETS_OF_VOLUMES)
async def test_a_secret_without_a_namespace_is_not_always_the_claims(server: Server, what: str) -> None:
    source, code = SECRETS_OF_VOLUMES[what]
    spec = {"claimRef": {"namespace": "default", "name": "c"}, **source}
    assert (await ask(server, ADMIN, "POST", VOLUMES, {"metadata": {"name": "v"}, "spec": spec}))[0] == 200
    assert (await ask(server, "of-n1", "GET", f"{SECRETS}/s"))[0] == code
