"""Server-side apply: a manager says what it wants of an object, and what it no longer says goes away.

The fields that each manager applied are kept in ``metadata.managedFields`` in Kubernetes' form (fieldsV1). Two managers
that want different values of one field conflict unless one forces it. Only applying managers are tracked: who changed a
field by PUT or by another patch type is not recorded, so nobody conflicts with them.
(k8s.io/apimachinery/pkg/util/managedfields)
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from drakit_api.gostrings import quote
from drakit_embedded.apiserver import merge_keys, metadata, statuses, writes
from drakit_embedded.apiserver.call import Call
from drakit_embedded.apiserver.merge_keys import SET, Node
from drakit_embedded.apiserver.statuses import Object

# Leaves of a field set; each path is a tuple of fieldsV1 elements such as ``f:spec`` and ``k:{"name":"a"}``.
Path = tuple[str, ...]
_UNKNOWN_FIELD = re.compile(r'unknown field "([^"]+)"')
_PATH_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_IDENTITY = ("name", "namespace", "uid", "creationTimestamp", "resourceVersion", "managedFields", "generation")


def apply(call: Call, wanted: Object, *, subresource: str | None, dry_run: bool) -> writes.Written:
    """Create or merge; 409 if another manager applied a different value of the same field."""
    api, served, key, query = call.api, call.served, call.key, call.query
    manager = query.text("fieldManager")
    if not manager:
        cause = statuses.Cause("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")
        raise statuses.invalid("PatchOptions", "meta.k8s.io", "", [cause])
    node = merge_keys.of(served.kind.group, served.kind.plural)
    try:
        body = call.incoming(copy.deepcopy(wanted), "Strict")
    except statuses.StatusError as error:
        raise _untyped(error, call, wanted, node) from None
    meta = body["metadata"]
    if meta.pop("managedFields", None):
        raise statuses.bad_request("metadata.managedFields must be nil")
    if meta.setdefault("name", key[1]) != key[1]:
        raise statuses.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({key[1]})"
        )
    claimed = field_set(body, node)
    entry = _entry(manager, served.fields_version, subresource, claimed)
    if key not in served.collection.records:
        if subresource is not None:
            raise statuses.not_found(served.kind.plural, served.kind.group, key[1])
        meta["managedFields"] = [entry]
        return writes.create(api, served, key[0] or None, body, dry_run=dry_run, user=call.user)

    def change(stored: Object) -> Object:
        return _merged(stored, body, node, claimed, entry, force=query.flag("force"))

    return writes.update(
        api, served, key, change, subresource=subresource, dry_run=dry_run, user=call.user, verb="patch"
    )


def _untyped(error: statuses.StatusError, call: Call, wanted: Object, node: Node) -> statuses.StatusError:
    """What the types do not have, in the words of structured-merge-diff, and never just warned about."""
    unknown = _UNKNOWN_FIELD.findall(error.message) if "strict decoding error" in error.message else []
    if not unknown:
        return error
    found = [f"{_typed_path(path, wanted, node)}: field not declared in schema" for path in unknown]
    listed = found[0] if len(found) == 1 else "errors:" + "".join(f"\n  {text}" for text in found)
    kind, name = call.served.kind, "/".join(filter(None, call.key))
    what = f"{name}; {kind.api_version if kind.group else '/' + kind.version}, Kind={kind.kind}"
    return statuses.StatusError(500, "", f"failed to create typed patch object ({what}): {listed}")


def _typed_path(path: str, obj: Any, node: Node) -> str:
    """``spec.containers[0].imag`` as ``.spec.containers[name="c"].imag``, where a list has keys."""
    text = ""
    for index, name in _PATH_STEP.findall(path):
        if name:
            obj, node = obj.get(name) if isinstance(obj, dict) else None, node.child(name)
            text += f".{name}"
        else:
            obj = obj[int(index)] if isinstance(obj, list) else None
            text += _dotted((_element(obj, node),)) if node.keys and isinstance(obj, dict) else f"[{index}]"
            node = Node(None, node.fields)
    return text


def _merged(stored: Object, body: Object, node: Node, claimed: set[Path], entry: Object, *, force: bool) -> Object:
    entries: list[Object] = stored["metadata"].get("managedFields") or []
    others = [other for other in entries if not _same_manager(other, entry)]
    mine = next((other for other in entries if _same_manager(other, entry)), None)
    _resolve_conflicts(stored, body, node, claimed, others, force=force)
    held = set().union(*(_leaves(other.get("fieldsV1") or {}) for other in others)) if others else set()
    for path in sorted(_leaves((mine or {}).get("fieldsV1") or {}) - claimed - held, key=len, reverse=True):
        _remove(stored, path, node)
    result: Object = _merge(stored, body, node)
    if mine is not None and mine.get("fieldsV1") == entry["fieldsV1"]:
        # Unchanged claims keep their time, so that applying the same again changes nothing.
        entry = mine
    result["metadata"]["managedFields"] = [*(other for other in others if other.get("fieldsV1")), entry]
    return result


def _same_manager(one: Object, other: Object) -> bool:
    return all(one.get(key) == other.get(key) for key in ("manager", "operation", "subresource"))


def _entry(manager: str, api_version: str, subresource: str | None, claimed: set[Path]) -> Object:
    entry: Object = {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": api_version,
        "time": metadata.timestamp(),
        "fieldsType": "FieldsV1",
        "fieldsV1": _tree(claimed),
    }
    if subresource:
        entry["subresource"] = subresource
    return entry


def field_set(obj: Object, node: Node) -> set[Path]:
    """The leaves that an applied object sets, without those that only name the object."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _IDENTITY}
    return _walk({**obj, "metadata": meta}, node, ())


def _walk(value: Any, node: Node, path: Path) -> set[Path]:
    if isinstance(value, dict) and value:
        return set().union(*(_walk(child, node.child(key), (*path, f"f:{key}")) for key, child in value.items()))
    if isinstance(value, list) and node.keys is not None and value:
        found: set[Path] = set()
        for item in value:
            here = (*path, _element(item, node))
            found.add((*here, "."))
            if isinstance(item, dict):
                found |= _walk(item, Node(None, node.fields), here)
        return found
    return {path} if path and path != ("f:metadata",) else set()


def _element(item: Any, node: Node) -> str:
    """The path element of a list item: its key, or for a set its value."""
    if node.keys == SET or not isinstance(item, dict):
        return "v:" + json.dumps(item, sort_keys=True, separators=(",", ":"))
    assert node.keys is not None
    return "k:" + json.dumps({key: item.get(key) for key in sorted(node.keys)}, separators=(",", ":"))


def _tree(paths: set[Path]) -> Object:
    tree: Object = {}
    for path in sorted(paths):
        at = tree
        for element in path:
            at = at.setdefault(element, {})
    return tree


def _leaves(tree: Object) -> set[Path]:
    found: set[Path] = set()

    def visit(node: Object, path: Path) -> None:
        if not node and path:
            found.add(path)
        for element, below in node.items():
            if isinstance(below, dict):
                visit(below, (*path, element))

    visit(tree, ())
    return found


def _resolve_conflicts(
    stored: Object, body: Object, node: Node, claimed: set[Path], others: list[Object], *, force: bool
) -> None:
    """Refuse, or with force take over, fields for which another manager applied another value."""
    causes = []
    for other in others:
        theirs = _leaves(other.get("fieldsV1") or {})
        fought = {
            path
            for path in theirs & claimed
            if path[-1] != "." and _lookup(stored, path, node) != _lookup(body, path, node)
        }
        if fought and force:
            other["fieldsV1"] = _tree(theirs - fought)
        else:
            causes += [(other.get("manager", ""), path) for path in sorted(fought)]
    if causes:
        raise _conflict(causes)


def _conflict(causes: list[tuple[str, Path]]) -> statuses.StatusError:
    listed = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {quote(manager)}",
            "field": _dotted(path),
        }
        for manager, path in causes
    ]
    plural = "s" if len(listed) > 1 else ""
    lines = "\n".join(f"- {cause['field']}" for cause in listed)
    managers = ", ".join(quote(manager) for manager in dict.fromkeys(manager for manager, _ in causes))
    if len(listed) == 1:
        message = f"Apply failed with 1 conflict: conflict with {managers}: {listed[0]['field']}"
    else:
        message = f"Apply failed with {len(listed)} conflict{plural}: conflicts with {managers}:\n{lines}"
    return statuses.StatusError(409, "Conflict", message, {"causes": listed})


def _dotted(path: Path) -> str:
    text = ""
    for element in path:
        kind, _, name = element.partition(":")
        if kind == "f":
            text += f".{name}"
        elif kind == "k":
            text += "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(name).items()) + "]"
        else:
            text += f"[={name}]"
    return text


def _lookup(obj: Any, path: Path, node: Node) -> Any:
    for element in path:
        if element == ".":
            return obj
        if element.startswith("f:"):
            name = element[2:]
            obj = obj.get(name) if isinstance(obj, dict) else None
            node = node.child(name)
        else:
            obj = next((item for item in obj or () if _element(item, node) == element), None)
            node = Node(None, node.fields)
    return obj


def _remove(obj: Any, path: Path, node: Node) -> None:
    """Take out what a manager no longer applies, unless it has gone already."""
    if path[-1] == ".":
        path = path[:-1]
    for element in path[:-1]:
        obj = _lookup(obj, (element,), node)
        node = node.child(element[2:]) if element.startswith("f:") else Node(None, node.fields)
    last = path[-1]
    if last.startswith("f:") and isinstance(obj, dict):
        obj.pop(last[2:], None)
    elif isinstance(obj, list):
        obj[:] = [item for item in obj if _element(item, node) != last]


def _merge(target: Any, wanted: Any, node: Node) -> Any:
    """Maps and keyed lists are merged; everything else is replaced."""
    if isinstance(target, dict) and isinstance(wanted, dict):
        for key, value in wanted.items():
            if value is None:
                target.pop(key, None)
            else:
                target[key] = _merge(target.get(key), value, node.child(key))
        return target
    if isinstance(target, list) and isinstance(wanted, list) and node.keys is not None:
        items = {_element(item, node): item for item in target}
        for item in wanted:
            element = _element(item, node)
            items[element] = _merge(items.get(element), item, Node(None, node.fields))
        return list(items.values())
    return wanted
