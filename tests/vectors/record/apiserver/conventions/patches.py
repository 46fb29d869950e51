"""Patches of three types, most of them odd; configurations that are applied have stories of their own."""

from __future__ import annotations

from collections.abc import Iterator

from tests.vectors.conventions import CLAIMS, MAPS
from tests.vectors.record.apiserver.conventions.exchange import Object, exchange

_MERGE = (
    "{}",
    "",
    "[]",
    "null",
    "x",
    "1",
    '{"data":null}',
    '{"data":{"k":null}}',
    '{"data":{"k":1}}',
    '{"foo":1}',
    '{"metadata":null}',
    '{"metadata":{"name":"x"}}',
    '{"metadata":{"name":null}}',
    '{"metadata":{"namespace":"x"}}',
    '{"metadata":{"resourceVersion":"1"}}',
    '{"metadata":{"resourceVersion":null}}',
    '{"metadata":{"uid":"x"}}',
    '{"kind":"Foo"}',
    '{"apiVersion":"v2"}',
    '{"metadata":{"labels":{"a b":"c"}}}',
    '{"metadata":{"labels":null}}',
    '{"metadata":{"labels":{"z":"1","z":"2"}}}',
    '{"metadata":{"labels":[]}}',
    '{"metadata":{"generation":9}}',
    '{"metadata":{"creationTimestamp":null}}',
    '{"immutable":true}',
    "{",
)
_STRATEGIC = (
    "{}",
    "",
    "[]",
    "null",
    "x",
    '{"data":null}',
    '{"data":{"$patch":"replace","z":"1"}}',
    '{"data":{"$patch":"delete"}}',
    '{"$patch":"replace"}',
    '{"$patch":"foo"}',
    '{"data":{"$patch":"foo"}}',
    '{"$retainKeys":["data"],"data":{"z":"1"}}',
    '{"$setElementOrder/metadata":[]}',
    '{"$deleteFromPrimitiveList/metadata":[]}',
    '{"metadata":{"finalizers":["a/b"]}}',
    '{"metadata":{"$deleteFromPrimitiveList/finalizers":["a/b"]}}',
    '{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}',
    '{"metadata":{"ownerReferences":[{"name":"p"}]}}',
    '{"foo":1}',
    '{"data":[]}',
    '{"data":{"k":1}}',
    '{"metadata":{"labels":{"a b":"c"}}}',
    '{"metadata":null}',
)
_OPERATIONS = (
    "[]",
    "{}",
    "",
    "null",
    "x",
    "[{}]",
    "[1]",
    '[{"op":"add"}]',
    '[{"op":"foo","path":"/a"}]',
    '[{"op":"add","path":"/data/x","value":"1"}]',
    '[{"op":"add","path":"data/x","value":"1"}]',
    '[{"op":"add","path":"","value":{}}]',
    '[{"op":"remove","path":"/data/nope"}]',
    '[{"op":"remove","path":"/nope/nope"}]',
    '[{"op":"replace","path":"/data/nope","value":"1"}]',
    '[{"op":"test","path":"/data/k","value":"9"}]',
    '[{"op":"test","path":"/data/k","value":"1"}]',
    '[{"op":"test","path":"/data/nope","value":null}]',
    '[{"op":"copy","from":"/data/k","path":"/data/y"}]',
    '[{"op":"copy","from":"/data/nope","path":"/data/y"}]',
    '[{"op":"move","from":"/data/k","path":"/data/y"}]',
    '[{"op":"move","path":"/data/y"}]',
    '[{"op":"add","path":"/data/x","value":1}]',
    '[{"op":"add","path":"/data","value":[]}]',
    '[{"op":"add","path":"/metadata/labels/x~1y","value":"1"}]',
    '[{"op":"add","path":"/metadata/finalizers/-","value":"a/b"}]',
    '[{"op":"add","path":"/metadata/finalizers","value":["a/b"]},{"op":"add","path":"/metadata/finalizers/5","value":"a/b"}]',
    '[{"op":"add","path":"/metadata/finalizers","value":["a/b"]},{"op":"remove","path":"/metadata/finalizers/-1"}]',
    '[{"op":"add","path":"/foo","value":1}]',
    '[{"op":"replace","path":"/metadata/name","value":"x"}]',
    '[{"op":"add","path":"/data/x"}]',
    '[{"op":"remove","path":""}]',
    '[{"op":"replace","path":"/metadata","value":null}]',
)
_PATCHES = {
    "application/merge-patch+json": _MERGE,
    "application/strategic-merge-patch+json": _STRATEGIC,
    "application/json-patch+json": _OPERATIONS,
}
_PATCHED = (
    f"{MAPS}/c1?dryRun=All",
    f"{MAPS}/c1?dryRun=All&fieldValidation=Strict",
    "/apis/apps/v1/namespaces/dd/deployments/dep?dryRun=All",
    f"{CLAIMS}/k0?dryRun=All",
    f"{CLAIMS}/k0/status?dryRun=All",
)


def exchanges() -> Iterator[Object]:
    """Dry runs of each patch on a config map, a deployment, a claim and its status."""
    for content_type, patches in _PATCHES.items():
        for patch in patches:
            for path in _PATCHED:
                yield exchange("patches", "PATCH", path, patch, content_type=content_type)
