"""Sets of fields, as the trees that fieldsV1 writes them in.

``{"f:data": {"f:a": {}, "f:b": {}}}`` are the fields ``data.a`` and ``data.b``; a node without anything below it
belongs to the set, one with something below it only if it has ``"."`` as well. The empty tree is the empty set. Trees
share their parts and are never changed. sigs.k8s.io/structured-merge-diff/v6/fieldpath/set.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from drakit_embedded.apiserver.managedfields import elements
from drakit_embedded.apiserver.managedfields.elements import SELF

Tree = dict[str, Any]
Path = tuple[str, ...]
# A member of a set, with nothing below it.
LEAF: Tree = {}
# Sorting by text is right as long as all elements are fields (``f:``).
_PAST_FIELDS = "g"


def of(paths: Iterable[Path]) -> Tree:
    """Build the set of some fields, none of which is part of another."""
    tree: Tree = {}
    for path in paths:
        node = tree
        for element in path:
            node = node.setdefault(element, {})
    return tree


def union(one: Tree, other: Tree) -> Tree:
    """Join two sets."""
    if not one:
        return other
    return _joined(one, other) if other else one


def union_of(trees: Sequence[Tree]) -> Tree:
    """Join many sets, in pairs, so that many small ones are not slow."""
    while len(trees) > 1:
        trees = [union(one, other) for one, other in zip_longest(trees[::2], trees[1::2], fillvalue=LEAF)]
    return trees[0] if trees else LEAF


def _joined(one: Tree, other: Tree) -> Tree:
    both = {**one, **other}
    for element in one.keys() & other.keys():
        both[element] = _both(one[element], other[element])
    return both


def _both(one: Tree, other: Tree) -> Tree:
    if one and other:
        return _joined(one, other)
    more = one or other
    return {SELF: LEAF, **more} if more and SELF not in more else more


def difference(one: Tree, other: Tree) -> Tree:
    """Remove fields from a set, but not what is below them; returns ``one`` itself if nothing changes."""
    if not one or one.keys().isdisjoint(other):
        return one
    rest = dict(one)
    changed = False
    for element in one.keys() & other.keys():
        node = one[element]
        left = _without(node, other[element])
        if left is None:
            del rest[element]
        elif left is not node:
            rest[element] = left
        changed = changed or left is not node
    return rest if changed else one


def _without(node: Tree, removed: Tree) -> Tree | None:
    if not node:
        return None if not removed or SELF in removed else node
    if not removed:
        removed = {SELF: LEAF}
    rest = difference(node, removed)
    if not rest:
        return None
    return LEAF if len(rest) == 1 and SELF in rest else rest


def without_below(one: Tree, other: Tree) -> Tree:
    """Remove fields and all that is below them from a set (RecursiveDifference)."""
    if not one or one.keys().isdisjoint(other):
        return one
    rest: Tree = {}
    for element, node in one.items():
        removed = other.get(element)
        if removed is None or not (node or _is_member(removed)):
            rest[element] = node
        elif not _is_member(removed):
            left = without_below(node, removed)
            if left:
                rest[element] = LEAF if len(left) == 1 and SELF in left else left
    return rest


def intersection(one: Tree, other: Tree) -> Tree:
    """Intersect two sets."""
    shared: Tree = {}
    for element, node in one.items():
        if element in other:
            common = _common(node, other[element])
            if common is not None:
                shared[element] = common
    return shared


def _common(one: Tree, other: Tree) -> Tree | None:
    if not one or not other:
        return LEAF if _is_member(one) and _is_member(other) else None
    shared = intersection(one, other)
    if not shared:
        return None
    return LEAF if len(shared) == 1 and SELF in shared else shared


def _is_member(node: Tree) -> bool:
    return not node or SELF in node


def has(tree: Tree, path: Path) -> bool:
    """Check whether a field is in the set."""
    for element in path:
        if element not in tree:
            return False
        tree = tree[element]
    return _is_member(tree)


def paths(tree: Tree, prefix: Path = ()) -> Iterator[Path]:
    """Iterate over the fields of a set in the order of conflict messages: those of a node before those below."""
    inner = sorted((element for element in tree if element != SELF), key=elements.rank)
    for element in inner:
        if _is_member(tree[element]):
            yield (*prefix, element)
    for element in inner:
        if tree[element]:
            yield from paths(tree[element], (*prefix, element))


def sorted_tree(tree: Tree) -> Tree:
    """Sort a set in the order in which it is written."""
    order = sorted(tree)
    if order and order[-1] > _PAST_FIELDS:
        order.sort(key=elements.rank)
    return {element: sorted_tree(below) if (below := tree[element]) else LEAF for element in order}


def parsed(content: object) -> Tree:
    """Parse the set that a client wrote.

    Raises:
        MalformedElement: if a step cannot be read.
    """
    if not isinstance(content, dict):
        raise elements.MalformedElement("expected an object")
    tree: Tree = {}
    for text, below in content.items():
        element = SELF if text == SELF else elements.canonical(text)
        if element is not None:
            tree[element] = LEAF if element == SELF or below is None else parsed(below)
    return LEAF if len(tree) == 1 and SELF in tree else tree
