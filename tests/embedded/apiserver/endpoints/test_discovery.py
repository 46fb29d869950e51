"""What is served is what kube-apiserver 1.37.1 serves at each version that it can emulate, and says so in its words.

Clients such as kube-controller-manager list all of it at start. ``vectors/api/discovery.jsonl.gz`` has the real
server's answers with the older versions of resource.k8s.io switched on, one line for each emulated version.
"""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.about.discovery import AGGREGATED
from drakit_embedded.certificates import self_signed
from tests.embedded import not_served
from tests.vectors.exchanges import recorded
from tests.vectors.replay import RUNTIME_CONFIG

VERSIONS = {line["emulated"]: line for line in recorded("discovery")}


@pytest.fixture(scope="module", params=VERSIONS)
def real(request: pytest.FixtureRequest) -> Object:
    """What the real server said at one emulated version."""
    return VERSIONS[request.param]


async def _ask(real: Object, *paths: str, accept: str = "application/json") -> list[Any]:
    config = ServerConfig(token="t", gates=FeatureGates(real["emulated"]), runtime_config=RUNTIME_CONFIG)
    headers = {"Authorization": "Bearer t", "Accept": accept}
    found = []
    async with Server(config) as server, aiohttp.ClientSession(server.url, headers=headers) as session:
        for path in paths:
            async with session.get(path) as response:
                found.append(await response.json(content_type=None))
    return found


def _served(resource: Object) -> bool:
    plural, _, below = resource["name"].partition("/")
    return below not in not_served.BELOW.get(plural, ())


def _limited(resource: Object, name: str = "name") -> Object:
    """As it is here: what only the server itself writes can only be read."""
    plural, _, below = resource[name].partition("/")
    if plural not in not_served.READ_ONLY:
        return resource
    return {**resource, "verbs": ["get"] if below else not_served.READ_ONLY_VERBS}


async def test_groups_and_their_versions_stand_in_the_same_order(real: Object) -> None:
    assert (await _ask(real, "/apis"))[0]["groups"] == real["groups"]


async def test_every_resource_is_served_with_its_names_verbs_and_storage_version_but_those_documented(
    real: Object,
) -> None:
    lists = real["resources"]
    answers = await _ask(real, *(f"/{'apis' if '/' in version else 'api'}/{version}" for version in lists))
    for (version, expected), answer in zip(lists.items(), answers, strict=True):
        assert answer["groupVersion"] == version
        assert answer["resources"] == [_limited(resource) for resource in expected if _served(resource)]


async def test_the_aggregated_form_says_the_same(real: Object) -> None:
    for path, answer in zip(("/api", "/apis"), await _ask(real, "/api", "/apis", accept=AGGREGATED), strict=True):
        assert answer == {**real["aggregated"][path], "items": _aggregated(real["aggregated"][path]["items"])}


def _aggregated(groups: list[Object]) -> list[Object]:
    """What is expected of the groups that the real server has."""
    found = []
    for group in groups:
        versions = [
            {**version, "resources": list(map(_aggregated_resource, version["resources"]))}
            for version in group["versions"]
        ]
        found.append({**group, "versions": versions})
    return found


def _aggregated_resource(resource: Object) -> Object:
    plural = resource["resource"]
    left_out = not_served.BELOW.get(plural, set())
    below = [entry for entry in resource.get("subresources", ()) if entry["subresource"] not in left_out]
    if plural in not_served.READ_ONLY:
        below = [{**entry, "verbs": ["get"]} for entry in below]
    limited = _limited(resource, "resource")
    return {**limited, "subresources": below} if below else {k: v for k, v in limited.items() if k != "subresources"}


async def test_the_version_is_that_of_the_program_beside_what_it_emulates(real: Object) -> None:
    assert (await _ask(real, "/version"))[0].items() >= real["version"].items()


async def test_each_version_has_its_api_service(real: Object) -> None:
    listed, groups = await _ask(real, "/apis/apiregistration.k8s.io/v1/apiservices", "/apis")
    served = {f"{entry['version']}.{group['name']}" for group in groups["groups"] for entry in group["versions"]}
    assert {item["metadata"]["name"] for item in listed["items"]} == served - {"v1.apiregistration.k8s.io"} | {"v1."}
    assert {item["status"]["conditions"][0]["reason"] for item in listed["items"]} == {"Local"}


async def test_what_was_served_before_a_restart_has_no_api_service_after_it(tmp_path: Any) -> None:
    path, names = "/apis/apiregistration.k8s.io/v1/apiservices", []
    for runtime_config in (RUNTIME_CONFIG, {}):
        config = ServerConfig(token="t", data_file=tmp_path / "store", runtime_config=runtime_config)
        async with Server(config) as server, Connection(server.url, token="t") as connection:
            names.append({item["metadata"]["name"] for item in (await connection.json("GET", path))["items"]})
    assert names[0] - names[1] == {f"{key.partition('/')[2]}.resource.k8s.io" for key in RUNTIME_CONFIG}


@pytest.mark.parametrize("plural", not_served.READ_ONLY)
async def test_what_the_server_alone_writes_cannot_be_written(plural: str) -> None:
    async with Server(ServerConfig(token="t")) as server, Connection(server.url, token="t") as connection:
        with pytest.raises(ApiError) as refused:
            await connection.json("POST", f"/apis/{not_served.READ_ONLY[plural]}/{plural}", {"metadata": {"name": "a"}})
    assert refused.value.code == 405


async def test_aggregated_discovery_is_not_sent_again_to_whom_has_it() -> None:
    async with Server(ServerConfig(token="t")) as server:
        headers = {"Authorization": "Bearer t", "Accept": AGGREGATED}
        async with aiohttp.ClientSession(server.url, headers=headers) as session:
            async with session.get("/apis") as first:
                tag = first.headers["ETag"]
                assert (first.headers["Cache-Control"], first.headers["Vary"]) == ("public", "Accept")
            async with session.get("/apis", headers={"If-None-Match": tag}) as second:
                assert (second.status, await second.read(), second.headers["ETag"]) == (304, b"", tag)
            async with session.get("/apis", headers={"If-None-Match": '"other"'}) as third:
                assert third.status == 200


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("certificatesigningrequests", ["spec.signerName"]),
        ("clustertrustbundles", ["spec.signerName"]),
        ("podcertificaterequests", ["spec.signerName", "spec.podName", "spec.nodeName"]),
    ],
)
async def test_certificates_are_selected_as_kube_controller_manager_does(path: str, fields: list[str]) -> None:
    """Selectable fields after k8s.io/kubernetes/pkg/apis/certificates/v1/conversion.go."""
    async with Server(ServerConfig(token="t")) as server, Connection(server.url, token="t") as connection:
        for field in fields:
            listed = await connection.json(
                "GET", f"/apis/certificates.k8s.io/v1/{path}", params={"fieldSelector": f"{field}=a.example/b"}
            )
            assert listed["items"] == []
        with pytest.raises(ApiError, match=r"spec\.request"):
            await connection.json(
                "GET", f"/apis/certificates.k8s.io/v1/{path}", params={"fieldSelector": "spec.request=x"}
            )


async def test_a_trust_bundle_is_named_after_its_signer() -> None:
    """As kube-controller-manager publishes that of the API server's serving certificates."""
    signer = "kubernetes.io/kube-apiserver-serving"
    name = f"{signer.replace('/', ':')}:86a009932a7e0acd"
    bundle = {"metadata": {"name": name}, "spec": {"signerName": signer, "trustBundle": ""}}
    async with Server(ServerConfig(token="t")) as server, Connection(server.url, token="t") as connection:
        bundle["spec"]["trustBundle"] = self_signed("127.0.0.1", None)[1].decode()
        path = "/apis/certificates.k8s.io/v1/clustertrustbundles"
        await connection.json("POST", path, bundle)
        listed = await connection.json("GET", path, params={"fieldSelector": f"spec.signerName={signer}"})
        assert [item["metadata"]["name"] for item in listed["items"]] == [name]
