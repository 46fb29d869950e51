"""Strategic merge patch: a merge patch in which some lists are merged item by item.

After k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, with its directives ``$patch``, ``$retainKeys``,
``$deleteFromPrimitiveList/...`` and ``$setElementOrder/...``.
"""

from __future__ import annotations

from typing import Any

from drakit_api.golang.gostrings import formatted
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.statuses import StatusError, bad_request
from drakit_embedded.apiserver.writing.merge_keys import SET, Node

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_PRIMITIVE = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"
_SCALARS = (str, int, float)


def merge(target: Object, patch: Object, node: Node) -> Object:
    """Apply a patch to an object, which is changed and returned; 400 for a patch that contradicts itself."""
    directive = patch.get(_DIRECTIVE)
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _DIRECTIVE}
    if directive == "delete":
        return {}
    if _DIRECTIVE in patch:
        raise _unknown_directive(patch)
    _retain(target, patch)
    _check_orders(target, patch, node)
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


def _unknown_directive(patch: Object) -> StatusError:
    directive = patch[_DIRECTIVE]
    shown = directive if isinstance(directive, str) else f"%!s({formatted(directive)})"
    return StatusError(500, "", f"unknown patch type: {shown} in map: {formatted(patch)}")


def leftover(patch: Object) -> Object:
    """Compute what merging leaves of a patch upstream, which error messages show: lists with an order are used up."""
    return {
        key: leftover(value) if isinstance(value, dict) else value
        for key, value in patch.items()
        if not key.startswith(_ORDER) and _ORDER + key not in patch
    }


def _retain(target: Object, patch: Object) -> None:
    """Keep what ``$retainKeys`` names, all that the patch sets among it (``applyRetainKeysDirective``)."""
    if _RETAIN not in patch:
        return
    listed = patch[_RETAIN]
    retained = {key for key in listed if isinstance(key, str)} if isinstance(listed, list) else set()
    set_here = [key for key in patch if key != _RETAIN and not key.startswith((_DELETE_PRIMITIVE, _ORDER))]
    if not isinstance(listed, list) or any(patch[key] is not None and key not in retained for key in set_here):
        raise bad_request("invalid patch format of retainKeys")
    for key in [key for key in target if key not in retained]:
        del target[key]


def _check_orders(target: Object, patch: Object, node: Node) -> None:
    """Check that an order is a list and belongs to a list (``mergePatchIntoOriginal``)."""
    for key, order in patch.items():
        if key.startswith(_ORDER):
            field = key.removeprefix(_ORDER)
            for value in (order, *(holder[field] for holder in (target, patch) if field in holder)):
                if not isinstance(value, list):
                    raise StatusError(500, "", f"expected a []interface {{}}, but received a {_go_type(value)}")
            _check_order(patch.get(field, []), order, node.child(field))


def _check_order(items: list[Any], order: list[Any], node: Node) -> None:
    """Check that the items of a patch stand in the order that it asks for (``validatePatchWithSetOrderList``)."""
    if not items or not order or node.key is None:
        return
    remaining = iter(_id(item, node) for item in order)
    if not all(_id(item, node) in remaining for item in items if not _is_directive(item)):
        shown = f"{formatted(items)}\n doesn't match {_ORDER.removesuffix('/')} list:\n{formatted(order)}\n"
        raise StatusError(500, "", f"The order in patch list:\n{shown}")


def _go_type(value: Any) -> str:
    """Name the type of a decoded value as Go's reflection does."""
    names = {bool: "bool", str: "string", int: "int64", float: "float64", dict: "map[string]interface {}"}
    return names.get(type(value), "%!s(<nil>)")


def _without_directives(value: Any) -> Any:
    """Remove nulls and directives from a value that there is nothing to merge into."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if item is not None and not _is_directive(item)}
        return {key: _without_directives(item) for key, item in kept.items()}
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _is_directive(item)]
    return value


def _merge_field(target: Object, key: str, value: Any, node: Node, order: Any) -> None:
    if value is None:
        target.pop(key, None)
        return
    present = target.get(key)
    if isinstance(value, dict) and isinstance(present, dict):
        target[key] = merge(present, value, node)
    elif isinstance(value, list) and node.key is not None and (isinstance(present, list) or order is not None):
        live = present if isinstance(present, list) else []
        wanted = order if isinstance(order, list) else [item for item in value if not _is_directive(item)]
        target[key] = _ordered(_merge_list(live, value, node), wanted, live, node)
    elif _is_directive(value):
        target.pop(key, None)
    else:
        target[key] = _without_directives(value)


def _merge_list(present: list[Any], patch: list[Any], node: Node) -> list[Any]:
    """Merge items of the patch into the first ones that have the same key; the others stay (``mergeSlice``)."""
    _check_types(present, patch)
    if node.key == SET:
        return list({_id(value, node): value for value in (*present, *patch)}.values())
    kept, wanted = _after_directives(present, patch, node)
    first: dict[Any, int] = {}
    for at, item in enumerate(kept):
        first.setdefault(_id(item, node), at)
    for item in wanted:
        at = first.setdefault(_id(item, node), len(kept))
        if at < len(kept):
            kept[at] = merge(kept[at], item, node.item)
        else:
            kept.append(merge({}, item, node.item))
    return kept


def _check_types(present: list[Any], patch: list[Any]) -> None:
    """Check that both lists have items of one type, and that they are no lists (``sliceElementType``)."""
    types = {type(item) for item in (*present, *patch)}
    if types == {list}:
        raise StatusError(500, "", "lists of lists are not supported")
    if len(types) > 1:
        raise StatusError(500, "", f"list element types are not identical: {formatted([present, patch])}")


def _after_directives(present: list[Any], patch: list[Any], node: Node) -> tuple[list[Any], list[Any]]:
    """Apply directives: what is left of a list, and the items to merge into it (``mergeSliceWithSpecialElements``)."""
    wanted = [item for item in patch if not _is_directive(item)]
    deleted, replaced = set(), False
    for item in patch:
        if not _is_directive(item):
            continue
        directive = item[_DIRECTIVE]
        if directive == "delete":
            deleted.add(_id(item, node))
        elif directive == "replace":
            replaced = True
        elif directive == "merge":
            raise StatusError(500, "", "merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(item)
    if replaced:
        return [merge({}, item, node.item) for item in wanted], []
    return [item for item in present if not deleted or _id(item, node) not in deleted], wanted


def _is_directive(item: Any) -> bool:
    return isinstance(item, dict) and _DIRECTIVE in item


def _delete_values(target: Object, key: str, values: Any) -> None:
    present = target.get(key)
    if isinstance(present, list) and isinstance(values, list):
        deleted = {value for value in values if isinstance(value, _SCALARS)}
        target[key] = [value for value in present if not isinstance(value, _SCALARS) or value not in deleted]


def _reorder_field(target: Object, key: str, order: Any, node: Node) -> None:
    present, child = target.get(key), node.child(key)
    if isinstance(present, list) and isinstance(order, list) and child.key is not None:
        target[key] = _ordered(present, order, present, child)


def _ordered(items: list[Any], order: list[Any], live: list[Any], node: Node) -> list[Any]:
    """Sort items as in the patch, and put between them those that only the server has (normalizeElementOrder).

    An item of the server stands before the first one of the patch that follows it in the live list; the patch's own
    new items come before all that is not known to precede them.
    """
    rank, place = _ranks(order, node), _ranks(live, node)
    named = sorted((item for item in items if _id(item, node) in rank), key=lambda item: rank[_id(item, node)])
    found: list[Any] = []
    taken = 0
    for item in (item for item in items if _id(item, node) not in rank):
        here = place.get(_id(item, node))
        while taken < len(named) and not (here is not None and here < place.get(_id(named[taken], node), -1)):
            found.append(named[taken])
            taken += 1
        found.append(item)
    return found + named[taken:]


def _ranks(items: list[Any], node: Node) -> dict[Any, int]:
    """Find where the first item of each identity stands."""
    found: dict[Any, int] = {}
    for index, item in enumerate(items):
        found.setdefault(_id(item, node), index)
    return found


def _id(item: Any, node: Node) -> Any:
    """Identify an item by itself, or by the value of its key; as in Go, 1 equals neither true nor 1.0."""
    if node.key == SET:
        return (type(item), item if isinstance(item, _SCALARS) else repr(item))
    assert node.key is not None
    if not isinstance(item, dict) or not isinstance(item.get(node.key), _SCALARS):
        raise StatusError(500, "", f"map: {formatted(item)} does not contain declared merge key: {node.key}")
    return type(item[node.key]), item[node.key]
