"""Bodies that are no objects, or odd ones, in every media type and with every option of writes."""

from __future__ import annotations

from collections.abc import Iterator

from drakit_api.kubernetes_objects import Object
from tests.vectors.conventions import CLAIMS, MAPS, NAMESPACE
from tests.vectors.record.apiserver.conventions.exchange import exchange

JSON = "application/json"
# As they stand for config maps; other kinds find other things wrong in them.
_BODIES = (
    "",
    "{}",
    "[]",
    "null",
    "1",
    '"x"',
    "{",
    "}",
    '{"metadata":',
    '{"a":1}',
    '{"metadata":null}',
    '{"metadata":[]}',
    '{"metadata":{"name":1}}',
    '{"metadata":{"name":"z"}}',
    '{"metadata":{"name":"z"},"data":{"a":1}}',
    '{"metadata":{"name":"z"},"data":null}',
    '{"metadata":{"name":"z"},"data":{"a":null}}',
    '{"metadata":{"name":"z"},"foo":1}',
    '{"metadata":{"name":"z","name":"y"}}',
    '{"metadata":{"name":"z","foo":1},"bar":{"x":1}}',
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"z"}}',
    '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"z"}}',
    '{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"z"}}',
    '{"kind":"ConfigMap","apiVersion":"apps/v1","metadata":{"name":"z"}}',
    '{"kind":"Foo","apiVersion":"v1"}',
    '{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"z"}}',
    '{"apiVersion":"v1","metadata":{"name":"z"}}',
    '{"kind":"ConfigMap","metadata":{"name":"z"}}',
    '{"kind":1,"metadata":{"name":"z"}}',
    '{"kind":"ConfigMap","apiVersion":"a/b/c"}',
    '{"metadata":{"name":"z","namespace":"x"}}',
    '{"metadata":{"name":"z","namespace":""}}',
    '{"metadata":{"name":"Z"}}',
    '{"metadata":{"name":"z/z"}}',
    '{"metadata":{"name":"c1"}}',
    '{"metadata":{"generateName":"generated-"}}',
    '{"metadata":{"name":"","generateName":""}}',
    '{"metadata":{"name":"z","resourceVersion":"5"}}',
    '{"metadata":{"name":"z","uid":"abc"}}',
    '{"metadata":{"name":"z","creationTimestamp":"x"}}',
    '{"metadata":{"name":"z","labels":{"a b":"c"}}}',
    '{"metadata":{"name":"z","labels":{"a":"c d"}}}',
    '{"metadata":{"name":"z","annotations":{"a b":"c"}}}',
    '{"metadata":{"name":"z","finalizers":["x"]}}',
    '{"metadata":{"name":"z","finalizers":["x/y","kubernetes"]}}',
    '{"metadata":{"name":"z","ownerReferences":[{}]}}',
    '{"metadata":{"name":"z","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true},{"apiVersion":"v1","kind":"Pod","name":"p2","uid":"u2","controller":true}]}}',
    '{"metadata":{"name":"z","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"},{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}',
    '{"metadata":{"name":"z","generation":5}}',
    '{"metadata":{"name":"z","deletionTimestamp":"2020-01-01T00:00:00Z"}}',
    '{"metadata":{"name":"z","selfLink":"/x"}}',
    '{"metadata":{"name":"z","managedFields":[{}]}}',
    '{"METADATA":{"name":"z"}}',
    '{"metadata":{"Name":"z"}}',
    '{"metadata":{"name":"z"}}x',
    '{"metadata":{"name":"z"}} {}',
    '{"metadata":{"name":"z"},}',
    "{'metadata':1}",
    '{"metadata":{"name":"\\ud800"}}',
    "\ufeff{}",
    '{"metadata":{"name":"z"},"data":{"a b":"c"}}',
    '{"metadata":{"name":"z"},"data":{"a":"1"},"binaryData":{"a":"MQ=="}}',
    '{"metadata":{"name":"z"},"binaryData":{"a":"!!"}}',
    '{"metadata":{"name":"z"},"immutable":"yes"}',
    '{"metadata":{"name":"z"},"data":{"a":"1","a":"2"}}',
    '{"metadata":{"name":"z"},"data":[1]}',
    '{"items":[]}',
    '{"kind":"List","apiVersion":"v1","items":[]}',
)
_OTHER_COLLECTIONS = (f"{NAMESPACE}/secrets", "/apis/apps/v1/namespaces/dd/deployments", CLAIMS)
_VALIDATIONS = ("", "&fieldValidation=Strict", "&fieldValidation=Warn", "&fieldValidation=Ignore")
_MEDIA_TYPES = (
    "",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    "application/json;x=y",
    "application/json; charset=latin-1",
    "text/plain",
    "application/yaml",
    "text/yaml",
    "application/x-yaml",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "application/merge-patch+json",
    "application/xml",
    "*/*",
    "application/*",
    "json",
    "application/json;",
    "application/json;;",
    "APPLICATION/JSON",
    "application/json, text/plain",
    " application/json",
    "multipart/form-data",
    "application/x-www-form-urlencoded",
    None,
)
_OF_ANY_TYPE = (
    '{"metadata":{"name":"z"}}',
    "metadata: {name: z}",
    "metadata:\n  name: z\n  name: y\n",
    "a: [",
    "- 1",
    "",
    "x",
    "metadata: {name: 1}",
    "metadata: {name: z}\ndata: {a: true}",
    "metadata: {name: z}\n---\nmetadata: {name: y}\n",
)
_OPTIONS = (
    "dryRun=",
    "dryRun=all",
    "dryRun=All&dryRun=All",
    "dryRun=All&dryRun=x",
    "dryRun=true",
    "dryRun=All,All",
    "fieldValidation=strict&dryRun=All",
    "fieldValidation=foo&dryRun=x",
    "fieldManager=a%20b&dryRun=All",
    "fieldManager=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx&dryRun=All",
    "fieldManager=%01&dryRun=All",
    "fieldManager=x&fieldManager=y&dryRun=All",
    "force=true&dryRun=All",
    "force=x&dryRun=All",
    "pretty=true&dryRun=All",
    "timeout=1s&dryRun=All",
    "fieldValidation=&dryRun=All",
    "dryRun=All&fieldValidation=Strict&fieldValidation=Warn",
)
_PATCH = '{"apiVersion":"v1","kind":"ConfigMap","data":{"q":"y"}}'
_PATCHES = {
    "application/merge-patch+json": _PATCH,
    "application/strategic-merge-patch+json": _PATCH,
    "application/json-patch+json": "[]",
    "application/apply-patch+yaml": _PATCH,
}


def exchanges() -> Iterator[Object]:
    """Dry runs of creates, updates and patches."""
    for body in _BODIES:
        for validation in _VALIDATIONS:
            yield exchange("bodies", "POST", f"{MAPS}?dryRun=All{validation}", body, content_type=JSON)
        for name in ("z", "c1"):
            yield exchange("bodies", "PUT", f"{MAPS}/{name}?dryRun=All", body, content_type=JSON)
        for collection in _OTHER_COLLECTIONS:
            yield exchange("bodies", "POST", f"{collection}?dryRun=All", body, content_type=JSON)
    for content_type in _MEDIA_TYPES:
        yield from _of_media_type(content_type)
    for options in _OPTIONS:
        yield from _with_options(options)


def _of_media_type(content_type: str | None) -> Iterator[Object]:
    for body in _OF_ANY_TYPE:
        for validation in _VALIDATIONS[:2]:
            yield exchange("bodies", "POST", f"{MAPS}?dryRun=All{validation}", body, content_type=content_type)
    for name in ("c1", "nope"):
        path = f"{MAPS}/{name}?dryRun=All"
        yield exchange("bodies", "PATCH", path, '{"data":{"x":"y"}}', content_type=content_type)


def _with_options(options: str) -> Iterator[Object]:
    yield exchange("options", "POST", f"{MAPS}?{options}", '{"metadata":{"name":"z"}}', content_type=JSON)
    body = '{"metadata":{"name":"c1"},"data":{"a":"b"}}'
    yield exchange("options", "PUT", f"{MAPS}/c1?{options}", body, content_type=JSON)
    for content_type, patch in _PATCHES.items():
        yield exchange("options", "PATCH", f"{MAPS}/c1?{options}", patch, content_type=content_type)
