"""Strategic merge patch: a merge patch in which some lists are merged item by item.

After k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, with its directives ``$patch``, ``$retainKeys``,
``$deleteFromPrimitiveList/...`` and ``$setElementOrder/...``.
"""

from __future__ import annotations

from typing import Any

from drakit_embedded.apiserver.merge_keys import SET, Node
from drakit_embedded.apiserver.statuses import bad_request

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


def _merge_field(target: Object, key: str, value: Any, node: Node, order: Any) -> None:
    if value is None:
        target.pop(key, None)
        return
    present = target.get(key)
    if isinstance(value, dict):
        target[key] = merge(present if isinstance(present, dict) else {}, value, node)
    elif isinstance(value, list) and node.keys is not None:
        merged = _merge_list(present if isinstance(present, list) else [], value, node)
        target[key] = _ordered(merged, order, node) if isinstance(order, list) else merged
    else:
        target[key] = value


def _merge_list(present: list[Any], patch: list[Any], node: Node) -> list[Any]:
    if node.keys == SET:
        return present + [value for value in patch if value not in present]
    assert node.keys is not None
    # Strategic merge knows one key only; the others of a tuple are those of server-side apply.
    key = node.keys[0]
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
            items[identity] = merge(items.get(identity, {}), item, Node(None, node.fields))
    return list(items.values())


def _identity(item: Any, key: str) -> Any:
    if not isinstance(item, dict) or not isinstance(item.get(key), str | int):
        raise bad_request(f"map: {item} does not contain declared merge key: {key}")
    return item[key]


def _delete_values(target: Object, key: str, values: Any) -> None:
    present = target.get(key)
    if isinstance(present, list) and isinstance(values, list):
        target[key] = [value for value in present if value not in values]


def _reorder_field(target: Object, key: str, order: Any, node: Node) -> None:
    present, child = target.get(key), node.child(key)
    if isinstance(present, list) and isinstance(order, list) and child.keys is not None:
        target[key] = _ordered(present, order, child)


def _ordered(items: list[Any], order: list[Any], node: Node) -> list[Any]:
    """Items that the order names come in that order; the others keep their place before the next named one."""
    if node.keys == SET:
        rank = {value: index for index, value in enumerate(order) if isinstance(value, str | int)}
        identities: list[Any] = items
    else:
        assert node.keys is not None
        key = node.keys[0]
        rank = {_identity(entry, key): index for index, entry in enumerate(order)}
        identities = [_identity(item, key) for item in items]
    named = iter(
        sorted((i for i, identity in enumerate(identities) if identity in rank), key=lambda i: rank[identities[i]])
    )
    return [items[next(named)] if identity in rank else items[i] for i, identity in enumerate(identities)]
