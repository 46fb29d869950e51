"""Stories of HorizontalPodAutoscalers: written in one version of ``autoscaling``, and read in both.

``tests.vectors.autoscalers`` plays them. The name of a story begins with its matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from tests.vectors.record.apiserver.told import autoscalers_bodies
from tests.vectors.record.apiserver.told.autoscalers_bodies import KEY, REFERENCE

_MERGE, _STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
_JSON, _APPLY = "application/json-patch+json", "application/apply-patch+yaml"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_OTHER = {"v1": "v2", "v2": "v1"}


def made() -> Iterator[Object]:
    """All stories."""
    for name, body in autoscalers_bodies.of_v1():
        yield _story(f"made in v1: {name}", *_both("v1", body))
    for name, body in autoscalers_bodies.of_v2():
        yield _story(f"made in v2: {name}", *_both("v2", body))
    for name, status in autoscalers_bodies.statuses_of_v2():
        yield _story(f"status in v2: {name}", *_with_status("v2", {"status": status}))
    for name, body in autoscalers_bodies.statuses_of_v1():
        yield _story(f"status in v1: {name}", *_with_status("v1", body))
    yield from _changes()
    yield from _applies()
    yield from _reads()
    yield from _refusals()


def _story(name: str, *steps: Object) -> Object:
    return {"name": name, "steps": list(steps)}


def _path(version: str, name: str = "", query: str = "") -> str:
    path = f"/apis/autoscaling/{version}/namespaces/$namespace/horizontalpodautoscalers"
    return path + (f"/{name}" if name else "") + (f"?{query}" if query else "")


def _get(version: str, name: str = "a", query: str = "", **more: Any) -> Object:
    return {"method": "GET", "path": _path(version, name, query), **more}


def _create(version: str, body: Object, query: str = "", **more: Any) -> Object:
    return {"method": "POST", "path": _path(version, query=query), "body": body, **more}


def _patch(version: str, body: Any, kind: str = _MERGE, name: str = "a", query: str = "", **more: Any) -> Object:
    return {"method": "PATCH", "path": _path(version, name, query), "type": kind, "body": body, **more}


def _put(version: str, body: Object, name: str = "a", **more: Any) -> Object:
    return {"method": "PUT", "path": _path(version, name), "body": body, **more}


def _both(version: str, body: Object) -> list[Object]:
    """Made in one version, and read in both, first in the other one."""
    return [_create(version, body, fields=True), _get(_OTHER[version]), _get(version)]


def _with_status(version: str, body: Object) -> list[Object]:
    return [
        _create("v2", autoscalers_bodies.made("v2")),
        _patch(version, body, name="a/status", fields=True),
        *(_get("v1"), _get("v2"), _get("v1", "a/status")),
    ]


def _given(version: str, spec: Object, **metadata: Any) -> Object:
    """What a manager applies."""
    kind = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler"}
    return {**kind, "metadata": {"name": "a", **metadata}, "spec": spec}


def _changes() -> Iterator[Object]:
    v1, v2, metrics = (
        autoscalers_bodies.made("v1"),
        autoscalers_bodies.made("v2"),
        autoscalers_bodies.WANTED["pods"],
    )
    rich = autoscalers_bodies.made("v2", metrics=[metrics, autoscalers_bodies.processors(60)], minReplicas=2)
    yield _story(
        "changes: a percentage in v1 of what v2 has",
        *(_create("v2", rich), _patch("v1", {"spec": {"targetCPUUtilizationPercentage": 50}}, fields=True)),
        *(_get("v2"), _patch("v1", {"spec": {"targetCPUUtilizationPercentage": None}}), _get("v2", fields=True)),
    )
    yield _story(
        "changes: annotations of what v2 has",
        *(_create("v2", rich), _patch("v1", {"metadata": {"annotations": {f"{KEY}metrics": None}}}, fields=True)),
        _get("v2"),
        _patch("v1", {"metadata": {"annotations": {f"{KEY}behavior": autoscalers_bodies.SCALE_UP, "x": "y"}}}),
        *(_get("v2"), _get("v1")),
    )
    yield _story(
        "changes: an annotation of v1 in v2",
        *(_create("v2", v2), _patch("v2", {"metadata": {"annotations": {f"{KEY}behavior": "{}", "x": "y"}}})),
        *(_get("v1"), _patch("v2", {"metadata": {"annotations": {f"{KEY}behavior": "{}"}}}), _get("v2", fields=True)),
    )
    yield _story(
        "changes: none, in the other version",
        *(_create("v2", rich), _patch("v1", {}), _patch("v1", {"metadata": {"annotations": {f"{KEY}x": "y"}}})),
        *(_patch("v1", {"spec": {"maxReplicas": 5}}), _patch("v1", {"spec": {"maxReplicas": 5}}), _get("v2")),
    )
    yield _story(
        "changes: replaced in v1 without its annotations",
        *(_create("v2", rich), _put("v1", v1, fields=True), _get("v2"), _put("v2", rich, fields=True), _get("v1")),
    )
    yield _story(
        "changes: patches of each type in v1",
        _create("v2", rich),
        _patch("v1", [{"op": "replace", "path": "/spec/targetCPUUtilizationPercentage", "value": 7}], _JSON),
        _patch("v1", [{"op": "remove", "path": "/metadata/annotations"}], _JSON),
        _patch("v1", [{"op": "test", "path": "/spec/metrics", "value": []}], _JSON),
        _patch("v1", {"spec": {"scaleTargetRef": {"name": "other"}, "targetCPUUtilizationPercentage": 8}}, _STRATEGIC),
        _patch("v1", {"spec": {"metrics": []}}, _STRATEGIC),
        *(_get("v1"), _get("v2")),
    )
    yield _story(
        "changes: the status is not written with the rest",
        *(_create("v2", v2), _patch("v2", {"status": {"currentReplicas": 4, "desiredReplicas": 4}})),
        _patch("v1", {"status": {"currentReplicas": 4}, "spec": {"maxReplicas": 9}}),
        _patch("v1", {"metadata": {"annotations": {f"{KEY}conditions": autoscalers_bodies.CONDITIONS}}}),
        _patch("v1", {"status": {"currentReplicas": 4}, "spec": {"maxReplicas": 99}}, name="a/status", fields=True),
        *(_get("v2"), _get("v1")),
    )
    yield _story(
        "changes: dry runs and deletions in v1",
        *(_create("v1", v1, "dryRun=All"), _get("v1"), _create("v1", v1), _create("v2", v2), _create("v1", v1)),
        *(_patch("v1", {"spec": {"maxReplicas": 9}}, query="dryRun=All"), _get("v2")),
        *({"method": "DELETE", "path": _path("v1", "a")}, _get("v2"), _create("v2", v2)),
        *({"method": "DELETE", "path": _path("v1")}, _get("v2", "")),
    )


def _applies() -> Iterator[Object]:
    fields: Any = {"fields": True}
    of_v1 = {"scaleTargetRef": REFERENCE, "maxReplicas": 3, "targetCPUUtilizationPercentage": 60}
    of_v2 = {"scaleTargetRef": REFERENCE, "maxReplicas": 3, "metrics": [autoscalers_bodies.processors(60)]}
    yield _story(
        "applied: in both versions by two managers",
        _patch("v1", _given("v1", of_v1), _APPLY, query="fieldManager=one", **fields),
        _patch("v2", _given("v2", of_v2), _APPLY, query="fieldManager=two", **fields),
        _patch("v2", _given("v2", {**of_v2, "maxReplicas": 4}), _APPLY, query="fieldManager=two", **fields),
        _patch("v2", _given("v2", {**of_v2, "maxReplicas": 4}), _APPLY, query="fieldManager=two&force=1", **fields),
        _patch("v1", _given("v1", of_v1), _APPLY, query="fieldManager=one", **fields),
        _patch(
            "v1",
            _given("v1", {**of_v1, "targetCPUUtilizationPercentage": 50}),
            _APPLY,
            query="fieldManager=one&force=1",
            **fields,
        ),
        *(_get("v1", **fields), _get("v2", **fields)),
    )
    yield _story(
        "applied: in one version after the other",
        _patch("v2", _given("v2", {**of_v2, "behavior": {"scaleUp": {}}}), _APPLY, query="fieldManager=one", **fields),
        _patch("v1", _given("v1", of_v1), _APPLY, query="fieldManager=one", **fields),
        _get("v2", **fields),
        _patch("v1", _given("v1", {**of_v1, "minReplicas": 2}), _APPLY, query="fieldManager=one", **fields),
        _patch("v2", _given("v2", of_v2), _APPLY, query="fieldManager=one", **fields),
        _get("v1", **fields),
    )
    texts = {f"{KEY}metrics": autoscalers_bodies.texts(autoscalers_bodies.OLDER["pods"]), "x": "y"}
    yield _story(
        "applied: annotations of v1",
        _patch("v1", _given("v1", of_v1, annotations=texts), _APPLY, query="fieldManager=one", **fields),
        *(_get("v1", **fields), _get("v2", **fields)),
        _patch("v1", _given("v1", of_v1), _APPLY, query="fieldManager=one", **fields),
        _get("v2", **fields),
        _patch("v2", _given("v2", of_v2, annotations=texts), _APPLY, query="fieldManager=two", **fields),
        *(_get("v1", **fields), _get("v2", **fields)),
    )
    yield _story(
        "applied: what was written in the other version",
        _create("v2", autoscalers_bodies.made("v2"), agent="maker", **fields),
        _patch("v1", _given("v1", {**of_v1, "minReplicas": 3}), _APPLY, query="fieldManager=one", **fields),
        _patch("v1", _given("v1", {**of_v1, "minReplicas": 3}), _APPLY, query="fieldManager=one&force=1", **fields),
        _patch("v2", {"spec": {"minReplicas": 1}}, agent="third", **fields),
        _patch("v1", {"spec": {"targetCPUUtilizationPercentage": 9}}, agent="fourth", **fields),
        _patch("v2", {"spec": {"metrics": [autoscalers_bodies.WANTED["pods"]]}}, agent="fifth", **fields),
        _patch("v1", {"status": {"currentReplicas": 4}}, name="a/status", agent="sixth", **fields),
        *(_get("v1", **fields), _get("v2", **fields)),
    )


def _reads() -> Iterator[Object]:
    rich = autoscalers_bodies.made("v2", metrics=[*autoscalers_bodies.WANTED.values()])
    few = [_create("v1", autoscalers_bodies.made("v1", name="b", targetCPUUtilizationPercentage=9))]
    yield _story(
        "read: lists, tables and metadata in both",
        *(_create("v2", rich), *few, _get("v1", ""), _get("v2", ""), _get("v1", accept=_TABLE)),
        *(_get("v1", "", accept=_TABLE), _get("v2", "", accept=_TABLE)),
        *(_get("v1", "", "includeObject=Object", accept=_TABLE), _get("v1", "", "includeObject=None", accept=_TABLE)),
        *(_get("v1", accept=_PARTIAL), _get("v1", "", accept=_PARTIALS), _get("v2", accept=_PARTIAL)),
        _patch("v1", {"metadata": {"annotations": {f"{KEY}behavior": autoscalers_bodies.SCALE_UP}}}, accept=_PARTIAL),
        *(_get("v1", "", "fieldSelector=metadata.name=b"), _get("v1", "", "limit=1"), _get("v1", "missing")),
    )
    changes = [
        *(_create("v2", rich), *few, _patch("v1", {"spec": {"maxReplicas": 9}})),
        _patch("v2", {"metadata": {"labels": {"l": "1"}}}, name="b"),
        *({"method": "DELETE", "path": _path(version, name)} for version, name in (("v1", "a"), ("v2", "b"))),
    ]
    for version in ("v1", "v2"):
        watch = "watch=1&timeoutSeconds=5&resourceVersion=$since&labelSelector="
        yield _story(
            f"read: watched in {version}",
            *changes,
            _get(version, "", watch, events=6),
            _get(version, "", f"{watch}l", events=2),
        )


def _refusals() -> Iterator[Object]:
    v1, v2 = autoscalers_bodies.made("v1"), autoscalers_bodies.made("v2")
    kind = {"kind": "HorizontalPodAutoscaler"}
    for validation in ("Strict", "Warn", "Ignore"):
        query = f"fieldValidation={validation}"
        yield _story(
            f"refused: fields of the other version, {validation}",
            _create("v1", {**v1, "spec": {**v1["spec"], "metrics": [], "behavior": {}}}, query),
            _create("v2", {**v2, "spec": {**v2["spec"], "targetCPUUtilizationPercentage": 5}}, query),
            _patch("v1", {"spec": {"behavior": {"scaleUp": {}}}}, query=query),
        )
    yield _story(
        "refused: wrong types and kinds",
        _create("v1", {**v1, "spec": {**v1["spec"], "targetCPUUtilizationPercentage": "5"}}),
        _create("v1", {**v1, "spec": {**v1["spec"], "targetCPUUtilizationPercentage": 2**31}}),
        _create("v1", {**v1, "metadata": {"name": "a", "annotations": {f"{KEY}metrics": []}}}),
        *(_create("v1", {**kind, "apiVersion": "autoscaling/v2", **v1}), _create("v1", {**v1, "kind": "Scale"})),
        _create("v2", {**kind, "apiVersion": "autoscaling/v1", **v2}),
        *(_create("v1", v1), _put("v1", {**v1, "metadata": {"name": "b"}}), _put("v1", json.loads("{}"))),
    )
