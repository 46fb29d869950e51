"""The driver as the last line of defence: its socket, and claims that somebody has changed by hand."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from drakit_api.kubelet import dra_v1_pb2, wire
from drakit_api.kubernetes_objects import Object
from drakit_client.resources import NAMESPACES, PODS, RESOURCE_CLAIMS
from drakit_kind.clusters.manifests import claim, pod
from e2e.attacks.victim import Victim

Rounds = Callable[[], Iterator[int]]
# Beginnings of texts that are no names, or that would be dangerous as paths, URLs or lines.
_TEXTS = (
    "",
    "..",
    "../../../etc/passwd",
    "a/b",
    "a\nb",
    "\0",
    "a%2fb?x=y#z",
    "é",
    "x" * 5000,
    "-a",
    "uid-1",
    "claim-1",
)
_ADMIN = {"resource.kubernetes.io/admin-access": "true"}
_METHODS = ("NodePrepareResources", "NodeUnprepareResources")


def _node(victim: Victim) -> Path:
    return victim.cluster.home.nodes / victim.cluster.spec.nodes[0]


def _call(victim: Victim, method: str, body: bytes) -> bytes:
    with grpc.insecure_channel(f"unix:{_node(victim)}/plugins/{victim.driver.name}/dra.sock") as channel:
        answer: bytes = channel.unary_unary(f"/{wire.SERVICES[wire.DRA_V1]}/{method}")(body, timeout=30)
    return answer


def _files(victim: Victim) -> list[str]:
    return sorted(str(path.relative_to(_node(victim))) for path in _node(victim).rglob("*"))


def test_no_call_makes_a_file_or_ends_the_driver(victim: Victim, attack_random: random.Random, rounds: Rounds) -> None:
    before = _files(victim)
    for _ in rounds():
        claims = [
            dra_v1_pb2.Claim(**{field: attack_random.choice(_TEXTS) for field in ("namespace", "name", "uid")})
            for _ in range(attack_random.randrange(30))
        ]
        body = dra_v1_pb2.NodePrepareResourcesRequest(claims=claims).SerializeToString()
        answer = dra_v1_pb2.NodePrepareResourcesResponse.FromString(_call(victim, _METHODS[0], body))
        assert set(answer.claims) == {each.uid for each in claims}
        assert all(result.error for result in answer.claims.values()), "nothing was prepared"
        _call(victim, _METHODS[1], body)
        with pytest.raises(grpc.RpcError):
            _call(victim, attack_random.choice(_METHODS), b"\xff" + attack_random.randbytes(1000))
    assert _files(victim) == before
    assert all(line.isprintable() for line in victim.driver.logs().splitlines())


def _bound_pod(victim: Victim, name: str, change: Callable[[Object], None], like: Object) -> None:
    """A pod on the driver's node, whose claim is written by hand as if the scheduler had allocated it."""
    victim.api.create(claim(name, victim.gpus.partition("1g.5gb")))
    made = victim.api.create(pod(name, name, nodeName=victim.cluster.spec.nodes[0]))
    allocation = copy.deepcopy(like)
    change(allocation)
    reserved = [{"resource": "pods", "name": name, "uid": made["metadata"]["uid"]}]
    body = {"status": {"allocation": allocation, "reservedFor": reserved}}
    victim.api.patch(RESOURCE_CLAIMS, name, body, subresource="status")


def _same(allocation: Object) -> None:
    """Another claim has it already."""


def _unknown_device(allocation: Object) -> None:
    allocation["devices"]["results"][0]["device"] = "gpu-99"


def _other_node(allocation: Object) -> None:
    allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"] = ["node-2"]


def _configured(**mps: Any) -> Callable[[Object], None]:
    def change(allocation: Object) -> None:
        sharing = {"strategy": "MPS", "mpsConfig": mps}
        parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "MigDeviceConfig", "sharing": sharing}
        driver = allocation["devices"]["results"][0]["driver"]
        opaque = {"driver": driver, "parameters": parameters}
        allocation["devices"]["config"] = [{"source": "FromClaim", "opaque": opaque}]

    return change


_BY_HAND: dict[str, tuple[Callable[[Object], None], str]] = {
    "taken": (_same, "is already prepared for claim default/holder"),
    "unknown": (_unknown_device, "device gpu-99 of pool node-1 does not exist"),
    "elsewhere": (_other_node, "the allocation is for other nodes than node-1"),
    "newline": (_configured(defaultPinnedDeviceMemoryLimit="1Gi\nLD_PRELOAD=/evil"), "defaultPinnedDeviceMemoryLimit"),
}


def test_what_was_allocated_by_hand_is_not_prepared(victim: Victim) -> None:
    victim.api.create(claim("holder", victim.gpus.partition("1g.5gb")), pod("holder", "holder"))
    victim.api.wait_running("holder")
    like = victim.api.get(RESOURCE_CLAIMS, "holder")["status"]["allocation"]
    specs = _files(victim)
    for name, (change, why) in _BY_HAND.items():
        _bound_pod(victim, name, change, like)
        victim.api.wait_event(name, "FailedPrepareDynamicResources", containing=why)
        assert victim.api.get(PODS, name)["status"]["phase"] == "Pending"
    assert _files(victim) == specs
    for name in ("holder", *_BY_HAND):
        victim.api.delete(PODS, name)
    victim.api.wait_gone(PODS, ["holder", *_BY_HAND])


def _for_an_administrator(allocation: Object) -> None:
    allocation["devices"]["results"][0]["adminAccess"] = True


def _none_of_the_administrators(allocation: Object) -> None:
    del allocation["devices"]["results"][0]["adminAccess"]


def test_a_claim_that_was_prepared_and_allocated_anew_by_hand_is_judged_anew(victim: Victim) -> None:
    """One that only watched the device of another claim has it for itself now, as far as the claim says."""
    victim.api.patch(NAMESPACES, "default", {"metadata": {"labels": _ADMIN}})
    victim.api.create(claim("holder", victim.gpus.partition("1g.5gb")), pod("holder", "holder"))
    victim.api.wait_running("holder")
    like = victim.api.get(RESOURCE_CLAIMS, "holder")["status"]["allocation"]
    _bound_pod(victim, "watcher", _for_an_administrator, like)
    victim.api.wait_running("watcher")
    specs, status = _files(victim), victim.api.get(RESOURCE_CLAIMS, "watcher")["status"]
    watching = copy.deepcopy(status["allocation"])
    _none_of_the_administrators(status["allocation"])
    _write_status(victim, "watcher", {})
    _write_status(victim, "watcher", status)

    uid = victim.api.get(RESOURCE_CLAIMS, "watcher")["metadata"]["uid"]
    asked = dra_v1_pb2.Claim(namespace="default", name="watcher", uid=uid)
    body = dra_v1_pb2.NodePrepareResourcesRequest(claims=[asked]).SerializeToString()
    answer = dra_v1_pb2.NodePrepareResourcesResponse.FromString(_call(victim, _METHODS[0], body))
    assert "is already prepared for claim default/holder" in answer.claims[uid].error
    assert _files(victim) == specs

    _write_status(victim, "watcher", {})
    _write_status(victim, "watcher", {**status, "allocation": watching})
    for name in ("holder", "watcher"):
        victim.api.delete(PODS, name)
    victim.api.wait_gone(PODS, ["holder", "watcher"])


def _write_status(victim: Victim, name: str, status: Object) -> None:
    victim.api.replace({**victim.api.get(RESOURCE_CLAIMS, name), "status": status}, subresource="status")
