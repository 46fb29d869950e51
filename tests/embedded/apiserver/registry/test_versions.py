"""Older versions of resource.k8s.io show the objects of v1, in the form and with the warnings of kube-apiserver.

What a kube-apiserver read in each version of what was written in any is replayed by endpoints/test_exchanges.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import aiohttp
import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Invalid, NotFound
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.registry import conversion
from tests.vectors.replay import RUNTIME_CONFIG

BOUND = 30.0
TOKEN = "of-the-tests"
OLDER = ("v1beta2", "v1beta1", "v1alpha3")
SLICES = {version: resources.RESOURCE_SLICES.in_version(version) for version in ("v1", "v1beta2", "v1beta1")}
CLAIMS = {version: resources.RESOURCE_CLAIMS.in_version(version) for version in ("v1", "v1beta2", "v1beta1")}
RULES = {version: resources.DEVICE_TAINT_RULES.in_version(version) for version in ("v1", "v1beta2", "v1alpha3")}


@asynccontextmanager
async def serving(runtime_config: Mapping[str, str], gates: FeatureGates | None = None) -> AsyncIterator[Connection]:
    config = ServerConfig(token=TOKEN, runtime_config=runtime_config, gates=gates or FeatureGates())
    async with Server(config) as server, Connection(server.url, token=TOKEN) as connection:
        yield connection


@pytest.fixture
async def versions() -> AsyncIterator[Connection]:
    """A client of a server of all versions."""
    async with serving(RUNTIME_CONFIG) as connection:
        yield connection


def slice_of(name: str, *devices: Object) -> Object:
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    return {
        "metadata": {"name": name},
        "spec": {"driver": "gpu.example.com", "pool": pool, "nodeName": "node-1", "devices": list(devices)},
    }


def claim_of(name: str, request: Object) -> Object:
    return {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}


@pytest.mark.parametrize(
    ("runtime_config", "served"),
    [
        pytest.param({}, ["v1"], id="none but v1 by default"),
        pytest.param({"resource.k8s.io/v1beta1": "true"}, ["v1", "v1beta1"], id="one"),
        pytest.param(RUNTIME_CONFIG, ["v1", "v1beta2", "v1beta1", "v1alpha3"], id="all, by name"),
        pytest.param({"api/beta": "true"}, ["v1", "v1beta2", "v1beta1"], id="all beta versions"),
        pytest.param(
            {"api/all": "true", "resource.k8s.io/v1beta2": "false"}, ["v1", "v1beta1", "v1alpha3"], id="all but one"
        ),
    ],
)
async def test_served_versions_follow_the_runtime_configuration(
    runtime_config: dict[str, str], served: list[str]
) -> None:
    async with serving(runtime_config) as connection:
        group = await connection.json("GET", "/apis/resource.k8s.io")
        assert [entry["version"] for entry in group["versions"]] == served
        assert group["preferredVersion"]["version"] == "v1"
        for version in {"v1beta1", "v1beta2"} - set(served):
            with pytest.raises(NotFound):
                await connection.list(SLICES[version])


async def test_each_version_has_its_kinds(versions: Connection) -> None:
    kinds = {}
    for version in OLDER:
        listed = await versions.json("GET", f"/apis/resource.k8s.io/{version}")
        kinds[version] = [resource["name"] for resource in listed["resources"]]
    assert kinds == {
        "v1beta2": [
            "deviceclasses",
            "devicetaintrules",
            "devicetaintrules/status",
            "resourceclaims",
            "resourceclaims/status",
            "resourceclaimtemplates",
            "resourceslices",
        ],
        "v1beta1": [
            "deviceclasses",
            "resourceclaims",
            "resourceclaims/status",
            "resourceclaimtemplates",
            "resourceslices",
        ],
        "v1alpha3": [
            "devicetaintrules",
            "devicetaintrules/status",
            "resourcepoolstatusrequests",
            "resourcepoolstatusrequests/status",
        ],
    }


async def test_a_watch_in_v1beta1_sees_what_is_written_in_v1(versions: Connection) -> None:
    start = (await versions.list(SLICES["v1beta1"]))["metadata"]["resourceVersion"]
    attributes = {"model": {"string": "A100"}}
    made = await versions.create(SLICES["v1"], slice_of("s", {"name": "gpu-0", "attributes": attributes}))
    await versions.replace(SLICES["v1"], {**made, "spec": {**made["spec"], "devices": [{"name": "gpu-1"}]}})
    await versions.delete(SLICES["v1"], "s")
    seen: list[tuple[str, str, list[Object]]] = []
    watch = versions.watch(SLICES["v1beta1"], resource_version=start)
    async with asyncio.timeout(BOUND), aclosing(watch):
        async for event in watch:
            obj = event["object"]
            seen.append((event["type"], obj["apiVersion"], obj["spec"]["devices"]))
            if event["type"] == "DELETED":
                break
    assert seen == [
        ("ADDED", "resource.k8s.io/v1beta1", [{"name": "gpu-0", "basic": {"attributes": attributes}}]),
        ("MODIFIED", "resource.k8s.io/v1beta1", [{"name": "gpu-1", "basic": {}}]),
        ("DELETED", "resource.k8s.io/v1beta1", [{"name": "gpu-1", "basic": {}}]),
    ]


async def test_lists_and_field_selectors(versions: Connection) -> None:
    await versions.create(SLICES["v1beta1"], slice_of("a", {"name": "gpu-0", "basic": {}}))
    for version, slices in SLICES.items():
        found = await versions.list(slices, field_selector="spec.nodeName=node-1,spec.driver=gpu.example.com")
        assert (found["kind"], found["apiVersion"]) == ("ResourceSliceList", f"resource.k8s.io/{version}")
        (item,) = found["items"]
        assert item["spec"]["devices"] == [
            {"name": "gpu-0", "basic": {}} if version == "v1beta1" else {"name": "gpu-0"}
        ]
        assert not (await versions.list(slices, field_selector="spec.nodeName=node-2"))["items"]


SHARED = {"spec": {"devices": [{"name": "gpu-0", "basic": {"allowMultipleAllocations": True}}]}}
OPERATION = {"op": "add", "path": "/spec/devices/0/basic/allowMultipleAllocations", "value": True}


@pytest.mark.parametrize(
    ("kind", "patch"), [("merge-patch", SHARED), ("strategic-merge-patch", SHARED), ("json-patch", [OPERATION])]
)
async def test_patches_are_of_the_form_of_their_version(versions: Connection, kind: str, patch: Any) -> None:
    await versions.create(SLICES["v1"], slice_of("s", {"name": "gpu-0"}))
    where = SLICES["v1beta1"].path(name="s")
    patched = await versions.json("PATCH", where, patch, content_type=f"application/{kind}+json")
    assert patched["spec"]["devices"] == [{"name": "gpu-0", "basic": {"allowMultipleAllocations": True}}]
    stored = await versions.get(SLICES["v1"], "s")
    assert stored["spec"]["devices"] == [{"name": "gpu-0", "allowMultipleAllocations": True}]
    assert stored["metadata"]["generation"] == 2


async def test_apply_in_one_version_after_another(versions: Connection) -> None:
    """A field that the manager no longer applies goes away, in whichever version it was applied."""
    wanted = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceSlice", **slice_of("s")}
    wanted["spec"]["devices"] = [{"name": "gpu-0", "basic": {"attributes": {"a": {"int": 1}}}}]
    wanted["metadata"] |= {"name": "s", "labels": {"x": "y"}}
    params = {"fieldManager": "tests"}
    made = await versions.patch(SLICES["v1beta1"], "s", wanted, patch_type="apply", params=params)
    assert made["spec"]["devices"] == wanted["spec"]["devices"]
    newer = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", **slice_of("s", {"name": "gpu-1"})}
    newer["metadata"]["name"] = "s"
    now = await versions.patch(SLICES["v1"], "s", newer, patch_type="apply", params=params)
    assert now["spec"]["devices"] == [{"name": "gpu-1"}]
    assert "labels" not in now["metadata"]
    assert [entry["apiVersion"] for entry in now["metadata"]["managedFields"]] == ["resource.k8s.io/v1"]


async def test_a_claim_is_updated_in_v1beta1_and_its_status_too(versions: Connection) -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    await versions.create(CLAIMS["v1"], claim_of("c", request), "default")
    read = await versions.get(CLAIMS["v1beta1"], "c", "default")
    flat = {"name": "gpu", "deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1}
    assert read["spec"]["devices"]["requests"] == [flat]
    labelled = {**read, "metadata": {**read["metadata"], "labels": {"x": "y"}}}
    labelled = await versions.replace(CLAIMS["v1beta1"], labelled, "default")
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
    allocated = {**labelled, "status": {"allocation": {"devices": {"results": [result]}}}}
    answer = await versions.replace_status(CLAIMS["v1beta1"], allocated, "default")
    assert (answer["apiVersion"], answer["spec"]) == ("resource.k8s.io/v1beta1", read["spec"])
    stored = await versions.get(CLAIMS["v1"], "c", "default")
    assert stored["metadata"]["labels"] == {"x": "y"}
    assert stored["status"]["allocation"]["devices"]["results"] == [result]
    assert stored["spec"]["devices"]["requests"][0]["exactly"] == {
        "deviceClassName": "gpu.example.com",
        "allocationMode": "ExactCount",
        "count": 1,
    }


async def test_the_spec_of_a_claim_stays_immutable(versions: Connection) -> None:
    request = {"name": "gpu", "deviceClassName": "gpu.example.com"}
    made = await versions.create(CLAIMS["v1beta1"], claim_of("c", request), "default")
    made["spec"]["devices"]["requests"][0]["count"] = 2
    with pytest.raises(Invalid, match="spec: Invalid value"):
        await versions.replace(CLAIMS["v1beta1"], made, "default")


async def test_taint_rules_in_v1alpha3(versions: Connection) -> None:
    rule = {"metadata": {"name": "r"}, "spec": {"taint": {"key": "k", "effect": "NoSchedule"}}}
    made = await versions.create(RULES["v1alpha3"], rule)
    assert made["apiVersion"] == "resource.k8s.io/v1alpha3"
    for version, rules in RULES.items():
        read = await versions.get(rules, "r")
        assert (read["apiVersion"], read["spec"]) == (f"resource.k8s.io/{version}", made["spec"])


MISTAKES = [
    pytest.param(
        claim_of("c", {"name": "r", "exactly": {"deviceClassName": "gpu"}}),
        'ResourceClaim in version "v1beta1" cannot be handled as a ResourceClaim: strict decoding error: '
        'unknown field "spec.devices.requests[0].exactly"',
        id="a field of v1",
    ),
    pytest.param(
        claim_of("c", {"name": "r", "count": "1"}),
        'ResourceClaim in version "v1beta1" cannot be handled as a ResourceClaim: json: cannot unmarshal string into '
        "Go struct field DeviceRequest.spec.devices.requests.count of type int64",
        id="a wrong type",
    ),
]


@pytest.mark.parametrize(("claim", "message"), MISTAKES)
async def test_bodies_are_decoded_by_the_types_of_their_version(
    versions: Connection, claim: Object, message: str
) -> None:
    where = CLAIMS["v1beta1"].path("default")
    typed = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", **claim}
    with pytest.raises(ApiError) as refused:
        await versions.json("POST", where, typed, params={"fieldValidation": "Strict"})
    assert (refused.value.code, refused.value.message) == (400, message)


async def test_the_version_of_the_body_is_that_of_the_path(versions: Connection) -> None:
    typed = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", **slice_of("s")}
    with pytest.raises(ApiError, match="does not match the expected API version"):
        await versions.json("POST", SLICES["v1beta1"].path(), typed)


@pytest.mark.parametrize(
    ("method", "where", "code"),
    [("GET", "", 200), ("GET", "/s", 200), ("GET", "/missing", 404), ("DELETE", "/s", 200), ("POST", "", 415)],
)
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_every_answer_warns_of_a_deprecated_version(
    versions: Connection, method: str, where: str, code: int, version: str
) -> None:
    await versions.create(SLICES["v1"], slice_of("s", {"name": "gpu-0"}))
    authorized = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        aiohttp.ClientSession(versions.server) as session,
        session.request(method, SLICES[version].path() + where, headers=authorized) as response,
    ):
        assert response.status == code
        expected = '299 - "resource.k8s.io/v1beta1 ResourceSlice is deprecated in v1.35+, unavailable in v1.38+"'
        assert response.headers.get("Warning") == (expected if version == "v1beta1" else None)


async def test_taint_rules_of_v1beta2_are_not_deprecated(versions: Connection) -> None:
    authorized = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        aiohttp.ClientSession(versions.server) as session,
        session.get(RULES["v1beta2"].path(), headers=authorized) as response,
    ):
        assert response.status == 200
        assert "Warning" not in response.headers


TAINT_RULES = {"1.34": ["v1alpha3"], "1.35": ["v1alpha3"], "1.36": ["v1beta2", "v1alpha3"], "1.37": list(RULES)}


@pytest.mark.parametrize("emulated", TAINT_RULES)
async def test_a_kind_is_served_in_the_versions_that_the_emulated_release_had(emulated: str) -> None:
    async with serving(RUNTIME_CONFIG, FeatureGates(emulated)) as connection:
        served = []
        for version, rules in RULES.items():
            listed = (await connection.json("GET", f"/apis/resource.k8s.io/{version}"))["resources"]
            if "devicetaintrules" in {resource["name"] for resource in listed}:
                await connection.list(rules)
                served.append(version)
            else:
                with pytest.raises(NotFound, match="the server could not find the requested resource"):
                    await connection.list(rules)
    assert served == TAINT_RULES[emulated]


async def test_older_versions_are_encoded_only_when_somebody_asks(
    versions: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for each object and version; v1beta2 looks like v1 and is made of the same bytes."""
    encoded: list[Object] = []
    encode = conversion.encode

    def counting(obj: Object) -> bytes:
        encoded.append(obj)
        return encode(obj)

    monkeypatch.setattr(conversion, "encode", counting)
    await versions.create(SLICES["v1"], slice_of("s", {"name": "gpu-0"}))
    for slices in (SLICES["v1"], SLICES["v1beta2"]):
        await versions.get(slices, "s")
        await versions.list(slices)
    assert not encoded
    for _ in range(3):
        await versions.get(SLICES["v1beta1"], "s")
        await versions.list(SLICES["v1beta1"])
    assert len(encoded) == 1


async def test_slices_with_mixins_keep_them_in_every_version() -> None:
    """They exist behind the kit's own gate only, in no version of Kubernetes."""
    gates = FeatureGates("1.37", {"DRAResourceSliceMixins": True})
    body = slice_of("s", {"name": "gpu-0", "basic": {"includes": ["common"]}})
    body["spec"]["mixins"] = {"device": [{"name": "common", "attributes": {"model": {"string": "A100"}}}]}
    async with serving(RUNTIME_CONFIG, gates) as connection:
        await connection.create(SLICES["v1beta1"], body)
        newer = (await connection.get(SLICES["v1"], "s"))["spec"]
        assert newer["devices"] == [{"name": "gpu-0", "includes": ["common"]}]
        older = (await connection.get(SLICES["v1beta1"], "s"))["spec"]
        assert older["devices"] == [{"name": "gpu-0", "basic": {"includes": ["common"]}}]
        assert newer["mixins"] == older["mixins"] == body["spec"]["mixins"]
        body["spec"]["devices"] = ["gpu-0"]
        with pytest.raises(ApiError) as refused:
            await connection.create(SLICES["v1beta1"], body)
        assert refused.value.code == 400


@pytest.mark.slow
@pytest.mark.kubectl
@pytest.mark.parametrize("kubectl", [RUNTIME_CONFIG], indirect=True, ids=["older versions"])
async def test_kubectl_gets_a_version_by_name(kubectl: Any) -> None:
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", **slice_of("s", {"name": "gpu-0"})}
    await kubectl("create", "--filename=-", stdin=json.dumps(made))
    name = "resourceslices.v1beta1.resource.k8s.io"
    warning, _, got = (await kubectl("get", name, "s", "--output=json")).partition("\n")
    _, *table = (await kubectl("get", name)).splitlines()
    read = json.loads(got)
    assert read["apiVersion"] == "resource.k8s.io/v1beta1"
    assert read["spec"]["devices"] == [{"name": "gpu-0", "basic": {}}]
    assert "Warning: resource.k8s.io/v1beta1 ResourceSlice is deprecated" in warning
    assert [line.split()[:4] for line in table] == [
        ["NAME", "NODE", "DRIVER", "POOL"],
        ["s", "node-1", "gpu.example.com", "node-1"],
    ]
