"""Who may not read what ``drakit explain`` and ``drakit get`` need is told which role to ask for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from drakit_allocator.installation import until_served
from drakit_api.features import PATCHES_GATE, FeatureGates
from drakit_api.slice_patches import definition
from drakit_client.connection import Connection
from drakit_client.resources import CLUSTER_ROLES
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.identity.users import User
from drakit_kind.cli.drakit_command import main
from tests.allocator import kubeconfigs

_READER = {
    "metadata": {"name": "device-reader"},
    "rules": [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
        {
            "apiGroups": ["resource.k8s.io"],
            "resources": ["deviceclasses", "devicetaintrules", "resourceclaims", "resourceslices"],
            "verbs": ["list"],
        },
    ],
}
_FOLLOWED = ("--feature-gates", f"{PATCHES_GATE}=true")


class _Cluster:
    def __init__(self, api: Connection, kubeconfig: Path) -> None:
        self.api = api
        self._kubeconfig = kubeconfig

    async def bind(self, role: str) -> None:
        """Give pat a role, and no other."""
        path = CLUSTER_ROLES.path().replace("clusterroles", "clusterrolebindings")
        binding = {
            "metadata": {"name": role},
            "roleRef": {"kind": "ClusterRole", "name": role, "apiGroup": CLUSTER_ROLES.group},
            "subjects": [{"kind": "User", "name": "pat", "apiGroup": CLUSTER_ROLES.group}],
        }
        await self.api.json("POST", path, binding)

    async def run(self, *arguments: str) -> Result:
        command = [*arguments, "--kubeconfig", str(self._kubeconfig)]
        return await asyncio.to_thread(CliRunner().invoke, main, command)


@asynccontextmanager
async def _cluster(folder: Path, *, has_patches: bool) -> AsyncIterator[_Cluster]:
    gates = FeatureGates(overrides={PATCHES_GATE: has_patches})
    config = ServerConfig(gates=gates, users={"of-pat": User("pat")})
    async with Server(config) as server, Connection(server.url, token=server.token) as api:
        if has_patches:
            await until_served(api, definition.definition(), 10)
        await api.create(CLUSTER_ROLES, _READER)
        yield _Cluster(api, kubeconfigs.write(folder / "kubeconfig", server.url, "of-pat"))


@pytest.mark.parametrize("command", [("get", "devices"), ("explain", "claim", "c")], ids=lambda one: one[0])
async def test_all_that_is_read_is_asked_for_at_once(tmp_path: Path, command: tuple[str, ...]) -> None:
    async with _cluster(tmp_path, has_patches=False) as cluster:
        result = await cluster.run(*command)
        assert result.exit_code == 1
        assert result.stderr.rstrip().endswith(
            "; ask for a ClusterRole that may list nodes, and deviceclasses, devicetaintrules, resourceclaims,"
            " resourceslices of resource.k8s.io"
        )
        await cluster.bind("device-reader")
        assert "cannot be read" not in (await cluster.run(*command)).stderr


async def test_pods_are_asked_for_where_one_is_named(tmp_path: Path) -> None:
    async with _cluster(tmp_path, has_patches=False) as cluster:
        assert "; ask for a Role that may get pods\n" in (await cluster.run("explain", "pod", "p")).stderr


async def test_patches_are_asked_for_by_the_role_that_comes_with_them(tmp_path: Path) -> None:
    async with _cluster(tmp_path, has_patches=True) as cluster:
        await cluster.bind("device-reader")
        assert (await cluster.run("get", "devices")).exit_code == 0
        refused = await cluster.run("get", "devices", "--patched")
        assert refused.exit_code == 1
        assert "resourceslicepatches cannot be read: " in refused.stderr
        assert "; ask for the ClusterRole drakit-patch-reader, which comes with the kind\n" in refused.stderr
        await cluster.bind("drakit-patch-reader")
        assert (await cluster.run("get", "devices", "--patched")).exit_code == 0


@pytest.mark.parametrize("command", [("get", "devices", "--patched"), ("explain", "claim", "c", *_FOLLOWED)])
async def test_a_kind_that_is_not_there_is_no_matter_of_rights(tmp_path: Path, command: tuple[str, ...]) -> None:
    async with _cluster(tmp_path, has_patches=False) as cluster:
        await cluster.bind("device-reader")
        result = await cluster.run(*command)
        assert "cannot be read" not in result.stderr
        if command[0] == "get":
            assert "drakit install patches installs it" in result.stderr
