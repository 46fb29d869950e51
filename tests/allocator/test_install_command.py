"""``drakit install patches``: what it does to a cluster, told object by object, and undone again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from drakit_allocator import installation
from drakit_api.features import PATCHES_GATE, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.slice_patches.definition import definition, manifest
from drakit_client.connection import Connection
from drakit_client.errors import NotFound, api_error
from drakit_client.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CUSTOM_RESOURCE_DEFINITIONS,
    RESOURCE_SLICE_PATCHES,
    Resource,
)
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.identity.users import User
from drakit_kind.cli.drakit_command import main
from tests.allocator import kubeconfigs

_NAME = "resourceslicepatches.resource.drakit.dev"
_DEFINITION = f"customresourcedefinition.apiextensions.k8s.io/{_NAME}"
_ROLES = "clusterrole.rbac.authorization.k8s.io/"
_PATCH: Object = {"metadata": {"name": "p"}, "spec": {"devices": {}}}
Install = Callable[..., Coroutine[Any, Any, Result]]


def _invoked(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(main, ["install", "patches", *arguments], **options)


@asynccontextmanager
async def _cluster(tmp_path: Path, **config: Any) -> AsyncIterator[tuple[Connection, Install]]:
    async with Server(ServerConfig(**config)) as server, Connection(server.url, token=server.token) as api:
        file = str(kubeconfigs.write(tmp_path / "kubeconfig", server.url, server.token))

        async def run(*arguments: str, **options: Any) -> Result:
            return await asyncio.to_thread(_invoked, "--kubeconfig", file, *arguments, **options)

        yield api, run


def _told(result: Result) -> dict[str, str]:
    """What was said of each object."""
    lines = (line.partition(" ") for line in result.output.splitlines())
    return {name: done for name, _, done in lines if "/" in name}


@pytest.mark.slow
async def test_it_is_installed_object_by_object_and_served_then(tmp_path: Path) -> None:
    async with _cluster(tmp_path) as (api, run):
        result = await run()
        assert result.exit_code == 0, result.output
        assert _told(result)[_DEFINITION] == "created"
        assert set(_told(result).values()) == {"created"}
        assert len(_told(result)) == len(manifest())
        assert result.stdout.endswith("resourceslicepatches are served\n")
        await api.create(RESOURCE_SLICE_PATCHES, _PATCH)


@pytest.mark.slow
@pytest.mark.parametrize("is_on", [False, True])
async def test_an_api_server_that_drops_attributes_is_told_with_the_way_out(tmp_path: Path, is_on: bool) -> None:
    async with _cluster(tmp_path, gates=FeatureGates(overrides={PATCHES_GATE: is_on})) as (api, run):
        result = await run()
        assert result.exit_code == 0, result.output
        way_out = f"drakit cluster restart apiserver --feature-gates {PATCHES_GATE}=true"
        assert ("drops attributes and capacity of new patches" in result.stderr) is not is_on
        assert (way_out in result.stderr) is not is_on
        assert (await api.list(RESOURCE_SLICE_PATCHES))["items"] == []
        assert "drops attributes" not in (await run("--dry-run")).stderr


_MAY_INSTALL: list[Object] = [
    {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["*"]},
    {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["*", "bind", "escalate"]},
    {"apiGroups": [RESOURCE_SLICE_PATCHES.group], "resources": ["*"], "verbs": ["list"]},
]


@pytest.mark.slow
async def test_who_may_install_but_not_patch_hears_nothing_of_attributes(tmp_path: Path) -> None:
    async with _cluster(tmp_path, users={"of-installer": User("installer")}) as (api, run):
        await api.create(CLUSTER_ROLES, {"metadata": {"name": "installer"}, "rules": _MAY_INSTALL})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "installer"}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "installer"}
        binding = {"metadata": {"name": "installer"}, "roleRef": role, "subjects": [subject]}
        await api.create(CLUSTER_ROLE_BINDINGS, binding)
        _act_as(tmp_path / "kubeconfig", "of-installer")
        result = await run()
        assert result.exit_code == 0, result.output
        assert result.stderr == ""


def _act_as(kubeconfig: Path, token: str) -> None:
    config = yaml.safe_load(kubeconfig.read_text())
    config["users"][0]["user"]["token"] = token
    kubeconfig.write_text(yaml.safe_dump(config))


@pytest.mark.slow
async def test_once_more_it_changes_nothing_and_later_only_what_differs(tmp_path: Path) -> None:
    async with _cluster(tmp_path) as (api, run):
        await run()
        assert set(_told(await run()).values()) == {"unchanged"}
        await api.patch(CLUSTER_ROLES, "drakit-patch-reader", {"metadata": {"labels": {"mine": "yes"}}})
        assert set(_told(await run()).values()) == {"unchanged"}
        await api.delete(CLUSTER_ROLES, "drakit-patch-reader")
        told = _told(await run())
        assert told.pop(f"{_ROLES}drakit-patch-reader") == "created"
        assert set(told.values()) == {"unchanged"}


@pytest.mark.slow
async def test_what_others_have_changed_is_taken_over_only_if_that_is_wanted(tmp_path: Path) -> None:
    async with _cluster(tmp_path) as (api, run):
        await run()
        await api.patch(CLUSTER_ROLES, "drakit-patch-reader", {"rules": []})
        refused = await run()
        assert refused.exit_code == 1
        assert f"Error: {_ROLES}drakit-patch-reader: " in refused.output
        assert "--force-conflicts takes these fields over" in refused.output
        assert _told(await run("--force-conflicts"))[f"{_ROLES}drakit-patch-reader"] == "configured"
        assert (await api.get(CLUSTER_ROLES, "drakit-patch-reader"))["rules"]


@pytest.mark.slow
async def test_a_dry_run_says_the_same_and_stores_nothing(tmp_path: Path) -> None:
    async with _cluster(tmp_path) as (api, run):
        assert set(_told(await run("--dry-run")).values()) == {"created (dry run)"}
        with pytest.raises(NotFound):
            await api.get(CUSTOM_RESOURCE_DEFINITIONS, _NAME)
        await run()
        await api.create(RESOURCE_SLICE_PATCHES, _PATCH)
        result = await run("--remove", "--dry-run")
        assert "1 patch goes: p." in result.output
        assert set(_told(result).values()) == {"deleted (dry run)"}
        await api.get(RESOURCE_SLICE_PATCHES, "p")


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "answer"), [(("--yes",), ""), ((), "y\n")])
async def test_it_is_removed_with_all_patches_after_a_question(
    tmp_path: Path, arguments: tuple[str, ...], answer: str
) -> None:
    async with _cluster(tmp_path) as (api, run):
        await run()
        for number in range(12):
            await api.create(RESOURCE_SLICE_PATCHES, {**_PATCH, "metadata": {"name": f"p{number:02}"}})
        result = await run("--remove", *arguments, input=answer)
        assert result.exit_code == 0, result.output
        assert "12 patches go: p00, p01, p02, p03, p04, p05, p06, p07, p08, p09 and 2 more." in result.output
        assert set(_told(result).values()) == {"deleted"}
        with pytest.raises(NotFound):
            await api.get(CUSTOM_RESOURCE_DEFINITIONS, _NAME)
        again = await run("--remove", "--yes")
        assert "no patch goes." in again.output
        assert set(_told(again).values()) == {"not there"}


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["n\n", ""])
async def test_without_a_yes_nothing_is_removed(tmp_path: Path, answer: str) -> None:
    async with _cluster(tmp_path) as (api, run):
        await run()
        result = await run("--remove", input=answer)
        assert result.exit_code == 1
        assert "Aborted!" in result.output
        await api.get(CUSTOM_RESOURCE_DEFINITIONS, _NAME)


@pytest.mark.slow
async def test_a_kind_whose_names_others_have_is_told(tmp_path: Path) -> None:
    async with _cluster(tmp_path) as (api, run):
        other = definition()
        other["metadata"]["name"] = "others.resource.drakit.dev"
        other["spec"]["names"] |= {"plural": "others", "singular": "other", "kind": "Other", "listKind": "OtherList"}
        await api.create(CUSTOM_RESOURCE_DEFINITIONS, other)
        await installation.until_served(api, other, 30)
        result = await run("--timeout", "0.5")
        assert result.exit_code == 1
        assert f'Error: {_DEFINITION} is not served after 0.5 s: "rsp" is already in use' in result.output
        assert f"kubectl describe crd {_NAME}" in result.output


class _Preparing(Connection):
    """A connection to a server that prepares the storage of the kind for the first two lists, as a real one does."""

    asked = 0

    async def list(self, resource: Resource, *arguments: Any, **options: Any) -> Object:
        self.asked += 1
        if self.asked <= 2:
            raise api_error(429, {"reason": "TooManyRequests", "message": "storage is (re)initializing"})
        return await super().list(resource, *arguments, **options)


@pytest.mark.slow
async def test_a_kind_is_waited_for_while_the_server_prepares_its_storage() -> None:
    async with Server(ServerConfig()) as server:
        api = _Preparing(server.url, token=server.token)
        async with api:
            await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition())
            await installation.until_served(api, definition(), 30)
    assert api.asked == 3


def test_the_manifest_is_printed_without_a_cluster() -> None:
    result = _invoked("-o", "yaml")
    assert list(yaml.safe_load_all(result.output)) == manifest()


@pytest.mark.slow
async def test_without_the_rights_it_says_who_needs_them(tmp_path: Path) -> None:
    async with _cluster(tmp_path, users={"of-somebody": User("somebody")}) as (_, run):
        _act_as(tmp_path / "kubeconfig", "of-somebody")
        result = await run()
        assert result.exit_code == 1
        assert f"Error: {_DEFINITION}: " in result.output
        assert 'User "somebody" cannot get resource "customresourcedefinitions"' in result.output
        assert "--context names another user" in result.output


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-o", "yaml", "--remove"], "give one of them"),
        (["--yes"], "--yes is for --remove"),
        (["--kubeconfig", "/nonexistent"], "name a file with --kubeconfig"),
    ],
)
def test_wrong_use_is_refused_with_the_way_out(arguments: list[str], complaint: str) -> None:
    result = _invoked(*arguments)
    assert result.exit_code != 0
    assert complaint in result.output


def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    result = _invoked("--kubeconfig", str(kubeconfigs.write(tmp_path / "kubeconfig", "http://127.0.0.1:1", "t")))
    assert "http://127.0.0.1:1 does not answer" in result.output
    assert "name another cluster with --kubeconfig or --context" in result.output


def test_the_example_of_the_help_is_a_valid_patch() -> None:
    from drakit_api.slice_patches.definition import faults

    text = _invoked("--help").output
    example = text.partition("<<EOF\n")[2].partition("EOF\n")[0]
    assert faults(yaml.safe_load(example)) == []
