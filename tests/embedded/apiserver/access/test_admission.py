"""What a cluster says of writes, whatever their kind: the plugins of the admission chains, in Kubernetes' words."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.identity.users import User

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
PODS = "/api/v1/namespaces/default/pods"


def priority_class(name: str, value: int, **fields: Any) -> Object:
    return {"metadata": {"name": name}, "value": value, **fields}


def pod(name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    metadata: Object = {"name": name, "annotations": annotations} if annotations else {"name": name}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "busybox"}], **spec}}


async def test_a_pod_without_a_class_has_the_default_one(connection: Connection) -> None:
    await connection.json("POST", CLASSES, priority_class("usual", 7, globalDefault=True, preemptionPolicy="Never"))
    made = await connection.json("POST", PODS, pod("p"))
    assert [made["spec"][key] for key in ("priorityClassName", "priority", "preemptionPolicy")] == ["usual", 7, "Never"]


async def test_there_is_one_default_class(connection: Connection) -> None:
    await connection.json("POST", CLASSES, priority_class("usual", 7, globalDefault=True))
    with pytest.raises(ApiError) as refused:
        await connection.json("POST", CLASSES, priority_class("other", 8, globalDefault=True))
    assert refused.value.message == (
        'priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass usual is already marked as default. '
        "Only one default can exist"
    )


MIRROR = {"kubernetes.io/config.mirror": "x"}
REFUSED_PODS: dict[str, tuple[Object, str]] = {
    "a priority of its own": (
        pod("p", priority=3),
        "the integer value of priority (3) must not be provided in pod spec; priority admission controller computed 0 "
        "from the given PriorityClass name",
    ),
    "a preemption policy of its own": (
        pod("p", preemptionPolicy="Never"),
        "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller "
        "computed PreemptLowerPriority from the given PriorityClass name",
    ),
    "a class that is not there": (pod("p", priorityClassName="none"), "no PriorityClass with name none was found"),
    "an account that is not there": (
        pod("p", serviceAccountName="none"),
        'error looking up service account default/none: serviceaccount "none" not found',
    ),
    "a mirror pod with an account": (
        pod("p", MIRROR, serviceAccountName="default"),
        "a mirror pod may not reference service accounts",
    ),
    "a mirror pod with a secret in a volume": (
        pod("p", MIRROR, volumes=[{"name": "v", "secret": {"secretName": "s"}}]),
        "a mirror pod may not reference secrets",
    ),
    "a mirror pod with a secret for pulling": (
        pod("p", MIRROR, imagePullSecrets=[{"name": "s"}]),
        "a mirror pod may not reference secrets",
    ),
    "a mirror pod with a token": (
        pod("p", MIRROR, volumes=[{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]),
        "a mirror pod may not use ServiceAccountToken volume projections",
    ),
}


@pytest.mark.parametrize("what", REFUSED_PODS)
async def test_refused_pods(connection: Connection, what: str) -> None:
    body, why = REFUSED_PODS[what]
    with pytest.raises(ApiError) as refused:
        await connection.json("POST", PODS, body)
    assert (refused.value.code, refused.value.message) == (403, f'pods "p" is forbidden: {why}')


TOKENS = "/var/run/secrets/kubernetes.io/serviceaccount"
# Volumes that a pod has already, and the one with its token that its container mounts then (of a random name: "").
TOKEN_VOLUMES = {
    "none": ((), ""),
    "one of such a name": (("kube-api-access-x",), "kube-api-access-x"),
    "several": (("a", "kube-api-access-x", "kube-api-access-y"), "kube-api-access-x"),
    "one of a similar name": (("kube-api-accessx",), ""),
}


@pytest.mark.parametrize("what", TOKEN_VOLUMES)
async def test_a_volume_with_a_token_that_is_there_is_the_one(connection: Connection, what: str) -> None:
    """Else a pod that is made anew from its own description would have one more each time."""
    there, mounted = TOKEN_VOLUMES[what]
    volumes = [{"name": name, "emptyDir": {}} for name in there]
    spec = (await connection.json("POST", PODS, pod("p", volumes=volumes)))["spec"]
    mounts = spec["containers"][0]["volumeMounts"]
    assert [mount["mountPath"] for mount in mounts] == [TOKENS]
    added = [volume["name"] for volume in spec["volumes"]][len(there) :]
    assert added == ([] if mounted else [mounts[0]["name"]])
    assert mounts[0]["name"] == mounted or mounts[0]["name"] in added


async def test_a_class_stays_what_it_is(connection: Connection) -> None:
    await connection.json("POST", CLASSES, priority_class("usual", 7))
    for change, why in (
        ({"value": 8}, "value: Forbidden: may not be changed in an update."),
        ({"preemptionPolicy": "Never"}, 'preemptionPolicy: Invalid value: "Never": field is immutable'),
    ):
        with pytest.raises(ApiError) as refused:
            await connection.json("PUT", f"{CLASSES}/usual", {**priority_class("usual", 7), **change})
        assert refused.value.message == f'PriorityClass.scheduling.k8s.io "usual" is invalid: {why}'


RBAC = "/apis/rbac.authorization.k8s.io/v1"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


async def grant(admin: Connection, user: str, *rules: Object) -> None:
    """Let a user do what the rules say, everywhere."""
    await admin.json("POST", f"{RBAC}/clusterroles", {"metadata": {"name": user}, "rules": list(rules)})
    group = "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": user}
    subjects = [{"apiGroup": group, "kind": "User", "name": user}]
    binding = {"metadata": {"name": user}, "roleRef": role, "subjects": subjects}
    await admin.json("POST", f"{RBAC}/clusterrolebindings", binding)


def rule(group: str, resource: str, *verbs: str) -> Object:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


@pytest.mark.parametrize("on", [True, False])
async def test_an_allocation_needs_a_right_of_its_own(on: bool) -> None:
    """Behind DRAResourceClaimGranularStatusAuthorization: without the gate, who writes the status writes all of it."""
    gates = FeatureGates(overrides={"DRAResourceClaimGranularStatusAuthorization": on})
    users = {"of-carl": User("carl")}
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    result = {"request": "r", "driver": "d", "pool": "p", "device": "x"}
    status = {"allocation": {"devices": {"results": [result]}}}
    async with Server(ServerConfig(token="of-the-tests", users=users, gates=gates)) as server:
        async with Connection(server.url, token="of-the-tests") as admin:
            await grant(admin, "carl", rule("resource.k8s.io", "resourceclaims/status", "update"))
            made = await admin.json(
                "POST", CLAIMS, {"metadata": {"name": "a"}, "spec": {"devices": {"requests": [request]}}}
            )
        async with Connection(server.url, token="of-carl") as carl:
            writing = carl.json("PUT", f"{CLAIMS}/a/status", {**made, "status": status})
            if not on:
                assert (await writing)["status"]["allocation"]["devices"]["results"] == [result]
                return
            with pytest.raises(ApiError) as refused:
                await writing
    assert refused.value.message == (
        'ResourceClaim.resource.k8s.io "a" is invalid: status.allocation: Forbidden: changing status.allocation or '
        'status.reservedFor requires resource="resourceclaims/binding", verb="update" permission: '
        'resourceclaims.resource.k8s.io is forbidden: User "carl" cannot update resource "resourceclaims/binding" in '
        'API group "resource.k8s.io" at the cluster scope'
    )


async def test_who_may_update_may_not_always_create() -> None:
    async with Server(ServerConfig(token="of-the-tests", users={"of-uma": User("uma")})) as server:
        async with Connection(server.url, token="of-the-tests") as admin:
            await grant(admin, "uma", rule("coordination.k8s.io", "leases", "update", "patch"))
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {}}
        refusal = 'User "uma" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace'
        async with Connection(server.url, token="of-uma") as uma:
            with pytest.raises(ApiError, match=refusal):
                await uma.json("PUT", f"{LEASES}/a", body)
            with pytest.raises(ApiError, match=refusal):
                await uma.json(
                    "PATCH",
                    f"{LEASES}/a",
                    body,
                    params={"fieldManager": "m"},
                    content_type="application/apply-patch+yaml",
                )
