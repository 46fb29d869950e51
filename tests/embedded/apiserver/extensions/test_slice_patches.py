"""The kind ResourceSlicePatch on a server whose gate for it is on, and what is left of it when it is off again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from drakit_api.features import PATCHES_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.slice_patches.definition import manifest
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, NotFound
from drakit_client.resources import (
    CLUSTER_ROLES,
    CUSTOM_RESOURCE_DEFINITIONS,
    RESOURCE_SLICE_PATCHES,
    VALIDATING_POLICIES,
)
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.identity.users import User

_ON, _OFF = FeatureGates(overrides={PATCHES_GATE: True}), FeatureGates()
_DEFINITION = "resourceslicepatches.resource.drakit.dev"
_PATCH: Object = {"metadata": {"name": "p"}, "spec": {"devices": {}}}


@asynccontextmanager
async def _api(**config: Any) -> AsyncIterator[Connection]:
    async with Server(ServerConfig(**config)) as server, Connection(server.url, token=server.token) as api:
        yield api


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.34", "1.35", "1.36", "1.37"])
async def test_patches_are_served_from_the_first_request_on(version: str) -> None:
    gates = FeatureGates(version, {PATCHES_GATE: True})
    async with _api(gates=gates) as api:
        assert (await api.create(RESOURCE_SLICE_PATCHES, _PATCH))["spec"] == {"devices": {}}
        roles = {role["metadata"]["name"] for role in (await api.json("GET", CLUSTER_ROLES.path()))["items"]}
    assert {obj["metadata"]["name"] for obj in manifest() if obj["kind"] == "ClusterRole"} <= roles


_VERBS = {"drakit-patch-reader": {"list"}, "drakit-patch-administrator": {"list", "create", "patch", "delete"}}


@pytest.mark.slow
@pytest.mark.parametrize("role", _VERBS)
async def test_a_role_lets_its_holder_do_just_what_it_is_for(role: str) -> None:
    user = {"kind": "User", "name": "pat", "apiGroup": CLUSTER_ROLES.group}
    binding = {
        "metadata": {"name": "pat"},
        "roleRef": {"kind": "ClusterRole", "name": role, "apiGroup": CLUSTER_ROLES.group},
        "subjects": [user],
    }
    config = ServerConfig(gates=_ON, users={"of-pat": User("pat")})
    async with Server(config) as server, Connection(server.url, token=server.token) as api:
        await api.json("POST", CLUSTER_ROLES.path().replace("clusterroles", "clusterrolebindings"), binding)
        async with Connection(server.url, token="of-pat") as pat:
            allowed = {verb for verb, attempt in _attempts(pat) if await _succeeds(attempt)}
    assert allowed == _VERBS[role]


def _attempts(api: Connection) -> Iterator[tuple[str, Awaitable[Any]]]:
    """Each verb in an order in which all can succeed; a definition is nobody's but the cluster administrator's."""
    yield "list", api.list(RESOURCE_SLICE_PATCHES)
    yield "create", api.create(RESOURCE_SLICE_PATCHES, _PATCH)
    yield "patch", api.patch(RESOURCE_SLICE_PATCHES, "p", {"spec": {"devices": {"priority": 1}}})
    yield "delete", api.delete(RESOURCE_SLICE_PATCHES, "p")
    yield "delete the kind", api.delete(CUSTOM_RESOURCE_DEFINITIONS, _DEFINITION)


async def _succeeds(attempt: Awaitable[Any]) -> bool:
    try:
        await attempt
    except ApiError as error:
        if error.code != 403:
            raise
        return False
    return True


@pytest.mark.slow
async def test_without_the_gate_nothing_is_installed() -> None:
    async with _api(gates=_OFF) as api:
        with pytest.raises(NotFound):
            await api.get(CUSTOM_RESOURCE_DEFINITIONS, _DEFINITION)
        with pytest.raises(NotFound):
            await api.create(RESOURCE_SLICE_PATCHES, _PATCH)


@pytest.mark.slow
async def test_what_was_installed_can_be_cleaned_up_when_the_gate_is_off_again(tmp_path: Path) -> None:
    data = tmp_path / "data.sqlite"
    async with _api(data_file=data, gates=_ON) as api:
        await api.create(RESOURCE_SLICE_PATCHES, _PATCH)
    async with _api(data_file=data, gates=_OFF) as api:
        await api.delete(RESOURCE_SLICE_PATCHES, "p")
        await api.delete(CUSTOM_RESOURCE_DEFINITIONS, _DEFINITION)


@pytest.mark.slow
async def test_a_definition_of_another_release_is_replaced_and_one_of_this_is_left_alone(tmp_path: Path) -> None:
    data, versions = tmp_path / "data.sqlite", []
    for start in ("first", "second", "changed", "third"):
        async with _api(data_file=data, gates=_ON) as api:
            stored = await api.get(CUSTOM_RESOURCE_DEFINITIONS, _DEFINITION)
            versions.append(stored["metadata"]["resourceVersion"])
            if start == "changed":
                del stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"]
                await api.replace(CUSTOM_RESOURCE_DEFINITIONS, stored)
                versions.append("changed")
    assert versions[0] == versions[1] == versions[2] != versions[4]
    assert stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] == ["devices"]


@pytest.mark.slow
async def test_a_server_starts_although_a_policy_forbids_the_definition(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "data.sqlite"
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["customresourcedefinitions"]}
    validations = [{"expression": "false", "message": "no definitions here"}]
    policy = {"matchConstraints": {"resourceRules": [rule]}, "validations": validations}
    binding = {"policyName": "none", "validationActions": ["Deny"]}
    async with _api(data_file=data, gates=_OFF) as api:
        await api.create(VALIDATING_POLICIES, {"metadata": {"name": "none"}, "spec": policy})
        path = VALIDATING_POLICIES.path().replace("policies", "policybindings")
        await api.json("POST", path, {"metadata": {"name": "none"}, "spec": binding})
    async with _api(data_file=data, gates=_ON) as api:
        with pytest.raises(NotFound):
            await api.get(CUSTOM_RESOURCE_DEFINITIONS, _DEFINITION)
    assert "no definitions here" in caplog.text
