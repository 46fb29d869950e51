"""``drakit install patches --webhook``: it ends when selectors are checked, or says why they are not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from drakit_allocator import patch_trials
from drakit_allocator.webhook.configuration import IN_CLUSTER
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, RESOURCE_SLICE_PATCHES, VALIDATING_WEBHOOKS
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.identity.users import User
from drakit_kind.cli.drakit_command import main
from tests.allocator import kubeconfigs
from tests.allocator.webhook import registered_webhook

pytestmark = pytest.mark.slow

_CHECKED = "selectors of patches are checked\n"
_BOUND = 60.0
Install = Callable[..., Coroutine[Any, Any, Result]]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server(ServerConfig(users={"of-installer": User("installer")})) as started:
        yield started


@pytest.fixture
async def api(server: Server) -> AsyncIterator[Connection]:
    async with Connection(server.url, token=server.token) as connection:
        yield connection


@pytest.fixture
def install(server: Server, tmp_path: Path) -> Install:
    async def run(*arguments: str, token: str = "") -> Result:
        file = kubeconfigs.write(tmp_path / "kubeconfig", server.url, token or server.token)
        command = ["install", "patches", "--webhook", "--kubeconfig", str(file), *arguments]
        return await asyncio.to_thread(CliRunner().invoke, main, command)

    return run


async def _until_there(api: Connection) -> None:
    """Wait until the command has applied the last of its objects."""
    async with asyncio.timeout(_BOUND):
        while True:
            try:
                await api.get(VALIDATING_WEBHOOKS, IN_CLUSTER)
                return
            except NotFound:
                await asyncio.sleep(0.01)


async def test_it_ends_when_a_wrong_selector_is_refused(
    api: Connection, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patch_trials, "QUIET_SECONDS", 0.0)
    installing = asyncio.create_task(install("--timeout", f"{_BOUND:g}"))
    await _until_there(api)
    async with registered_webhook.called(api):
        result = await installing
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(_CHECKED)
    assert f"waiting up to {_BOUND:g} s until selectors of patches are checked" in result.stderr
    assert (await api.list(RESOURCE_SLICE_PATCHES))["items"] == []


async def test_where_selectors_are_checked_already_nothing_is_said_of_waiting(
    api: Connection, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patch_trials, "QUIET_SECONDS", _BOUND)
    async with registered_webhook.called(api):
        result = await install()
    assert result.stdout.endswith(_CHECKED), result.output
    assert "waiting" not in result.stderr


async def test_if_no_pod_answers_it_says_where_to_look_and_what_else_there_is(install: Install) -> None:
    result = await install("--timeout", "0.5", "--image", "drakit:mine")
    assert result.exit_code == 1
    assert _CHECKED not in result.stdout
    told = result.stderr.partition("Error: ")[2]
    assert "after 0.5 s the API server still takes a patch whose selector does not compile" in told
    assert "the objects are there" in told
    assert "`kubectl -n drakit-system get pods`" in told
    assert "drakit:mine" in told
    assert "`drakit webhook patches --register`" in told
    assert "kubectl delete" not in told


async def test_if_no_pod_answers_and_patches_fail_it_says_how_they_pass_again(install: Install) -> None:
    result = await install("--timeout", "0.5", "--failure-policy", "Fail")
    assert result.exit_code == 1
    told = result.stderr.partition("Error: ")[2]
    assert "after 0.5 s the API server still refuses every patch" in told
    assert "failed calling webhook" in told
    assert f"`kubectl delete validatingwebhookconfiguration {IN_CLUSTER}`" in told


async def test_whoever_may_not_patch_hears_that_it_is_not_known(api: Connection, install: Install) -> None:
    rules: list[dict[str, Any]] = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "patch", "bind", "escalate"]},
        {
            "apiGroups": ["", "apps", "apiextensions.k8s.io", "rbac.authorization.k8s.io"],
            "resources": ["*"],
            "verbs": ["create"],
        },
        {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["create"]},
    ]
    await api.create(CLUSTER_ROLES, {"metadata": {"name": "installer"}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "installer"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "installer"}
    binding = {"metadata": {"name": "installer"}, "roleRef": role, "subjects": [subject]}
    await api.create(CLUSTER_ROLE_BINDINGS, binding)
    result = await install(token="of-installer")
    assert result.exit_code == 0, result.output
    assert _CHECKED not in result.stdout
    assert "whether selectors of patches are checked is not known: resourceslicepatches" in result.stderr
    assert 'User "installer" cannot create resource "resourceslicepatches"' in result.stderr


async def test_a_dry_run_waits_for_nothing(install: Install) -> None:
    result = await install("--dry-run")
    assert result.exit_code == 0, result.output
    assert "checked" not in result.output
