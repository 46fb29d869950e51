"""How much a call may cost at most, from the sizes of its operands: the functions that cost more than one unit.

Kubernetes' rules (``k8s.io/apiserver`` v0.37 ``pkg/cel/library/cost.go``), those of cel-go's list and set libraries
(``ext/lists.go``, ``ext/sets.go``) and of cel-go itself (``checker/cost.go``), in this order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from drakit_api.cel.cost.ranges import (
    LIST_BASE,
    MAX,
    NOTHING,
    ONE,
    PATTERN,
    STRUCT_BASE,
    TRAVERSAL,
    UNKNOWN,
    Range,
    fixed,
)
from drakit_api.cel.syntax.tree import Literal, Node
from drakit_api.cel.values.declarations import Overload
from drakit_api.cel.values.types import Type

CHECK = 350_000  # an authorization check, so that an expression has two of them at most
_NETWORK_BYTES = Range(4, 16)
_FORMAT_PATTERN = 128  # MaxNameFormatRegexSize


class Sizes(NamedTuple):
    """What is known about the operands of a call; ``element`` is about the elements of a target that is a list."""

    overload: Overload
    nodes: list[Node]
    operands: list[Range]
    element: tuple[Type, Range] | None

    @property
    def target(self) -> Range:
        """The size of the first operand."""
        return self.operands[0]


class Estimate(NamedTuple):
    """The cost of a call without that of its operands, and the size of its result if it is known."""

    cost: Range
    size: Range | None = None


def selector_cost(length: Range) -> Range:
    """Compute the cost of parsing a field or label selector: at most one requirement for each two characters."""
    requirements = length.scaled(0.5).scaled(LIST_BASE + STRUCT_BASE)
    return fixed(LIST_BASE).plus(length.scaled(TRAVERSAL)).plus(requirements)


def estimate(sizes: Sizes) -> Estimate:
    """Estimate the cost of a call of one overload, and the size of its result."""
    rule = _RULES.get(sizes.overload.function)
    found = rule(sizes) if rule is not None else None
    return found or Estimate(ONE)


def _traversal(factor: float = TRAVERSAL, *, keeps_size: bool = False) -> Callable[[Sizes], Estimate]:
    return lambda sizes: Estimate(sizes.target.scaled(factor), sizes.target if keeps_size else None)


def _over_list(sizes: Sizes) -> Estimate | None:
    """Estimate ``sum``, ``indexOf`` and so on, which look at each element, or at each character of a string."""
    if not sizes.overload.member:
        return None
    if sizes.element is None:
        factor = 1.0 if sizes.overload.function == "includes" else TRAVERSAL
        return Estimate(sizes.target.times(ONE) if factor == 1.0 else sizes.target.scaled(factor))
    kind, size = sizes.element
    each = ONE.plus(size.scaled(TRAVERSAL)) if kind.kind in ("string", "bytes") else ONE
    return Estimate(sizes.target.times(each))


def _replace(sizes: Sizes) -> Estimate:
    target, old, new = sizes.operands[:3]
    return Estimate(target.scaled(2 * TRAVERSAL), _replaced(target, old, new))


def _replaced(target: Range, old: Range, new: Range) -> Range:
    """Compute the shortest and the longest text that ``replace`` can return."""
    if old.least == 0:
        most, kept_most = min(target.greatest + 1, MAX), target.greatest
    elif new.greatest <= old.least:
        most, kept_most = 0, target.greatest
    else:
        most, kept_most = math.ceil(target.greatest / old.least), 0
    if old.greatest == 0:
        least, kept_least = min(target.least + 1, MAX), target.least
    elif old.greatest <= new.least:
        least, kept_least = 0, target.least
    else:
        least, kept_least = math.ceil(target.least / old.greatest), 0
    return Range(least, most).times(new).plus(Range(kept_least, kept_most))


def _split(sizes: Sizes) -> Estimate:
    limit = _literal(sizes.nodes[2], -1) if len(sizes.nodes) > 2 else -1
    greatest = sizes.target.greatest if limit == -1 else limit % (MAX + 1)
    return Estimate(sizes.target.scaled(2 * TRAVERSAL), Range(0, greatest))


def _join(sizes: Sizes) -> Estimate:
    size = NOTHING if sizes.element is None else sizes.target.times(sizes.element[1])
    if len(sizes.operands) > 1:
        separators = Range(max(sizes.target.least - 1, 0), max(sizes.target.greatest - 1, 0))
        size = size.plus(sizes.operands[1].times(separators))
    return Estimate(size.scaled(TRAVERSAL), size)


def _pattern_cost(text: Range, pattern: Range) -> Range:
    return text.plus(ONE).scaled(TRAVERSAL).times(pattern.scaled(PATTERN))


def _find(sizes: Sizes) -> Estimate:
    return Estimate(_pattern_cost(*sizes.operands[:2]), Range(0, sizes.target.greatest))


def _matches(sizes: Sizes) -> Estimate:
    return Estimate(_pattern_cost(*sizes.operands[:2]))


def _validate(sizes: Sizes) -> Estimate:
    return Estimate(sizes.operands[1].scaled(TRAVERSAL).scaled(_FORMAT_PATTERN * PATTERN))


def _ip(sizes: Sizes) -> Estimate | None:
    return None if sizes.overload.member else Estimate(sizes.target.scaled(TRAVERSAL))


def _contains_address(sizes: Sizes) -> Estimate:
    cost = _NETWORK_BYTES.plus(_NETWORK_BYTES).scaled(TRAVERSAL)
    if sizes.overload.function == "containsCIDR":
        cost = cost.plus(_NETWORK_BYTES.scaled(TRAVERSAL)).plus(ONE)
    if sizes.overload.parameters[1].kind == "string":
        cost = cost.plus(sizes.operands[1].scaled(TRAVERSAL))
    return Estimate(cost)


def _allocating(factor: float, size: Range) -> Estimate:
    return Estimate(size.scaled(factor).plus(ONE).plus(fixed(LIST_BASE)), size)


def _literal(node: Node, default: int) -> int:
    return node.value if isinstance(node, Literal) and type(node.value) is int else default


def _bound(node: Node, default: int) -> int:
    return max(_literal(node, default), 0)


def _slice(sizes: Sizes) -> Estimate:
    length = _bound(sizes.nodes[2], sizes.target.greatest) - _bound(sizes.nodes[1], 0)
    return _allocating(1, fixed(length % (MAX + 1)))


def _flatten(sizes: Sizes) -> Estimate:
    return _allocating(float(_bound(sizes.nodes[1], MAX) if len(sizes.nodes) > 1 else 1), sizes.target)


def _sort(sizes: Sizes) -> Estimate:
    keys = sizes.operands[-1]
    texts = sizes.overload.parameters[-1].parameters[0].kind in ("string", "bytes")
    return _allocating(2 + TRAVERSAL if texts else 2, keys.times(keys))


def _sets(factor: int) -> Callable[[Sizes], Estimate]:
    return lambda sizes: Estimate(sizes.target.times(sizes.operands[1]).scaled(factor).plus(ONE))


def _bytes(sizes: Sizes) -> Estimate | None:
    if sizes.overload.parameters[0].kind != "string":
        return None
    size = sizes.target
    return Estimate(size.scaled(TRAVERSAL), Range(size.least, size.greatest * 4 % (MAX + 1)))


def _string(sizes: Sizes) -> Estimate | None:
    if sizes.overload.parameters[0].kind != "bytes":
        return None
    size = sizes.target
    return Estimate(size.scaled(TRAVERSAL), Range(size.least // 4, size.greatest))


def _quote(sizes: Sizes) -> Estimate:
    size = sizes.target
    return Estimate(size.scaled(TRAVERSAL), Range(size.least + 2, (size.greatest * 2 + 2) % (MAX + 1)))


def _in(sizes: Sizes) -> Estimate | None:
    if sizes.overload.parameters[1].kind != "list":
        return None
    return Estimate(sizes.operands[1].scaled(1))


def _contains(sizes: Sizes) -> Estimate:
    return Estimate(sizes.target.scaled(TRAVERSAL).times(sizes.operands[1].scaled(TRAVERSAL)))


def _add(sizes: Sizes) -> Estimate | None:
    kind = sizes.overload.parameters[0].kind
    size = sizes.target.plus(sizes.operands[1])
    if kind == "list":
        return Estimate(ONE, size)
    return Estimate(size.scaled(TRAVERSAL), size) if kind in ("string", "bytes") else None


def _order(sizes: Sizes) -> Estimate | None:
    if sizes.overload.parameters[0].kind not in ("string", "bytes", "parameter"):
        return None
    smaller = min(sizes.target.greatest, sizes.operands[1].greatest)
    return Estimate(Range(min(smaller, 1), smaller).scaled(TRAVERSAL))


_CONSTANT_EQUALITY = frozenset({"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"})


def _equals(sizes: Sizes) -> Estimate | None:
    left, right = (node.type for node in sizes.nodes)
    if left != right or left.kind not in ("opaque", "struct"):
        return _order(sizes)
    if left.name in _CONSTANT_EQUALITY:
        return Estimate(ONE)
    if left.name == "kubernetes.NamedFormat":
        return Estimate(Range(1, 64).scaled(TRAVERSAL))
    if left.name == "kubernetes.URL":
        size = sizes.operands[1]
        return Estimate(Range(1, 1 if size == UNKNOWN else size.greatest).scaled(TRAVERSAL))
    return _order(sizes)


_RULES: dict[str, Callable[[Sizes], Estimate | None]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _over_list),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _traversal(keeps_size=True)),
    **dict.fromkeys(("fieldSelector", "labelSelector"), lambda sizes: Estimate(selector_cost(sizes.operands[1]))),
    "check": lambda _: Estimate(fixed(CHECK)),
    "jsonpatch.escapeKey": _traversal(keeps_size=True),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _traversal()),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains_address),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _sort),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets(1)),
    **dict.fromkeys(("startsWith", "endsWith"), lambda sizes: Estimate(sizes.operands[1].scaled(TRAVERSAL))),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_", "_!=_"), _order),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "ip": _ip,
    "ip.isCanonical": _traversal(2 * TRAVERSAL),
    "validate": _validate,
    "slice": _slice,
    "flatten": _flatten,
    "lists.range": lambda sizes: _allocating(1, fixed(_bound(sizes.nodes[0], MAX))),
    "reverse": lambda sizes: _allocating(1, sizes.target),
    "distinct": lambda sizes: _allocating(2, sizes.target.times(sizes.target)),
    "sets.equivalent": _sets(2),
    "format": _traversal(),
    "bytes": _bytes,
    "string": _string,
    "strings.quote": _quote,
    "@in": _in,
    "matches": _matches,
    "contains": _contains,
    "_+_": _add,
    "_==_": _equals,
}
