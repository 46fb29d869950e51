"""Bodies are read by the Go types of their kind: unknown fields and wrong types, in every group."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_client.resources import CONFIG_MAPS, DEPLOYMENTS, LEASES, PODS, SECRETS, Resource
from drakit_embedded.apiserver.scheme import kinds, structures

CONTAINER = {"name": "c", "image": "i"}


def pod(container: Object | None = None, **spec: Any) -> Object:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{**CONTAINER, **(container or {})}], **spec}}


def deployment(**spec: Any) -> Object:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}}


REFUSED = {
    "a typo": (
        PODS,
        pod({"imagePullPolicie": "Never"}, dnsPolcy="x"),
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field '
        '"spec.containers[0].imagePullPolicie", unknown field "spec.dnsPolcy"',
    ),
    "a number where text belongs": (
        PODS,
        pod({"env": [{"name": "A", "value": 1}]}),
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field '
        "EnvVar.spec.containers.env.value of type string",
    ),
    "text where a number belongs": (
        DEPLOYMENTS,
        deployment(replicas="3"),
        'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go struct '
        "field DeploymentSpec.spec.replicas of type int32",
    ),
    "neither number nor text": (
        DEPLOYMENTS,
        deployment(strategy={"rollingUpdate": {"maxSurge": True}}),
        'Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal bool into Go struct '
        "field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
    ),
    "data that is not base64": (
        SECRETS,
        {"metadata": {"name": "s"}, "data": {"k": "a?=="}},
        'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 1',
    ),
    "labels that are a list": (
        CONFIG_MAPS,
        {"metadata": {"name": "c", "labels": ["a"]}},
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go struct field '
        "ObjectMeta.metadata.labels of type map[string]string",
    ),
    "a micro time without its fraction": (
        LEASES,
        {"metadata": {"name": "l"}, "spec": {"renewTime": "2026-01-01T00:00:00Z"}},
        'Lease in version "v1" cannot be handled as a Lease: parsing time "2026-01-01T00:00:00Z" as '
        '"2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    ),
}


@pytest.mark.parametrize(("resource", "body", "message"), REFUSED.values(), ids=REFUSED)
async def test_what_the_types_do_not_have_is_refused(
    connection: Connection, resource: Resource, body: Object, message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        await connection.json("POST", resource.path("default"), body, params={"fieldValidation": "Strict"})
    assert (refused.value.code, refused.value.message) == (400, message)
    assert not (await connection.list(resource, "default"))["items"]


@pytest.mark.parametrize(
    ("validation", "warnings"),
    [("", ['299 - "unknown field \\"spec.dnsPolcy\\""']), ("Ignore", [])],
    ids=["warned about", "ignored"],
)
async def test_unknown_fields_are_dropped_unless_strict(
    connection: Connection, session: aiohttp.ClientSession, validation: str, warnings: list[str]
) -> None:
    query = {"fieldValidation": validation}
    async with session.post(PODS.path("default"), json=pod(dnsPolcy="x"), params=query) as answer:
        assert answer.status == 201
        assert answer.headers.getall("Warning", []) == warnings
    assert "dnsPolcy" not in (await connection.get(PODS, "p", "default"))["spec"]


async def test_what_is_empty_is_left_out_where_the_types_leave_it_out(connection: Connection) -> None:
    empty = {"name": "c", "image": "i", "args": [], "env": [{"name": "A", "value": ""}], "resources": {"limits": {}}}
    made = await connection.create(PODS, pod(empty, nodeSelector={}, hostname=""), "default")
    assert not made["spec"].keys() & {"nodeSelector", "hostname"}
    container = made["spec"]["containers"][0]
    assert "args" not in container
    assert (container["env"], container["resources"]) == ([{"name": "A"}], {})


async def test_quantities_become_canonical(connection: Connection) -> None:
    resources = {"requests": {"cpu": 0.5, "memory": "1024Mi"}, "limits": {"cpu": "1000m"}}
    made = await connection.create(PODS, pod({"resources": resources}), "default")
    assert made["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi"},
        "limits": {"cpu": "1"},
    }


@pytest.mark.parametrize("kind", kinds.all_kinds(), ids=lambda kind: f"{kind.plural} {kind.api_version}")
def test_the_structure_of_every_stored_kind_is_known(kind: kinds.Kind) -> None:
    if not kind.is_review and not kind.is_read_only:
        types, struct = structures.types_of(kind)
        assert {field.name for field in types.flat_fields(struct)} >= {"kind", "apiVersion", "metadata"}
