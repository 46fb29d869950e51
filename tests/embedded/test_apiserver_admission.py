"""What a cluster says of writes, whatever their kind: the plugins of the admission chains, in Kubernetes' words."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_client.connection import Connection
from drakit_client.errors import ApiError

Object = dict[str, Any]
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
