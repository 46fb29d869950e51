"""Brings an answer into the form in which it is recorded: without times, versions and orders that mean nothing."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from tests.vectors.stories import places, texts

_AGE = re.compile(r"^(\d+[smhdy])+$")
_WARNING = re.compile(r'^299 \S+ "(.*)"$', re.DOTALL)
_CHOSEN = ("uid", "resourceVersion", "creationTimestamp", "selfLink")


def recorded(step: dict[str, Any], code: int, body: Any, warnings: Sequence[str]) -> dict[str, Any]:
    """Build what would be recorded of the answer to a step."""
    answer: dict[str, Any] = {"code": code}
    keep = step.get("keep", ())
    if _is_failure(code, body):
        answer |= {"reason": body.get("reason"), "message": body.get("message")}
        details = body.get("details") or {}
        if details.get("causes"):
            answer["causes"] = details["causes"]
        if told := {key: details[key] for key in ("name", "group", "kind", "retryAfterSeconds") if key in details}:
            answer["details"] = told
    elif step.get("pick"):
        answer["object"] = plain(places.picked(body, step["pick"]), keep)
    elif isinstance(body, dict) and isinstance(body.get("items"), list):
        answer["list"] = plain(body, keep)
        if step.get("unordered"):
            answer["list"]["items"].sort(key=_sorted_text)
    elif body is not None:
        answer["object"] = plain(body, keep)
    return {**answer, "warnings": list(warnings)} if warnings else answer


def _is_failure(code: int, body: Any) -> bool:
    return isinstance(body, dict) and body.get("kind") == "Status" and (code >= 300 or body.get("status") == "Failure")


def events(listed: Sequence[dict[str, Any]], keep: Collection[str]) -> list[dict[str, Any]]:
    """Build what would be recorded of the events of a watch."""
    found = []
    for event in listed:
        obj = plain(event.get("object"), keep)
        if event.get("type") == "ERROR" and isinstance(obj, dict):
            obj = {key: obj.get(key) for key in ("code", "reason", "message")}
        if event.get("type") == "BOOKMARK":
            obj = {key: obj.get(key) for key in ("kind", "apiVersion")}
        found.append({"type": event.get("type"), "object": obj})
    return found


def warned(headers: Sequence[str]) -> list[str]:
    """Read the texts of Warning headers, sorted."""
    return sorted(re.sub(r"\\(.)", r"\1", _WARNING.sub(r"\1", header)) for header in headers)


def plain(body: Any, keep: Collection[str] = ()) -> Any:
    """Copy a body without what each server chooses."""
    if not isinstance(body, dict):
        return body
    body = copy.deepcopy(body)
    _object(body, keep)
    _discovery(body)
    for item in body["items"] if isinstance(body.get("items"), list) else ():
        _object(item, keep)
    if body.get("kind") == "Table":
        _table(body, keep)
    if body.get("kind") == "AdmissionReview" and isinstance(body.get("request"), dict):
        _review(body["request"], keep)
    return body


def _object(obj: Any, keep: Collection[str]) -> None:
    if not isinstance(obj, dict):
        return
    if isinstance(meta := obj.get("metadata"), dict):
        _metadata(meta, keep)
    status = obj.get("status")
    if not isinstance(status, dict) or not isinstance(status.get("conditions"), list):
        return
    version = str(obj.get("apiVersion", ""))
    is_definition = obj.get("kind") == "CustomResourceDefinition" or version.startswith("apiextensions.k8s.io")
    if is_definition or "acceptedNames" in status:
        del status["conditions"]
        return
    for condition in status["conditions"]:
        if isinstance(condition, dict):
            condition.pop("lastTransitionTime", None)


def _metadata(meta: dict[str, Any], keep: Collection[str]) -> None:
    for field in _CHOSEN:
        if field not in keep:
            meta.pop(field, None)
    if "managedFields" not in keep:
        meta.pop("managedFields", None)
    for entry in meta.get("managedFields") or ():
        entry.pop("time", None)
    if isinstance(meta.get("managedFields"), list):
        # Servers sort them by time, in seconds.
        meta["managedFields"].sort(key=_manager)
    if "deletionTimestamp" in meta:
        meta["deletionTimestamp"] = "<time>"
    if meta.get("continue"):
        meta["continue"] = "<continue>"
    for owner in meta.get("ownerReferences") or ():
        if isinstance(owner, dict) and texts.UUID.fullmatch(str(owner.get("uid"))):
            owner["uid"] = "<uid>"


def _manager(entry: dict[str, Any]) -> tuple[str, ...]:
    who = (str(entry.get(key, "")) for key in ("manager", "operation", "subresource", "apiVersion"))
    return (*who, _sorted_text(entry.get("fieldsV1")))


def _discovery(body: dict[str, Any]) -> None:
    lists = [body.get("resources")]
    lists += [each.get("resources") for each in body.get("versions") or () if isinstance(each, dict)]
    for listed in lists:
        if isinstance(listed, list):
            listed.sort(key=lambda each: str(each.get("name") or each.get("resource")))


def _table(body: dict[str, Any], keep: Collection[str]) -> None:
    for row in body.get("rows") or ():
        cells = row.get("cells") or ()
        row["cells"] = ["<age>" if isinstance(cell, str) and _AGE.match(cell) else cell for cell in cells]
        _object(row.get("object"), keep)


def _review(request: dict[str, Any], keep: Collection[str]) -> None:
    request["uid"] = "<uid>"
    _object(request.get("object"), keep)
    _object(request.get("oldObject"), keep)
    if isinstance(user := request.get("userInfo"), dict):
        user.pop("uid", None)
        extra = user.get("extra") or {}
        extra.pop("authentication.kubernetes.io/credential-id", None)
        if not extra:
            user.pop("extra", None)


def _sorted_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
