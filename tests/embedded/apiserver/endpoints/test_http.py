"""The surface: credentials, paths, formats, selectors, discovery. What is malformed gets a Status and nothing else."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

import aiohttp
import msgspec
import pytest
from yarl import URL

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.reading import selectors
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Record, Store
from drakit_embedded.apiserver.wire.forms import negotiate

TOKEN = "secret"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


class Client:
    """Requests as they come, without a client's good manners."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url, self._session = url, session

    async def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str, Object]:
        """Code, content type, and the body (text as ``{"text": ...}``)."""
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Authorization": f"Bearer {TOKEN}", **names}
        async with self._session.request(method, self._url + path, data=body, headers=sent) as response:
            raw = await response.read()
            kind = response.headers["Content-Type"].partition(";")[0]
            return response.status, kind, msgspec.json.decode(raw) if kind == "application/json" else {"text": raw}


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server(ServerConfig(token=TOKEN)) as running:
        yield running


@pytest.fixture
async def client(server: Server) -> AsyncIterator[Client]:
    timeout = aiohttp.ClientTimeout(total=10)
    async with aiohttp.ClientSession(timeout=timeout, skip_auto_headers=["Content-Type"]) as session:
        yield Client(server.url, session)


MALFORMED = [
    pytest.param("GET", "/apis/resource.k8s.io/v9/x", None, 404, "could not find the requested resource", id="version"),
    pytest.param("GET", "/apis/resource.k8s.io/v1/bogus", None, 404, "could not find the requested", id="resource"),
    pytest.param("GET", "/api/v1/namespaces/default/nodes", None, 404, "could not find", id="namespaced node"),
    pytest.param("GET", CONFIG_MAPS + "/a/status", None, 404, "could not find", id="no such subresource"),
    pytest.param("GET", CONFIG_MAPS + "/a/b/c/d", None, 404, "could not find", id="too deep"),
    pytest.param("POST", CONFIG_MAPS + "/a", "{}", 405, "does not allow this method", id="post to object"),
    pytest.param("PUT", CONFIG_MAPS, "{}", 405, "does not allow this method", id="put to collection"),
    pytest.param("TRACE", CONFIG_MAPS, None, 405, "does not allow this method", id="method"),
    pytest.param("POST", "/api/v1/configmaps", "{}", 405, "does not allow this method", id="post without namespace"),
    pytest.param("POST", CONFIG_MAPS, '{"a":', 400, "unexpected end of JSON input", id="json"),
    pytest.param("POST", CONFIG_MAPS, "[]", 400, "cannot unmarshal array", id="array"),
    pytest.param("POST", CONFIG_MAPS, "null", 422, "name or generateName is required", id="null"),
    pytest.param("POST", CONFIG_MAPS, b"\xff\xfe", 400, "invalid character 'ÿ' looking for beginning", id="bytes"),
    pytest.param("POST", CONFIG_MAPS, "[" * 100_000, 400, "json parse error", id="depth"),
    pytest.param("POST", CONFIG_MAPS, '{"metadata":[]}', 400, "cannot unmarshal array", id="metadata list"),
    pytest.param("POST", CONFIG_MAPS, '{"metadata":{"name":1}}', 400, "cannot unmarshal number", id="name number"),
    pytest.param("POST", CONFIG_MAPS, '{"metadata":{"name":"a"},"data":[]}', 400, "cannot unmarshal", id="data list"),
    pytest.param("POST", CONFIG_MAPS, '{"kind":["x"],"metadata":{"name":"a"}}', 400, "cannot", id="kind list"),
    pytest.param(
        "POST", CONFIG_MAPS, '{"kind":"Pod","apiVersion":"v1"}', 400, "cannot be handled as a ConfigMap", id="kind"
    ),
    pytest.param(
        "POST",
        CLAIMS,
        '{"apiVersion":"resource.k8s.io/v1beta1","kind":"ResourceClaim"}',
        400,
        "the API version in the data (resource.k8s.io/v1beta1) does not match the expected API version",
        id="apiVersion",
    ),
    pytest.param(
        "POST",
        CONFIG_MAPS,
        '{"metadata":{"name":"a","namespace":"other"}}',
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
        id="namespace",
    ),
    pytest.param("POST", CONFIG_MAPS + "?dryRun=Maybe", "{}", 422, "dryRun: Unsupported value", id="dryRun"),
    pytest.param(
        "POST", CONFIG_MAPS + "?fieldValidation=No", "{}", 422, "fieldValidation: Unsup", id="fieldValidation"
    ),
    pytest.param("GET", CONFIG_MAPS + "?limit=abc", None, 400, 'strconv.ParseInt: parsing "abc"', id="limit"),
    pytest.param("GET", CONFIG_MAPS + "?resourceVersion=abc", None, 400, "invalid resource version", id="version text"),
    pytest.param("GET", CONFIG_MAPS + "?limit=1&continue=zzz", None, 400, "invalid continue token", id="continue"),
    pytest.param("GET", CONFIG_MAPS + "?labelSelector=a%3D%3D%3Db", None, 400, "found '=', expected: id", id="labels"),
    pytest.param("GET", f"{CONFIG_MAPS}?labelSelector=a%3E{'9' * 5000}", None, 400, "must be an integer", id="bound"),
    pytest.param(
        "GET",
        CONFIG_MAPS + "?fieldSelector=spec.x%3D1",
        None,
        400,
        '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        id="fields",
    ),
    pytest.param(
        "GET", CONFIG_MAPS + "?resourceVersionMatch=Exact", None, 422, "unless resourceVersion is provided", id="match"
    ),
    pytest.param("DELETE", CONFIG_MAPS + "/a", '{"gracePeriodSeconds":"x"}', 400, "DeleteOptions", id="options"),
    pytest.param("POST", "/api/v1/namespaces/default/pods", '{"spec":[]}', 400, "cannot unmarshal", id="pod spec"),
    pytest.param(
        "POST", "/api/v1/namespaces/default/pods", '{"spec":{"containers":[1]}}', 400, "cannot", id="container"
    ),
    pytest.param(
        "POST", "/api/v1/namespaces/default/pods/p/binding", '{"target":1}', 400, "Binding cannot be read", id="binding"
    ),
    pytest.param(
        "POST", CLAIMS, '{"spec":{"devices":[]},"metadata":{"name":"a"}}', 400, "cannot unmarshal", id="claim"
    ),
]


@pytest.mark.parametrize(("method", "path", "body", "code", "words"), MALFORMED)
async def test_malformed_requests_get_a_status(
    client: Client, method: str, path: str, body: str | bytes | None, code: int, words: str
) -> None:
    found, kind, status = await client(method, path, body)
    assert (found, kind) == (code, "application/json")
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", code)
    assert words in status["message"]
    assert (await client("GET", "/api/v1/configmaps"))[2]["items"] == []


async def test_a_body_of_another_format_is_refused(client: Client) -> None:
    code, _, status = await client("POST", CONFIG_MAPS, "x", Content_Type="text/plain")
    assert (code, status["reason"]) == (415, "UnsupportedMediaType")


async def test_a_body_in_yaml_is_read(client: Client) -> None:
    body = "metadata: {name: a, annotations: {since: 2020-01-01}}\ndata: {x: text}\n"
    code, _, made = await client("POST", CONFIG_MAPS, body, Content_Type="application/yaml")
    assert (code, made["data"]) == (201, {"x": "text"})
    assert made["metadata"]["annotations"] == {"since": "2020-01-01"}


async def test_yaml_that_would_grow_is_refused(client: Client) -> None:
    """Nine levels of ten aliases each would be a billion values."""
    levels = "abcdefghi"
    grown = [f"{here}: &{here} [{', '.join([f'*{before}'] * 10)}]" for before, here in pairwise(levels)]
    body = "\n".join(["a: &a [x, x]", *grown])
    code, _, status = await client("POST", CONFIG_MAPS, body, Content_Type="application/yaml")
    assert (code, status["reason"]) == (400, "BadRequest")
    assert "yaml: document contains excessive aliasing" in status["message"]


async def test_an_alias_in_yaml_stands_for_its_anchor(client: Client) -> None:
    body = "metadata: {name: a, labels: &all {x: '1'}}\ndata: *all\n"
    code, _, made = await client("POST", CONFIG_MAPS, body, Content_Type="application/yaml")
    assert (code, made["data"]) == (201, {"x": "1"})


async def test_a_body_over_the_limit_is_refused(client: Client) -> None:
    code, _, status = await client("POST", CONFIG_MAPS, io.BytesIO(b"[" + b" " * 3 * 1024 * 1024 + b"]"))
    assert (code, status["reason"]) == (413, "RequestEntityTooLarge")


async def test_an_unknown_group_is_no_page(client: Client) -> None:
    code, kind, body = await client("GET", "/apis/bogus.k8s.io/v1")
    assert (code, kind, body["text"]) == (404, "text/plain", b"404 page not found\n")


@pytest.mark.parametrize("token", ["wrong", "secret2", "sécret", "a.b.c", "eyJhbGciOiJub25lIn0.e30."])
async def test_a_wrong_token_opens_nothing(client: Client, token: str) -> None:
    code, _, status = await client("GET", CONFIG_MAPS, Authorization=f"Bearer {token}")
    assert (code, status["reason"], status["message"]) == (401, "Unauthorized", "Unauthorized")


async def test_an_answer_in_yaml_keeps_texts_texts(client: Client) -> None:
    texts = {"float": "1e3", "flag": "no", "lines": "a\nb\n", "letter": "\u00e9", "time": "2026-01-01", "octal": "0o7"}
    made = msgspec.json.encode({"metadata": {"name": "texts"}, "data": texts})
    await client("POST", CONFIG_MAPS, made, Content_Type="application/json")
    code, kind, found = await client("GET", f"{CONFIG_MAPS}/texts", Accept="application/yaml")
    assert (code, kind) == (200, "application/yaml")
    expected = """apiVersion: v1
data:
  flag: "no"
  float: "1e3"
  letter: \u00e9
  lines: |
    a
    b
  octal: "0o7"
  time: "2026-01-01"
"""
    assert found["text"].decode().startswith(expected)


@pytest.mark.parametrize(
    ("path", "media"),
    [
        ("/version", "application/json"),
        ("/.well-known/openid-configuration", "application/json"),
        ("/openid/v1/jwks", "application/jwk-set+json"),
    ],
)
async def test_documents_of_one_form(client: Client, path: str, media: str) -> None:
    assert (await client("GET", path, Accept=media))[:2] == (200, media)
    code, _, status = await client("GET", path, Accept="text/html")
    assert (code, status["message"]) == (406, f"406: Not Acceptable\n\nAvailable representations: {media}")
    assert (await client("POST", path))[0] == 405
    assert (await client("GET", f"{path}/x"))[2]["message"] == "the server could not find the requested resource"


@pytest.mark.parametrize(
    ("accept", "code"),
    [
        ("application/json;as=Table;v=v1;g=meta.k8s.io", 406),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", 201),
        ("application/json", 201),
    ],
)
async def test_reviews_have_no_table(server: Server, accept: str, code: int) -> None:
    body = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    url = f"{server.url}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": accept}
    async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=headers) as response:
        answer = await response.json()
    assert response.status == code
    media = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    assert code == 201 or answer["message"] == f"only the following media types are accepted: {media}"


@pytest.mark.parametrize(("name", "why"), [("%2E", "be '.'"), ("..", "be '..'"), ("a%25b", "contain '%'")])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_names_that_can_stand_in_no_path(server: Server, method: str, name: str, why: str) -> None:
    body = {"metadata": {"name": unquote(name)}}
    url = URL(f"{server.url}/apis/coordination.k8s.io/v1/namespaces/default/leases/{name}", encoded=True)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.request(method, url, json=body if method == "PUT" else None) as response,
    ):
        assert response.status == 400
        assert (await response.json())["message"] == f'Name parameter invalid: "{unquote(name)}": may not {why}'


async def test_without_credentials_one_sees_health_and_version_only(server: Server) -> None:
    async with aiohttp.ClientSession(server.url) as session:
        for path in ("/healthz", "/readyz", "/livez", "/version"):
            async with session.get(path) as response:
                assert response.status == 200
        async with session.get(CLAIMS) as response:
            assert response.status == 403
            assert (await response.json())["message"] == (
                'resourceclaims.resource.k8s.io is forbidden: User "system:anonymous" cannot list resource '
                '"resourceclaims" in API group "resource.k8s.io" in the namespace "default"'
            )


@pytest.mark.slow
async def test_every_listed_kind_can_be_listed(client: Client) -> None:
    served = 0
    for root in [
        "/api/v1",
        *[f"/apis/{g['preferredVersion']['groupVersion']}" for g in (await client("GET", "/apis"))[2]["groups"]],
    ]:
        for resource in (await client("GET", root))[2]["resources"]:
            if "list" in resource["verbs"]:
                code, _, listed = await client("GET", f"{root}/{resource['name']}")
                assert (code, listed["kind"]) == (200, resource["kind"] + "List")
                served += 1
    assert served > 40


async def test_metadata_alone_is_given_when_asked_for(client: Client) -> None:
    await client("POST", CONFIG_MAPS, '{"metadata":{"name":"a"},"data":{"x":"y"}}')
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    listed = (await client("GET", CONFIG_MAPS, Accept=accept))[2]
    assert listed["kind"] == "PartialObjectMetadataList"
    assert [set(item) for item in listed["items"]] == [{"kind", "apiVersion", "metadata"}]


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize(("group", "version", "plural"), [("", "v1", "pods"), ("events.k8s.io", "v1", "events")])
def test_metadata_alone_is_what_is_stored_and_the_rest_is_not_decoded(
    group: str, version: str, plural: str, count: int
) -> None:
    class Undecoded(Record):
        def object(self) -> Object:
            raise AssertionError("decoded")

    served = Catalog(Store(), FeatureGates(), {}).find(group, version, plural)
    assert served is not None
    metadata = {"name": "é", "labels": {"a": "}"}, "managedFields": [{"fieldsV1": {"f:x": {}}}]}
    body = msgspec.json.encode({"spec": {"metadata": 1}, "metadata": metadata, "status": {}})
    records = [Undecoded(("", "a"), 1, body, lambda _: {})] * count
    item = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": metadata}
    for record in records:
        form = negotiate("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1", served, "", listing=False)
        assert msgspec.json.decode(form.one(record)) == item
    form = negotiate("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1", served, "", listing=True)
    assert msgspec.json.decode(form.many(records, {"continue": "x"}).whole()) == {
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1beta1",
        "metadata": {"continue": "x"},
        "items": [item] * count or None,
    }


LABELS = {"app": "web", "tier": "1", "empty": ""}
SELECTORS = [
    ("app=web", True),
    ("app==web", True),
    ("app!=web", False),
    ("app = web , tier = 1", True),
    ("app", True),
    ("!app", False),
    ("!other", True),
    ("app in (web, db)", True),
    ("app in (db)", False),
    ("app notin (db)", True),
    ("other notin (x)", True),
    ("other!=x", True),
    ("tier>0", True),
    ("tier<1", False),
    ("app>0", False),
    ("empty=", True),
    ("empty", True),
    ("app=web,tier", True),
    ("", True),
]


@pytest.mark.parametrize(("text", "holds"), SELECTORS, ids=[text or "empty" for text, _ in SELECTORS])
def test_label_selectors(text: str, holds: bool) -> None:
    assert all(requirement(LABELS) for requirement in selectors.parse_labels(text)) is holds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a===b", "found '=', expected: identifier"),
        ("a b", "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "found 'b' expected: '('"),
        ("a in (", "found '', expected: ',', ')' or identifier"),
        ("a in (b", "found '', expected: ',' or ')'"),
        ("a,", "found '', expected: identifier after ','"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("a>b", "the value must be an integer"),
        ("-a=b", "name part must consist of alphanumeric characters"),
        ("a=b!", "found '!', expected: ',' or 'end of string'"),
    ],
)
def test_bad_label_selectors(text: str, words: str) -> None:
    with pytest.raises(StatusError) as refused:
        selectors.parse_labels(text)
    assert refused.value.code == 400
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("spec.nodeName=n1", ["a"]),
        ("spec.nodeName!=n1", ["b"]),
        ("spec.nodeName=", ["b"]),
        ("status.phase==Pending", ["a", "b"]),
        ("status.phase!=Succeeded,status.phase!=Failed", ["a", "b"]),
        ("metadata.name=b,metadata.namespace=default", ["b"]),
        ("spec.restartPolicy=Never", ["b"]),
    ],
)
async def test_field_selectors_of_pods(connection: Connection, text: str, names: list[str]) -> None:
    for name, spec in (("a", {"nodeName": "n1"}), ("b", {"restartPolicy": "Never"})):
        body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
        await connection.create(resources.PODS, body, "default")
    listed = await connection.list(resources.PODS, field_selector=text)
    assert [item["metadata"]["name"] for item in listed["items"]] == names
