"""Strategic merge patch: a merge patch in which some lists are merged item by item.

After k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, with its directives ``$patch``, ``$retainKeys``,
``$deleteFromPrimitiveList/...`` and ``$setElementOrder/...``.
"""

from __future__ import annotations

from typing import Any

from drakit_api.gostrings import formatted
from drakit_embedded.apiserver.statuses import StatusError, bad_request
from drakit_embedded.apiserver.writing.merge_keys import SET, Node

Object = dict[str, Any]
_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_PRIMITIVE = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def merge(target: Object, patch: Object, node: Node) -> Object:
    """Apply a patch to an object, which is changed and returned; 400 for a patch that contradicts itself."""
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise bad_request(f"unknown patch type found: {directive} in {patch}")
    retained = patch.get(_RETAIN)
    if isinstance(retained, list):
        for key in [key for key in target if key not in retained]:
            del target[key]
    for key, value in patch.items():
        if key in (_DIRECTIVE, _RETAIN) or key.startswith(_ORDER):
            continue
        if key.startswith(_DELETE_PRIMITIVE):
            _delete_values(target, key.removeprefix(_DELETE_PRIMITIVE), value)
        else:
            _merge_field(target, key, value, node.child(key), patch.get(_ORDER + key))
    for key, order in patch.items():
        if key.startswith(_ORDER) and key.removeprefix(_ORDER) not in patch:
            _reorder_field(target, key.removeprefix(_ORDER), order, node)
    return target


def leftover(patch: Object) -> Object:
    """What merging leaves of a patch in the real server, whose messages show that: lists with an order are used up."""
    return {
        key: leftover(value) if isinstance(value, dict) else value
        for key, value in patch.items()
        if not key.startswith(_ORDER) and _ORDER + key not in patch
    }


def _merge_field(target: Object, key: str, value: Any, node: Node, order: Any) -> None:
    if value is None:
        target.pop(key, None)
        return
    present = target.get(key)
    if isinstance(value, dict):
        target[key] = merge(present if isinstance(present, dict) else {}, value, node)
    elif isinstance(value, list) and node.key is not None:
        live = present if isinstance(present, list) else []
        wanted = order if isinstance(order, list) else [item for item in value if not _is_directive(item)]
        target[key] = _ordered(_merge_list(live, value, node), wanted, live, node)
    else:
        target[key] = value


def _merge_list(present: list[Any], patch: list[Any], node: Node) -> list[Any]:
    if node.key == SET:
        return present + [value for value in patch if value not in present]
    key = node.key
    assert key is not None
    items: dict[Any, Any] = {}
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" and len(item) == 1 for item in patch):
        patch = [item for item in patch if not (isinstance(item, dict) and item.get(_DIRECTIVE) == "replace")]
    else:
        items = {_identity(item, key): item for item in present}
    for item in patch:
        identity = _identity(item, key)
        if item.get(_DIRECTIVE) == "delete":
            items.pop(identity, None)
        else:
            items[identity] = merge(items.get(identity, {}), item, node.item)
    return list(items.values())


def _is_directive(item: Any) -> bool:
    return isinstance(item, dict) and _DIRECTIVE in item


def _identity(item: Any, key: str) -> Any:
    if not isinstance(item, dict) or not isinstance(item.get(key), str | int):
        raise StatusError(500, "", f"map: {formatted(item)} does not contain declared merge key: {key}")
    return item[key]


def _delete_values(target: Object, key: str, values: Any) -> None:
    present = target.get(key)
    if isinstance(present, list) and isinstance(values, list):
        target[key] = [value for value in present if value not in values]


def _reorder_field(target: Object, key: str, order: Any, node: Node) -> None:
    present, child = target.get(key), node.child(key)
    if isinstance(present, list) and isinstance(order, list) and child.key is not None:
        target[key] = _ordered(present, order, present, child)


def _ordered(items: list[Any], order: list[Any], live: list[Any], node: Node) -> list[Any]:
    """Items in the order of the patch, and between them those that only the server has (normalizeElementOrder).

    An item of the server stands before the first one of the patch that follows it in the live list; the patch's own
    new items come before all that is not known to precede them.
    """
    rank, place = _ranks(order, node), _ranks(live, node)
    named = sorted((item for item in items if _id(item, node) in rank), key=lambda item: rank[_id(item, node)])
    found: list[Any] = []
    for item in (item for item in items if _id(item, node) not in rank):
        here = place.get(_id(item, node))
        while named and not (here is not None and here < place.get(_id(named[0], node), -1)):
            found.append(named.pop(0))
        found.append(item)
    return found + named


def _ranks(items: list[Any], node: Node) -> dict[Any, int]:
    return {_id(item, node): index for index, item in enumerate(items)}


def _id(item: Any, node: Node) -> Any:
    """What tells an item from the others: itself, or the value of its key."""
    if node.key == SET:
        return item if isinstance(item, str | int) else repr(item)
    assert node.key is not None
    return _identity(item, node.key)
