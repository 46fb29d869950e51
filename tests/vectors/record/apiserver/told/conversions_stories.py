"""Stories of custom resources that a webhook converts: what is done and asked in each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.converter import WAYS

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CRD = f"{_CRDS}/things.$group"
_MERGE, _JSON, _APPLY = (f"application/{name}" for name in ("merge-patch+json", "json-patch+json", "apply-patch+yaml"))
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_TEXT: Object = {"type": "string"}
_NUMBER: Object = {"type": "integer"}
_FIELDS: dict[str, Object] = {
    "v1": {"hostPort": _TEXT},
    "v2": {"host": _TEXT, "port": _TEXT},
    "v3": {"hostPort": _TEXT, "more": _TEXT},
}
_COLUMNS: dict[str, list[Object]] = {
    "v1": [{"name": "HostPort", "type": "string", "jsonPath": ".spec.hostPort"}],
    "v2": [
        {"name": "Host", "type": "string", "jsonPath": ".spec.host"},
        {"name": "Port", "type": "string", "jsonPath": ".spec.port"},
    ],
}
_SELECTABLE = {"v1": [".spec.hostPort"], "v2": [".spec.host", ".spec.port"]}


def made() -> Iterator[Object]:
    """All of them."""
    yield from _of_reading()
    yield from _of_writing()
    yield from _of_definitions()
    yield from _of_failures()
    for way in WAYS:
        yield _story(f"ways: {way}", *_in_a_way(way))


def _story(name: str, *steps: Object) -> Object:
    return {"name": name, "steps": list(steps)}


def _version(name: str, *, storage: str, **fields: Any) -> Object:
    properties = dict(_FIELDS[name]) | {"replicas": _NUMBER, "x": _TEXT}
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": properties | fields.pop("more", {})},
            "status": {"type": "object", "properties": {"replicas": _NUMBER, "ready": _TEXT}},
        },
    }
    found = {"name": name, "served": True, "storage": name == storage, "schema": {"openAPIV3Schema": schema}}
    return {**found, **fields}


def _defined(
    *versions: Object,
    strategy: str = "Webhook",
    reviews: tuple[str, ...] = ("v1", "v1beta1"),
    scope: str = "Namespaced",
) -> Object:
    """The step that makes the definition of a story."""
    webhook = {"clientConfig": "$hook", "conversionReviewVersions": list(reviews)}
    spec: Object = {
        "group": "$group",
        "scope": scope,
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": list(versions) or [_version("v1", storage="v1"), _version("v2", storage="v1")],
        "conversion": {"strategy": strategy, **({"webhook": webhook} if strategy == "Webhook" else {})},
    }
    kind = {"kind": "CustomResourceDefinition", "apiVersion": "apiextensions.k8s.io/v1"}
    return {"method": "POST", "path": _CRDS, "body": {**kind, "metadata": {"name": "things.$group"}, "spec": spec}}


def _redefined(*operations: Object) -> Object:
    return {"method": "PATCH", "path": _CRD, "type": _JSON, "body": list(operations)}


def _stored_in(storage: str, versions: tuple[str, ...] = ("v1", "v2")) -> Object:
    """The step that changes the version of storage."""
    return _redefined(
        *(
            {"op": "replace", "path": f"/spec/versions/{index}/storage", "value": name == storage}
            for index, name in enumerate(versions)
        )
    )


def _converting() -> Object:
    webhook = {"clientConfig": "$hook", "conversionReviewVersions": ["v1"]}
    value = {"strategy": "Webhook", "webhook": webhook}
    return _redefined({"op": "replace", "path": "/spec/conversion", "value": value})


def _path(version: str, name: str = "", query: str = "") -> str:
    path = f"/apis/$group/{version}/namespaces/default/things" + (f"/{name}" if name else "")
    return path + (f"?{query}" if query else "")


def _thing(version: str, name: str = "a", spec: Object | None = None, **metadata: Any) -> Object:
    spec = spec if spec is not None else {"hostPort": "h:1"} if version != "v2" else {"host": "h", "port": "1"}
    return {"apiVersion": f"$group/{version}", "kind": "Thing", "metadata": {"name": name, **metadata}, "spec": spec}


def _create(version: str, name: str = "a", spec: Object | None = None, query: str = "", **metadata: Any) -> Object:
    body = _thing(version, name, spec, **metadata)
    return {"method": "POST", "path": _path(version, query=query), "body": body}


def _get(version: str, name: str = "a", query: str = "", **more: Any) -> Object:
    return {"method": "GET", "path": _path(version, name, query), **more}


def _list(version: str, query: str = "", **more: Any) -> Object:
    return {"method": "GET", "path": _path(version, query=query), **more}


def _watch(version: str, events: int, query: str = "") -> Object:
    return {"method": "GET", "path": _path(version, query=f"watch=1&timeoutSeconds=5&{query}"), "events": events}


def _patch(version: str, body: Any, kind: str = _MERGE, name: str = "a", query: str = "", **more: Any) -> Object:
    return {"method": "PATCH", "path": _path(version, name, query), "type": kind, "body": body, **more}


def _put(version: str, body: Object, name: str = "a", query: str = "") -> Object:
    return {"method": "PUT", "path": _path(version, name, query), "body": body}


def _delete(version: str, name: str = "a", query: str = "") -> Object:
    return {"method": "DELETE", "path": _path(version, name, query)}


def _way(name: str) -> Object:
    return {"way": name}


_ASKED: Object = {"asked": []}


def _subresources(*, storage: str = "v1") -> list[Object]:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    return [_version(name, storage=storage, subresources={"status": {}, "scale": scale}) for name in ("v1", "v2")]


def _of_reading() -> Iterator[Object]:
    columns = [_version(name, storage="v1", additionalPrinterColumns=_COLUMNS[name]) for name in ("v1", "v2")]
    yield _story(
        "reading: in each version",
        *(_defined(*columns), _create("v1"), _create("v2", "b"), _get("v1"), _get("v2"), _get("v1", "b")),
        *(_list("v1"), _list("v2"), _list("v2", accept=_TABLE), _get("v2", accept=_TABLE)),
        *(_list("v2", "includeObject=Object", accept=_TABLE), _get("v2", accept=_PARTIAL)),
        *(_list("v2", accept=_PARTIALS), _ASKED, _delete("v2"), _delete("v1", "b"), _list("v2")),
    )
    yield _story(
        "reading: watched in each version",
        *(_defined(), _create("v1"), _create("v1", "b"), _watch("v2", 2), _watch("v1", 2)),
        *(_patch("v1", {"spec": {"hostPort": "i:2"}}), _watch("v2", 2, "labelSelector=!a"), _delete("v2", "b")),
        *(_watch("v2", 1), _list("v2", "limit=1")),
    )
    selectable = [
        _version(name, storage="v1", selectableFields=[{"jsonPath": path} for path in _SELECTABLE[name]])
        for name in ("v1", "v2")
    ]
    yield _story(
        "reading: selected by fields of each version",
        *(_defined(*selectable), _create("v1"), _create("v1", "b", {"hostPort": "i:2"})),
        *(_create("v2", "c", {"host": "j", "port": "3"}), _list("v1", "fieldSelector=spec.hostPort=j:3")),
        *(_list("v2", "fieldSelector=spec.host=j"), _watch("v1", 1, "fieldSelector=spec.hostPort=j:3")),
        *(_list("v2", "fieldSelector=spec.host=h"), _list("v2", "fieldSelector=spec.port!=1")),
        *(_list("v1", "fieldSelector=spec.hostPort=i:2"), _list("v1", "fieldSelector=spec.host=h")),
        *(_watch("v2", 1, "fieldSelector=spec.host=i"), _watch("v1", 1, "fieldSelector=spec.hostPort=h:1")),
    )
    yield _story(
        "reading: selected by labels that the program sets",
        *(_defined(), _way("labelling"), _create("v1"), _list("v2", "labelSelector=converted")),
        *(_list("v1", "labelSelector=converted"), _list("v2", "labelSelector=!converted"), _get("v2", accept=_PARTIAL)),
        *(_watch("v2", 1, "labelSelector=converted=true"), _patch("v2", {"spec": {"x": "y"}}), _get("v1")),
    )
    yield _story(
        "reading: reviews of version v1beta1",
        *(_defined(reviews=("v7", "v1beta1", "v1")), _create("v1"), _get("v2"), _ASKED, _create("v2", "b"), _ASKED),
    )
    yield _story(
        "reading: of the whole cluster",
        _defined(scope="Cluster"),
        {"method": "POST", "path": "/apis/$group/v1/things", "body": _thing("v1")},
        {"method": "GET", "path": "/apis/$group/v2/things/a"},
        {"method": "GET", "path": "/apis/$group/v2/things"},
        _ASKED,
    )


def _of_writing() -> Iterator[Object]:
    yield _story(
        "writing: created in another version",
        *(_defined(), _create("v2", labels={"l": "1"}), _ASKED, _get("v1"), _create("v2"), _create("v2", "b", {})),
        *(_create("v2", "c", query="dryRun=All"), _get("v2", "c"), _create("v2", "d", {"hostPort": "unknown"})),
        _create("v2", "d", {"hostPort": "unknown"}, "fieldValidation=Strict"),
    )
    yield _story(
        "writing: changed in another version",
        *(_defined(), _create("v1", labels={"l": "1"})),
        *(_patch("v2", {"spec": {"host": "merged"}}), _get("v1")),
        *(_patch("v2", [{"op": "replace", "path": "/spec/port", "value": "9"}], _JSON), _get("v1")),
        *(_patch("v2", {"spec": {"port": None}}), _get("v1"), _get("v2")),
        *(_patch("v2", {"spec": {"hostPort": "unknown"}}), _patch("v2", {"spec": {"port": 5}})),
        *(_patch("v2", {"metadata": {"labels": {"m": "2"}}}), _get("v1"), _put("v2", _thing("v2", spec={"host": "p"}))),
        *(_put("v2", _thing("v1")), _patch("v2", {}), _get("v2"), _delete("v2"), _get("v1")),
    )
    yield _story(
        "writing: status and scale in another version",
        *(_defined(*_subresources()), _create("v1", spec={"hostPort": "h:1", "replicas": 1})),
        *(_patch("v2", {"status": {"ready": "yes"}, "spec": {"host": "ignored"}}, name="a/status"), _get("v1")),
        *(_get("v2", "a/status"), _get("v2", "a/scale"), _patch("v2", {"spec": {"replicas": 3}}, name="a/scale")),
        *(_get("v1"), _get("v2"), _patch("v2", {"spec": {"host": "i"}, "status": {"ready": "no"}}), _get("v1")),
    )
    yield _story(
        "writing: finalizers",
        *(_defined(), _create("v1", finalizers=["example.com/f"]), _delete("v2"), _get("v2")),
        *(_patch("v2", {"metadata": {"finalizers": None}}), _get("v1")),
    )
    yield _story(
        "writing: deleted together",
        *(_defined(), _create("v1"), _create("v1", "b"), _delete("v2", ""), _list("v1")),
    )
    fields: Any = {"fields": True}
    yield _story(
        "writing: owners of fields in several versions",
        *(_defined(), _patch("v1", _thing("v1"), _APPLY, query="fieldManager=one", **fields)),
        _patch("v2", _thing("v2", spec={"host": "i"}), _APPLY, query="fieldManager=two", **fields),
        _patch("v2", _thing("v2", spec={"host": "i"}), _APPLY, query="fieldManager=two&force=1", **fields),
        _get("v1", **fields),
        _patch("v2", _thing("v2", spec={"x": "y"}), _APPLY, query="fieldManager=two", **fields),
        _get("v1", **fields),
        _patch("v2", {"spec": {"port": "7"}}, query="fieldManager=three", **fields),
        _get("v1", **fields),
        _patch("v1", {"spec": {"x": "z"}}, query="fieldManager=four", **fields),
        _patch("v1", _thing("v1", spec={}), _APPLY, query="fieldManager=one", **fields),
        _get("v2", **fields),
    )
    yield _story(
        "writing: applied in another version than before",
        *(_defined(), _patch("v1", _thing("v1", spec={"x": "1", "hostPort": "h:1"}), _APPLY, query="fieldManager=one")),
        _patch("v2", _thing("v2", spec={"host": "h", "port": "1"}), _APPLY, query="fieldManager=one", **fields),
        _patch("v2", _thing("v2", "new"), _APPLY, name="new", query="fieldManager=one", **fields),
        *(_way("failing"), _patch("v2", _thing("v2"), _APPLY, query="fieldManager=one")),
        _patch("v1", _thing("v1"), _APPLY, query="fieldManager=one"),
    )
    yield _story(
        "writing: seen by a policy for another version",
        *(_defined(), _policy(), _BINDING),
        {**_create("v2", "no", {"host": "forbidden", "port": "1"}), "until": 422},
        *(_create("v2", "yes"), _create("v1", "no", {"hostPort": "forbidden:1"})),
        *(_way("failing"), _create("v2", "yes2"), _create("v1", "yes1")),
    )
    yield _story(
        "writing: with a program that labels",
        *(_defined(), _way("labelling"), _create("v2"), _get("v1"), _get("v2"), _patch("v2", {"spec": {"x": "1"}})),
        *(_way("right"), _get("v2"), _way("unlabelling"), _get("v2"), _patch("v2", {"spec": {"x": "2"}}), _get("v1")),
    )


def _policy() -> Object:
    rule = {"apiGroups": ["$group"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.spec.hostPort != 'forbidden:1'"}],
    }
    kind = {"kind": "ValidatingAdmissionPolicy", "apiVersion": "admissionregistration.k8s.io/v1"}
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    return {"method": "POST", "path": path, "body": {**kind, "metadata": {"name": "$group"}, "spec": spec}}


_BINDING: Object = {
    "method": "POST",
    "path": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "body": {
        "kind": "ValidatingAdmissionPolicyBinding",
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": "$group"},
        "spec": {"policyName": "$group", "validationActions": ["Deny"]},
    },
}


def _of_definitions() -> Iterator[Object]:
    yield _story(
        "definitions: another version of storage",
        *(_defined(), _create("v1"), _stored_in("v2"), _create("v2", "b"), _create("v1", "c")),
        *(_get("v1"), _get("v2"), _list("v1"), _list("v2"), _watch("v1", 3), _watch("v2", 3)),
        *(_way("failing"), _get("v1"), _get("v2"), _get("v1", "b"), _get("v2", "b"), _list("v1")),
        *(_way("right"), _put("v1", {})),
        *(_patch("v1", {}), _patch("v1", {"metadata": {"labels": {"rewritten": "yes"}}}), _patch("v2", {}, name="c")),
        *(_way("failing"), _get("v1"), _get("v2"), _get("v2", "c")),
    )
    yield _story(
        "definitions: an update without a change is stored in the new version",
        *(_defined(), _create("v1"), _stored_in("v2"), _patch("v2", {}), _way("failing"), _get("v2"), _get("v1")),
    )
    yield _story(
        "definitions: the stored version is not served",
        _defined(_version("v1", storage="v1", served=False), _version("v2", storage="v1")),
        *(_create("v2"), _get("v2"), _get("v1"), _list("v2"), _ASKED),
        *(_patch("v2", {"spec": {"host": "i"}}), _watch("v2", 1), _delete("v2")),
    )
    yield _story(
        "definitions: converted by a program from now on",
        _defined(strategy="None"),
        *(_create("v1"), _create("v2", "b"), _get("v2"), _get("v1", "b"), _stored_in("v2"), _create("v2", "c")),
        *(_get("v1", "c"), _get("v2"), _converting(), _get("v1"), _get("v2"), _get("v1", "b"), _get("v1", "c")),
        _list("v2"),
    )
    defaulted = [
        _version("v1", storage="v1", more={"d1": {"type": "string", "default": "one"}, "d2": _TEXT}),
        _version("v2", storage="v1", more={"d2": {"type": "string", "default": "two"}, "d1": _TEXT}),
    ]
    for strategy in ("Webhook", "None"):
        yield _story(
            f"definitions: defaults of both versions, {strategy}",
            *(_defined(*defaulted, strategy=strategy), _create("v1"), _get("v1"), _get("v2"), _create("v2", "b")),
            *(_get("v1", "b"), _get("v2", "b"), _patch("v2", {"spec": {"x": "y"}}), _get("v1"), _list("v2")),
        )
    later = {"op": "add", "path": "/spec/versions/{}/schema/openAPIV3Schema/properties/spec/properties/d"}
    for strategy in ("Webhook", "None"):
        yield _story(
            f"definitions: defaults that come later, {strategy}",
            *(_defined(strategy=strategy), _create("v1")),
            _redefined(
                *(
                    {**later, "path": later["path"].format(index), "value": {"type": "string", "default": each}}
                    for index, each in enumerate(("one", "two"))
                )
            ),
            *(_get("v1"), _get("v2"), _list("v2"), _patch("v2", {"spec": {"x": "y"}}), _get("v1"), _get("v2")),
        )
    for strategy in ("Webhook", "None"):
        forgotten = {"status": {"storedVersions": ["v2"]}}
        three = [_version(each, storage="v3") for each in ("v1", "v2", "v3")]
        yield _story(
            f"definitions: a stored version that is gone, {strategy}",
            *(_defined(*three, strategy=strategy), _create("v1"), _stored_in("v2", ("v1", "v2", "v3"))),
            _create("v1", "b"),
            {"method": "PATCH", "path": f"{_CRD}/status", "type": _MERGE, "body": forgotten},
            _redefined({"op": "remove", "path": "/spec/versions/2"}),
            *(_get("v1"), _get("v2"), _get("v1", "b"), _patch("v1", {"spec": {"x": "y"}}), _delete("v1")),
        )


def _of_failures() -> Iterator[Object]:
    yield _story(
        "failures: of every verb",
        *(_defined(*_subresources()), _create("v1", spec={"hostPort": "h:1", "replicas": 1}), _list("v2")),
        *(_watch("v2", 1), _way("failing")),
        *(_get("v1"), _get("v2"), _list("v1"), _get("v2", accept=_PARTIAL), _get("v2", accept=_TABLE)),
        *(_create("v2", "b"), _create("v2", "b", query="dryRun=All"), _create("v1", "c"), _get("v1", "c")),
        _patch("v2", {"spec": {"host": "i"}}),
        *(_get("v2", "a/status"), _get("v2", "a/scale"), _patch("v2", {"spec": {"replicas": 3}}, name="a/scale")),
        *(_patch("v1", {"spec": {"x": "i"}}), _delete("v2"), _get("v1"), _delete("v1"), _delete("v1", "c")),
    )
    yield _story(
        "failures: of a list and a watch from the beginning",
        *(_defined(), _list("v2"), _way("failing"), _create("v1"), _list("v2")),
        *(_list("v2", "limit=1"), _list("v2", accept=_PARTIALS), _list("v2", accept=_TABLE)),
        *(_list("v2", "labelSelector=a"), _delete("v2", "")),
        *(_way("right"), _list("v2"), _watch("v2", 1)),
    )
    yield _story(
        "failures: after the object is stored",
        *(_defined(), _create("v1"), _way("unconvertible back"), _create("v2", "b"), _get("v1", "b")),
        *(_patch("v2", {"spec": {"host": "i"}}, name="b"), _get("v1", "b")),
    )
    yield _story(
        "failures: nobody answers",
        _defined(),
        _create("v1"),
        _redefined(
            {"op": "replace", "path": "/spec/conversion/webhook/clientConfig/url", "value": "https://127.0.0.1:1/none"}
        ),
        *(_get("v2"), _create("v2", "b"), _get("v1")),
    )
    yield _story(
        "failures: a service that there is not",
        _defined(),
        _create("v1"),
        _redefined(
            {
                "op": "replace",
                "path": "/spec/conversion/webhook/clientConfig",
                "value": {"service": {"name": "none", "namespace": "default", "path": "/convert"}},
            }
        ),
        *(_get("v2"), _create("v2", "b"), _get("v1")),
    )
    yield _story(
        "failures: an authority that signed nothing",
        _defined(),
        _create("v1"),
        _redefined({"op": "remove", "path": "/spec/conversion/webhook/clientConfig/caBundle"}),
        _get("v2"),
    )


def _in_a_way(way: str) -> list[Object]:
    kept: Any = {"labels": {"l": "1"}, "annotations": {"n": "2"}, "finalizers": ["example.com/f"]}
    steps = [_defined(), _create("v1", **kept), _way(way), _get("v2"), _create("v2", "b"), _way("right")]
    return [*steps, _get("v1", "b")]
