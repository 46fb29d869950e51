"""``drakit explain`` on a cluster: the embedded API server, in this and in older versions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from drakit_allocator.cli.explain_command import explain
from drakit_allocator.installation import until_served
from drakit_api.kubernetes_objects import Object
from drakit_api.slice_patches import definition
from drakit_client.connection import Connection
from drakit_client.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICE_PATCHES,
    RESOURCE_SLICES,
)
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_kind.cli.drakit_command import main
from tests.allocator import kubeconfigs

_DRIVER = "gpu.example.com"


class _Cluster:
    """A server with a kubeconfig, a node with two devices, and a class."""

    def __init__(self, server: Server, api: Connection, kubeconfig: Path) -> None:
        self.api = api
        self._kubeconfig = kubeconfig
        kubeconfigs.write(kubeconfig, server.url, server.token, namespace="team")

    async def explain(self, *arguments: str) -> Result:
        command = [*arguments, "--kubeconfig", str(self._kubeconfig)]
        return await asyncio.to_thread(CliRunner().invoke, explain, command)

    async def fill(self, version: str = "v1") -> None:
        await self.api.create(NAMESPACES, {"metadata": {"name": "team"}})
        await self.api.create(NODES, {"metadata": {"name": "n1"}})
        await self.api.patch(NODES, "n1", {"spec": {"taints": None}})
        pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
        basic: Object = {"basic": {}} if version == "v1beta1" else {}
        devices = [{"name": name, **basic} for name in ("d0", "d1")]
        spec = {"driver": _DRIVER, "pool": pool, "nodeName": "n1", "devices": devices}
        await self.api.create(RESOURCE_SLICES.in_version(version), {"metadata": {"name": "s"}, "spec": spec})
        selectors = [{"cel": {"expression": f'device.driver == "{_DRIVER}"'}}]
        device_class = {"metadata": {"name": "gpu"}, "spec": {"selectors": selectors}}
        await self.api.create(DEVICE_CLASSES.in_version(version), device_class)

    async def claim(self, name: str, count: int = 1, version: str = "v1", **metadata: Any) -> Object:
        asks = {"deviceClassName": "gpu", "count": count}
        request = {"name": "r", **(asks if version == "v1beta1" else {"exactly": asks})}
        body = {
            "metadata": {"name": name, "namespace": "team", **metadata},
            "spec": {"devices": {"requests": [request]}},
        }
        return await self.api.create(RESOURCE_CLAIMS.in_version(version), body, "team")

    async def allocate(self, claim: Object, *devices: str, version: str = "v1", **more: str) -> None:
        results = [{"request": "r", "driver": _DRIVER, "pool": "n1", "device": name, **more} for name in devices]
        user = {"resource": "pods", "name": "user", "uid": "uid-of-user"}
        status = {"allocation": {"devices": {"results": results}}, "reservedFor": [user]}
        claims = RESOURCE_CLAIMS.in_version(version)
        await self.api.replace_status(claims, {**claim, "status": status}, "team")

    async def pod(self, name: str, *claims: Object, **spec: Any) -> Object:
        container = {"name": "c", "image": "i"}
        body = {
            "metadata": {"name": name, "namespace": "team"},
            "spec": {"containers": [container], "resourceClaims": list(claims), **spec},
        }
        return await self.api.create(PODS, body, "team")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[_Cluster]:
    async with Server(ServerConfig()) as server, Connection(server.url, token=server.token) as api:
        made = _Cluster(server, api, tmp_path / "kubeconfig")
        await made.fill()
        yield made


async def test_a_claim_names_what_is_in_the_way_and_what_would_help(cluster: _Cluster) -> None:
    await cluster.allocate(await cluster.claim("first"), "d0")
    await cluster.claim("second", 2)
    result = await cluster.explain("claim", "second")
    assert result.exit_code == 0
    assert result.stdout == (
        "team/second: does not fit on n1\n\n"
        "n1: does not fit\n"
        "  request r: 2 wanted, 1 of 2 devices can be used: not enough\n"
        "    1 are in use\n"
        "        d0 by team/first\n"
        "    1 can be used: d1\n"
        "  would help: release team/first\n"
    )


async def test_the_json_form_has_the_same(cluster: _Cluster) -> None:
    await cluster.allocate(await cluster.claim("first"), "d0")
    await cluster.claim("second", 2)
    said = json.loads((await cluster.explain("claim", "second", "-n", "team", "-o", "json")).stdout)
    assert said["claims"] == ["team/second"]
    assert said["best"] == [{"kind": "release", "claims": ["team/first"]}]


async def test_a_device_that_kubernetes_would_give_out_twice(cluster: _Cluster) -> None:
    share = "11111111-1111-4111-8111-111111111111"
    await cluster.allocate(await cluster.claim("first", 2), "d0", "d1", shareID=share)
    await cluster.claim("second")
    upstream = await cluster.explain("claim", "second")
    assert upstream.stdout.startswith("team/second: fits on n1\n")
    assert "held by team/first): fits in Kubernetes, does not fit without the defect [sharesAreNotIn" in upstream.stdout
    safe = await cluster.explain("claim", "second", "--compat", "safe")
    assert safe.stdout.startswith("team/second: does not fit on n1\n")
    assert "    2 are in use\n        d0, d1 by team/first\n" in safe.stdout


async def test_taint_rules_count(cluster: _Cluster) -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    rule = {"metadata": {"name": "rule"}, "spec": {"deviceSelector": {"driver": _DRIVER}, "taint": taint}}
    await cluster.api.create(DEVICE_TAINT_RULES, rule)
    await cluster.claim("one")
    result = await cluster.explain("claim", "one")
    assert "  would help: remove or tolerate the taint k=:NoSchedule\n" in result.stdout


async def _serve_patches(api: Connection) -> None:
    """Let the server serve ResourceSlicePatch, and wait until it does."""
    await api.create(CUSTOM_RESOURCE_DEFINITIONS, definition.definition())
    await until_served(api, definition.definition(), 10)


async def test_patches_count_with_their_gate(cluster: _Cluster) -> None:
    gate = ("--feature-gates", "DRAAdminControlledDeviceAttributes=true")
    await cluster.claim("one")
    without = await cluster.explain("claim", "one", *gate)
    assert without.stdout.startswith("team/one: fits on n1\n")
    assert without.stderr == ("the kind ResourceSlicePatch is not installed: drakit install patches installs it\n")
    await _serve_patches(cluster.api)
    assert (await cluster.explain("claim", "one")).stderr == ""
    taints = [{"key": "k", "effect": "NoSchedule"}]
    patch = {"metadata": {"name": "maintenance"}, "spec": {"devices": {"taints": taints}}}
    await cluster.api.create(RESOURCE_SLICE_PATCHES, patch)
    followed = await cluster.explain("claim", "one", *gate)
    assert "        d0, d1: k=:NoSchedule (patch maintenance)\n" in followed.stdout
    assert followed.stderr == ""
    ignored = await cluster.explain("claim", "one")
    assert ignored.stdout.startswith("team/one: fits on n1\n")
    assert ignored.stderr == f"1 ResourceSlicePatch is ignored; it counts with {' '.join(gate)}\n"


async def test_claims_of_a_pod_are_explained_together(cluster: _Cluster) -> None:
    await cluster.claim("one", 2)
    generated = await cluster.claim("generated-name")
    references = [{"name": "a", "resourceClaimName": "one"}, {"name": "b", "resourceClaimTemplateName": "template"}]
    await cluster.pod("pod", *references)
    early = await cluster.explain("pod", "pod")
    assert early.exit_code == 1
    assert "ResourceClaim not created yet" in early.stderr
    status = {"resourceClaimStatuses": [{"name": "b", "resourceClaimName": generated["metadata"]["name"]}]}
    await cluster.api.patch(PODS, "pod", {"status": status}, "team", subresource="status")
    result = await cluster.explain("pod", "pod")
    assert result.exit_code == 0
    assert result.stdout.startswith("team/one and team/generated-name: does not fit on n1\n")
    assert (
        "  requests team/one r and team/generated-name r have enough devices each, but not together\n" in result.stdout
    )


async def test_nodes_on_which_a_pod_may_not_run_are_told_apart(cluster: _Cluster) -> None:
    await cluster.claim("one")
    await cluster.pod("pod", {"name": "a", "resourceClaimName": "one"}, nodeSelector={"zone": "b"})
    result = await cluster.explain("pod", "pod")
    assert "n1: not tried: node(s) didn't match Pod's node affinity/selector\n" in result.stdout


async def test_what_would_fit_is_said(cluster: _Cluster) -> None:
    await cluster.claim("one")
    result = await cluster.explain("claim", "one")
    assert result.exit_code == 0
    assert result.stdout.startswith("team/one: fits on n1\n  team/one r: gpu.example.com/n1/d0\n")


async def test_there_is_nothing_to_explain_of_what_is_allocated(cluster: _Cluster) -> None:
    await cluster.allocate(await cluster.claim("one"), "d0")
    result = await cluster.explain("claim", "one")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: claim team/one is allocated already\n  one r: gpu.example.com/n1/d0\n  one is reserved for pods user\n"
    )
    await cluster.pod("pod", {"name": "a", "resourceClaimName": "one"}, nodeName="n1")
    result = await cluster.explain("pod", "pod")
    assert result.stderr.startswith("Error: pod team/pod is on node n1 already\n  one r: gpu.example.com/n1/d0\n")


async def _extended(cluster: _Cluster, requests: Object, *claims: Object, classes: Any = ()) -> Result:
    """The explanation of a pod that requests extended resources."""
    for name, resource in classes:
        spec = {"selectors": [{"cel": {"expression": "true"}}], "extendedResourceName": resource}
        await cluster.api.create(DEVICE_CLASSES, {"metadata": {"name": name}, "spec": spec})
    resources = {"requests": requests, "limits": requests}
    container = {"name": "c", "image": "i", "resources": resources}
    await cluster.pod("pod", *claims, containers=[container])
    return await cluster.explain("pod", "pod")


_GPU = [("big", "example.com/gpu")]


async def test_extended_resources_are_explained_as_the_claim_that_would_be_made(cluster: _Cluster) -> None:
    await cluster.allocate(await cluster.claim("first"), "d0")
    result = await _extended(cluster, {"example.com/gpu": "2"}, classes=_GPU)
    assert result.stderr == ""
    assert result.stdout == (
        "pod team/pod requests extended resources\n"
        "  example.com/gpu: 2, devices of DeviceClass big, by its extendedResourceName (container-0-request-0)\n"
        "  kube-scheduler makes the claim pod-extended-resources-... for example.com/gpu; drakit's scheduler makes no"
        " such claim yet: schedule the pod with kube-scheduler (drakit cluster up --real scheduler), or name a claim in"
        " spec.resourceClaims\n\n"
        "team/pod-extended-resources: does not fit on n1\n\n"
        "n1: does not fit\n"
        "  request container-0-request-0: 2 wanted, 1 of 2 devices can be used: not enough\n"
        "    1 are in use\n"
        "        d0 by team/first\n"
        "    1 can be used: d1\n"
        "  would help: release team/first\n"
    )
    said = json.loads((await cluster.explain("pod", "pod", "-o", "json")).stdout)
    assert said["extendedResources"] == [
        {"resource": "example.com/gpu", "amount": 2, "deviceClass": "big", "requests": ["container-0-request-0"]}
    ]


async def test_a_class_is_an_extended_resource_by_its_name_as_well(cluster: _Cluster) -> None:
    await cluster.claim("one")
    resources = {"cpu": "1", "deviceclass.resource.kubernetes.io/gpu": "1"}
    result = await _extended(cluster, resources, {"name": "a", "resourceClaimName": "one"})
    line = "  deviceclass.resource.kubernetes.io/gpu: 1, devices of DeviceClass gpu (container-0-request-1)\n"
    assert line in result.stdout
    assert "\nteam/one and team/pod-extended-resources: fits on n1\n" in result.stdout


@pytest.mark.parametrize(
    ("requests", "options", "message"),
    [
        pytest.param(
            {"example.com/fpga": "1"},
            (),
            "  example.com/fpga: 1, but no DeviceClass has it as extendedResourceName "
            "(there is example.com/gpu of big): only a device plugin can offer it\n",
            id="none",
        ),
        pytest.param(
            {"deviceclass.resource.kubernetes.io/x": "1"},
            (),
            "  deviceclass.resource.kubernetes.io/x: 1, but there is no DeviceClass x; there are big, gpu\n",
            id="none of that name",
        ),
        pytest.param(
            {"example.com/gpu": "1"},
            ("--emulated-version", "1.35"),
            "  example.com/gpu: 1, but the feature gate DRAExtendedResource, with which DeviceClass big would be "
            "behind it, is off: switch on the feature gate DRAExtendedResource (--feature-gates ",
            id="gate",
        ),
    ],
)
async def test_extended_resources_that_are_no_devices_are_told(
    cluster: _Cluster, requests: Object, options: tuple[str, ...], message: str
) -> None:
    await _extended(cluster, requests, classes=_GPU)
    result = await cluster.explain("pod", "pod", *options)
    assert result.exit_code == 1
    said = "pod team/pod has no claims (spec.resourceClaims is empty), but requests extended resources\n"
    assert result.stderr.startswith(f"Error: {said}{message}")


async def test_what_a_device_plugin_offers_is_no_matter_of_claims(cluster: _Cluster) -> None:
    status = {"allocatable": {"example.com/gpu": "8"}, "capacity": {"example.com/gpu": "8"}}
    await cluster.api.patch(NODES, "n1", {"status": status}, subresource="status")
    result = await _extended(cluster, {"example.com/gpu": "1"}, classes=_GPU)
    assert "n1: not tried: a device plugin offers example.com/gpu there, for which no devices are allocated then\n" in (
        result.stdout
    )


async def test_a_claim_for_extended_resources_that_is_there_counts(cluster: _Cluster) -> None:
    await _extended(cluster, {"example.com/gpu": "1"}, classes=_GPU)
    pod = await cluster.api.get(PODS, "pod", "team")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": pod["metadata"]["uid"], "controller": True}
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    made = await cluster.claim("made", ownerReferences=[owner], annotations=annotations)
    await cluster.allocate(made, "d0")
    result = await cluster.explain("pod", "pod")
    assert result.stderr.startswith("Error: claim team/made is allocated already\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["claim", "x"], "there is no ResourceClaim x in namespace team; there are one", id="claim"),
        pytest.param(["claim", "x", "-n", "default"], "namespace default; there is none; -n names another", id="empty"),
        pytest.param(["pod", "x"], "there is no Pod x in namespace team; -n names another namespace", id="pod"),
        pytest.param(
            ["pod", "plain"], "pod team/plain has no claims (spec.resourceClaims is empty), nor", id="no claims"
        ),
        pytest.param(["claim", "one", "--node", "n7"], "there is no Node n7; there are n1", id="node"),
        pytest.param(["claim", "one", "--feature-gates", "X=true"], "unrecognized feature gate: X", id="gate"),
    ],
)
async def test_what_cannot_be_explained(cluster: _Cluster, arguments: list[str], message: str) -> None:
    await cluster.claim("one")
    await cluster.pod("plain")
    result = await cluster.explain(*arguments)
    assert result.exit_code in (1, 2)
    assert message in result.stderr
    assert not result.stdout


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
async def test_a_cluster_that_serves_nothing_newer(tmp_path: Path, version: str) -> None:
    group = "resource.k8s.io"
    config = ServerConfig(runtime_config={f"{group}/v1": "false", f"{group}/{version}": "true"})
    async with Server(config) as server, Connection(server.url, token=server.token) as api:
        cluster = _Cluster(server, api, tmp_path / "kubeconfig")
        await cluster.fill(version)
        await cluster.claim("three", 3, version)
        result = await cluster.explain("claim", "three")
    assert "  request r: 3 wanted, 2 of 2 devices can be used: not enough\n" in result.stdout


def test_a_cluster_that_is_away(tmp_path: Path) -> None:
    kubeconfig = kubeconfigs.write(tmp_path / "kubeconfig", "http://127.0.0.1:1", "t")
    result = CliRunner().invoke(explain, ["claim", "x", "--kubeconfig", str(kubeconfig)])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: http://127.0.0.1:1: Cannot connect to host")
    assert result.stderr.endswith("; name another cluster with --kubeconfig\n")
    result = CliRunner().invoke(explain, ["claim", "x", "--kubeconfig", str(tmp_path / "none")])
    assert result.exit_code == 1
    assert result.stderr.endswith("there is no such file; name a file with --kubeconfig\n")


def test_the_command_is_part_of_drakit() -> None:
    assert "Say why a claim or pod of a cluster gets no devices" in CliRunner().invoke(main, ["--help"]).stdout
    told = CliRunner().invoke(main, ["explain", "pod", "--help"])
    assert told.exit_code == 0
    assert "drakit explain pod my-pod -n team-a" in told.stdout


async def test_ctrl_c_is_heard_while_it_computes(cluster: _Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        with pytest.raises(RuntimeError):  # an event loop would hear it when the work is done
            asyncio.get_running_loop()
        raise KeyboardInterrupt

    monkeypatch.setattr("drakit_allocator.explanation.explain", interrupt)
    await cluster.claim("one")
    assert (await cluster.explain("claim", "one")).exit_code == 130
