"""The scheduler's manifest: it agrees with the program, and its rights are enough for all that the program does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from drakit_allocator.cli.scheduler_command import run
from drakit_allocator.scheduler import Scheduler
from drakit_allocator.scheduler.leadership.lease import NAME, NAMESPACE
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.resources import DEVICE_CLASSES, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, Resource
from drakit_embedded.apiserver import Server, ServerConfig

MANIFEST = Path(__file__).parents[2] / "allocator" / "deploy" / "scheduler.yaml"
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def _named(kind: str) -> Object:
    (found,) = (item for item in yaml.safe_load_all(MANIFEST.read_text()) if item["kind"] == kind)
    return dict(found)


def _granted(kind: str) -> set[tuple[str, str, str]]:
    return {
        (verb, group, resource)
        for rule in _named(kind)["rules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


class _Recorded(Connection):
    """A connection that writes down which rights it needs, as an API server would name them."""

    used: set[tuple[str, str, str]]

    async def request(self, method: str, path: str, *arguments: Any, **options: Any) -> bytes:
        self.used.add(_right(method, path))
        return await super().request(method, path, *arguments, **options)

    def watch(self, resource: Resource, namespace: str | None = None, **options: Any) -> AsyncGenerator[Object, None]:
        self.used.add(("watch", resource.group, resource.plural))
        return super().watch(resource, namespace, **options)


def _right(method: str, path: str) -> tuple[str, str, str]:
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if rest[0] == "namespaces" and len(rest) > 2:
        rest = rest[2:]
    verb = _VERBS.get(method) or ("get" if len(rest) > 1 else "list")
    return verb, group, "/".join([rest[0], *rest[2:]])


async def _add_node_with_a_device(api: Connection) -> None:
    await api.create(NODES, {"metadata": {"name": "n1"}})
    allocatable = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    await api.patch(NODES, "n1", {"status": {"allocatable": allocatable}}, subresource="status")
    await api.patch(NODES, "n1", {"spec": {"taints": None}})
    await api.create(DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": {}})
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "d0"}]}
    await api.create(RESOURCE_SLICES, {"metadata": {"name": "n1"}, "spec": spec})


async def _add_pod_with_a_claim(api: Connection, name: str) -> None:
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
    claim = {"metadata": {"name": name}, "spec": {"devices": {"requests": requests}}}
    await api.create(RESOURCE_CLAIMS, claim, "default")
    container = {"name": "main", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}
    claims = [{"name": "gpu", "resourceClaimName": name}]
    await api.create(
        PODS, {"metadata": {"name": name}, "spec": {"containers": [container], "resourceClaims": claims}}, "default"
    )


@pytest.mark.slow
async def test_its_rights_are_enough_to_schedule_to_wait_and_to_take_over() -> None:
    async with Server(ServerConfig()) as server, Connection(server.url, token=server.token) as api:
        await _add_node_with_a_device(api)
        _Recorded.used = set()
        async with _Recorded(server.url, token=server.token) as own:
            scheduler = Scheduler(own, name="default-scheduler")
            task = asyncio.create_task(scheduler.run())
            await _add_pod_with_a_claim(api, "first")
            await _until_condition(api, "first", "True")
            await _add_pod_with_a_claim(api, "second")
            await _until_condition(api, "second", "False")
            await scheduler._fence.put_up()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    leases = {right for right in _Recorded.used if right[2] == "leases"}
    assert ("create", "", "pods/binding") in _Recorded.used
    assert _Recorded.used - leases <= _granted("ClusterRole")
    assert leases <= _granted("Role")
    # The rest is for conflicts, retries and other schedulers.
    assert _granted("ClusterRole") - _Recorded.used <= {
        ("get", "", "events"),
        ("get", "", "pods"),
        ("get", "resource.k8s.io", "resourceclaims"),
        ("patch", "", "events"),
        ("patch", "resource.k8s.io", "resourceclaims/binding"),
        ("patch", "resource.k8s.io", "resourceclaims/status"),
        ("update", "resource.k8s.io", "resourceclaims/binding"),
    }


async def _until_condition(api: Connection, pod: str, status: str) -> None:
    async with asyncio.timeout(30):
        while True:
            seen = await api.get(PODS, pod, "default")
            conditions = seen.get("status", {}).get("conditions", [])
            if any(each["type"] == "PodScheduled" and each["status"] == status for each in conditions):
                return
            await asyncio.sleep(0.02)


def test_the_lease_is_the_one_that_the_program_uses() -> None:
    role = _named("Role")
    assert role["metadata"]["namespace"] == NAMESPACE
    assert [rule.get("resourceNames") for rule in role["rules"]] == [None, [NAME]]


def test_the_container_runs_a_command_that_exists_without_privileges(monkeypatch: pytest.MonkeyPatch) -> None:
    (container,) = _named("Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["args"][:2] == ["scheduler", "run"]
    environment = {"KUBECONFIG": "/nonexistent", "KUBERNETES_SERVICE_HOST": None}
    result = CliRunner().invoke(run, container["args"][2:], env=environment)
    assert "name a file with --kubeconfig" in result.output
    # In a pod it is the service account that counts, and here is none.
    result = CliRunner().invoke(run, env={"KUBECONFIG": "/nonexistent", "KUBERNETES_SERVICE_HOST": "10.96.0.1"})
    assert "Error: $KUBERNETES_SERVICE_PORT is not set" in result.output
    security = container["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["allowPrivilegeEscalation"] is False
    assert security["readOnlyRootFilesystem"] is True
    assert security["runAsNonRoot"] is True
