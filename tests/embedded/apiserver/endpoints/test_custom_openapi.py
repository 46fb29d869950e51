"""The OpenAPI documents of custom resources are those of kube-apiserver 1.37.1, descriptions and all.

``vectors/api/custom-openapi.jsonl.gz`` has a line for each definition: the ``definition`` as it is stored, and what the
documents of both versions (``v2``, ``v3`` by path) say of its resource.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import pytest
from aiohttp.test_utils import make_mocked_request

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.about.openapi import contents, gnostic, paths
from drakit_embedded.apiserver.about.openapi.documents import Documents
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.scheme import definitions
from drakit_embedded.apiserver.storage.store import Store
from tests.vectors.documents import custom_swagger, without_native, without_options
from tests.vectors.exchanges import recorded

LINES = {line["definition"]["metadata"]["name"]: line for line in recorded("custom-openapi")}
MANY = LINES["manys.c.example.com"]["definition"]
V1, V1BETA1 = "apis/c.example.com/v1", "apis/c.example.com/v1beta1"


def catalog_of(*found: Object) -> Catalog:
    catalog = Catalog(Store(), FeatureGates(), {})
    for definition in found:
        serve(catalog, definition)
    return catalog


def serve(catalog: Catalog, definition: Object) -> None:
    read = definitions.read(definition)
    assert read is not None
    catalog.serve(read)


@pytest.mark.parametrize("name", LINES)
def test_version_3_says_what_the_real_server_says(name: str) -> None:
    found = contents.of(catalog_of(LINES[name]["definition"]))
    for path, expected in LINES[name]["v3"].items():
        assert without_native(found[path].make()) == expected, path


@pytest.mark.slow
def test_version_2_says_what_the_real_server_says() -> None:
    found = contents.of(catalog_of(*(line["definition"] for line in LINES.values())))["v2"].make()
    for name, line in LINES.items():
        assert custom_swagger(found, line["definition"]) == line["v2"], name
    assert gnostic.encode(found)


@pytest.mark.slow
def test_what_kubernetes_serves_itself_is_described_as_before() -> None:
    before = contents.of(catalog_of())
    after = contents.of(catalog_of(*(line["definition"] for line in LINES.values())))
    assert {path: content.essence for path, content in after.items() if path in before and path != "v2"} == {
        path: content.essence for path, content in before.items() if path != "v2"
    }
    own, everything = before["v2"].make(), after["v2"].make()
    assert own["paths"].items() <= everything["paths"].items()
    assert without_options(own["definitions"]).items() <= without_options(everything["definitions"]).items()


def test_there_is_no_document_of_a_version_that_is_not_served() -> None:
    found = contents.of(catalog_of(MANY))
    assert {path for path in found if "example" in path} == {V1, V1BETA1}


async def tags(documents: Documents) -> dict[str, str]:
    """The hash of each document in the index of version 3."""
    index = await documents.answer(make_mocked_request("GET", "/openapi/v3"), ["v3"], "")
    assert index is not None
    assert isinstance(index.body, bytes)
    listed = json.loads(index.body)["paths"]
    return {path: entry["serverRelativeURL"].partition("?hash=")[2] for path, entry in listed.items()}


def described(definition: Object) -> None:
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "other words"


def shown(definition: Object) -> None:
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = [{"name": "A", "type": "string", "jsonPath": ".a"}]


def scaled(definition: Object) -> None:
    scale = {"specReplicasPath": ".spec.b", "statusReplicasPath": ".status.b"}
    definition["spec"]["versions"][0]["subresources"] = {"scale": scale}


def selected_otherwise(definition: Object) -> None:
    definition["spec"]["versions"][0]["selectableFields"].pop()


def withdrawn(definition: Object) -> None:
    definition["spec"]["versions"][1]["served"] = False


@pytest.mark.parametrize(
    ("change", "changed"),
    [(described, {V1}), (shown, set()), (scaled, {V1}), (selected_otherwise, {V1}), (withdrawn, {V1BETA1})],
)
async def test_a_document_has_another_hash_when_it_says_something_else(
    change: Callable[[Object], None], changed: set[str]
) -> None:
    catalog = catalog_of(MANY)
    documents = Documents(catalog)
    before = await tags(documents)
    assert before == await tags(Documents(catalog_of(MANY))), "a restart changes nothing"
    definition = copy.deepcopy(MANY)
    change(definition)
    serve(catalog, definition)
    after = await tags(documents)
    assert {path for path in before if before[path] != after.get(path)} == changed


async def test_a_document_is_gone_with_its_definition() -> None:
    catalog = catalog_of(MANY)
    documents = Documents(catalog)
    assert V1 in await tags(documents)
    catalog.withdraw(MANY["metadata"]["name"])
    gone = await documents.answer(make_mocked_request("GET", "/"), ["v3", *V1.split("/")], "")
    assert gone is not None
    assert gone.status == 404


@pytest.mark.parametrize(
    ("group", "tag", "name"),
    [
        ("", "core_v1", "CoreV1"),
        ("rbac.authorization.k8s.io", "rbacAuthorization_v1", "RbacAuthorizationV1"),
        ("my-group.x--y.example.com", "myGroupXYExampleCom_v1", "MyGroupXYExampleComV1"),
        ("3scale.net", "ScaleNet_v1", "ScaleNetV1"),
    ],
)
def test_a_group_in_names_of_operations(group: str, tag: str, name: str) -> None:
    assert (paths.tag_of(group, "v1"), paths.camel(group, "v1")) == (tag, name)
