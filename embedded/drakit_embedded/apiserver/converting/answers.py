"""The converted object in the answer of a program, once it has been checked.

``getConvertedObjectsFromResponse``, ``validateConvertedObject`` and ``restoreObjectMeta`` of
k8s.io/apiextensions-apiserver v0.37 pkg/apiserver/conversion/webhook_converter.go.
"""

from __future__ import annotations

import copy
from typing import Any

from drakit_api.golang import gojson
from drakit_api.golang.goerrors import aggregated
from drakit_api.golang.gostrings import quote, to_json
from drakit_api.kubernetes_objects import Object
from drakit_api.validation.metadata import annotation_rules, label_map
from drakit_embedded.apiserver.admission.webhooks import replies
from drakit_embedded.apiserver.admission.webhooks.replies import ReplyError, Wanted
from drakit_embedded.apiserver.converting.reviews import GROUP, KIND
from drakit_embedded.apiserver.outgoing.clients import Reply
from drakit_embedded.apiserver.registry.custom import decoding
from drakit_embedded.apiserver.registry.custom.unreadable import ConversionError

_MAP = "map[string]interface {}"


def converted(reply: Reply, uid: str, version: str, sent: Object, wanted: str) -> Object:
    """Read the object that became of the one that was ``sent`` in a review of a version.

    Raises:
        ConversionError: if there is none, or it is not what it must be.
    """
    kind = sent["kind"]
    group, _, named = sent["apiVersion"].rpartition("/")
    of_program = f"conversion webhook for {group}/{named}, Kind={kind}"
    try:
        found = _objects(reply, uid, version)
    except ReplyError as error:
        raise ConversionError(f"{of_program} failed: {error}") from None
    if len(found) != 1:
        raise ConversionError(f"{of_program} returned {len(found)} objects, expected 1")
    obj = _object(found[0])
    problem = _of_type(obj, kind, wanted)
    if problem:
        raise ConversionError(f"{of_program} returned invalid object at index 0: {problem}")
    if problem := _of_identity(obj, sent):
        raise ConversionError(f"{of_program} returned invalid object: {problem}")
    if problem := _restore(obj, sent):
        raise ConversionError(f"{of_program} returned invalid metadata: {problem}")
    return obj


def _objects(reply: Reply, uid: str, version: str) -> list[Any]:
    review = replies.review(reply, Wanted(GROUP, KIND, version))
    if version == "v1":
        _check_type(review)
    response = review.get("response")
    if response is None:
        raise ReplyError("no response provided")
    if version == "v1" and (found := response.get("uid") or "") != uid:
        raise ReplyError(f"expected response.uid={quote(uid)}, got {quote(found)}")
    result: Object = response.get("result") or {}
    if result.get("status") != "Success":
        raise ReplyError(
            result.get("message") or f"response.result.status was '{result.get('status') or ''}', not 'Success'"
        )
    return response.get("convertedObjects") or []


def _check_type(review: Object) -> None:
    kind, api_version = review.get("kind") or "", review.get("apiVersion") or ""
    if (kind, api_version) != (KIND, f"{GROUP}/v1"):
        group, _, named = api_version.rpartition("/")
        raise ReplyError(f"expected webhook response of {GROUP}/v1, Kind={KIND}, got {group}/{named}, Kind={kind}")


def _object(found: Any) -> Object:
    """Read an object as upstream does from raw JSON, in which null is nothing (UnstructuredJSONScheme)."""
    if found is None:
        raise ConversionError("unexpected end of JSON input")
    if not isinstance(found, dict):
        raise ConversionError(f"json: cannot unmarshal {gojson.name_of(found)} into Go value of type {_MAP}")
    if not found.get("kind"):
        raise ConversionError(f"Object 'Kind' is missing in '{to_json(found)}'")
    try:
        obj: Object = decoding.copied(found)
    except OverflowError as error:
        raise ConversionError(str(error)) from None
    return obj


def _of_type(obj: Object, kind: str, wanted: str) -> str:
    if (found := _text(obj, "apiVersion")) != wanted:
        return f"invalid groupVersion (expected {wanted}, received {found})"
    if (found := _text(obj, "kind")) != kind:
        return f"invalid kind (expected {kind}, received {found})"
    return ""


def _of_identity(obj: Object, sent: Object) -> str:
    meta = obj.get("metadata")
    found, was = meta if isinstance(meta, dict) else {}, sent["metadata"]
    for field, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        if _text(found, field) != _text(was, field):
            return f"must have the same {shown}: {_text(was, field)} != {_text(found, field)}"
    return ""


def _text(obj: Object, field: str) -> str:
    value = obj.get(field)
    return value if isinstance(value, str) else ""


def _restore(obj: Object, sent: Object) -> str:
    """Put the metadata back that was sent, but for labels and annotations; says what is wrong about these."""
    if "metadata" not in obj:
        return "missing metadata in converted object"
    given = obj["metadata"]
    if not isinstance(given, dict):
        return f"invalid metadata of type {_go_type(given)} in converted object"
    meta = obj["metadata"] = copy.deepcopy(sent["metadata"])
    for field in ("labels", "annotations"):
        found, was = given.get(field), meta.pop(field, None) or {}
        if found is None:
            continue
        if problem := _of_texts(field, found):
            return problem
        if found != was and (problem := _of_names(field, found)):
            return problem
        if found:
            # What is empty is lost when the metadata is read by its Go type, as it is after that.
            meta[field] = found
    return ""


def _of_texts(field: str, found: Any) -> str:
    if not isinstance(found, dict):
        return f"invalid metadata.{field} of type {_go_type(found)} in converted object"
    for key, value in found.items():
        if not isinstance(value, str):
            return f"metadata.{field}[{key}] must be a string, but is {_go_type(value)} in converted object"
    return ""


def _of_names(field: str, found: Object) -> str:
    if field == "labels":
        faults = label_map(found, "metadata.labels")
    else:
        faults = annotation_rules({"annotations": found}, "metadata")
    # Upstream's path of annotations lacks the last letter.
    shown = {"labels": "metadata.labels", "annotations": "metadata.annotation"}[field]
    return aggregated(f"{shown}: {fault.message}" for fault in faults)


def _go_type(value: Any) -> str:
    names = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}", dict: _MAP}
    return names.get(type(value), "<nil>")
