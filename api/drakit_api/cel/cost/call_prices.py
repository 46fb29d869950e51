"""What a call did cost, from its arguments and its result: the counterpart of ``call_estimates`` while running.

``k8s.io/apiserver`` v0.37 ``pkg/cel/library/cost.go`` (``CallCost``), cel-go v0.29 ``interpreter/runtimecost.go``,
``ext/lists.go`` and ``ext/sets.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from drakit_api.cel.cost.call_estimates import CHECK, selector_cost
from drakit_api.cel.cost.ranges import LIST_BASE, PATTERN, TRAVERSAL, fixed, scale
from drakit_api.cel.library.formats import Format
from drakit_api.cel.library.network import Cidr, Ip
from drakit_api.cel.library.urls import Url
from drakit_api.cel.values import budget
from drakit_api.cel.values.keys import map_keys
from drakit_api.cel.values.values import LISTS, MAPS, Optional, Semver
from drakit_api.quantity import Quantity

_SIZED = (str, bytes, *LISTS, *MAPS)
_CONSTANT_EQUALITY = (Quantity, Semver, Ip, Cidr, Url, Format)
_FORMAT_PATTERNS = {
    "DNS1123Label": 30,
    "DNS1123LabelPrefix": 30,
    "DNS1035Label": 30,
    "DNS1035LabelPrefix": 30,
    "LabelValue": 40,
    "DNS1123Subdomain": 60,
    "DNS1123SubdomainPrefix": 60,
    "QualifiedName": 60,
    "URI": 1103,
    "byte": 84,
    "uuid": 70,
    "date": 71,
    "datetime": 71,
}


def size(value: Any) -> int:
    """Count the characters, bytes, elements or entries of a value; 1 for everything else."""
    if type(value) in _SIZED:
        return len(value)
    if type(value) is Cidr:
        return math.ceil(value.bits / 8)
    if type(value) is Ip:
        return len(value.address.packed)
    if type(value) is Optional:
        return size(value.value)
    return 1


# Functions of cel-go whose cost is that of the overload: where the types leave several, it is one.
PRICED_BY_OVERLOAD = frozenset(
    {"_+_", "_<_", "_<=_", "_>_", "_>=_", "@in", "bytes", "string", "sort", "@sortByAssociatedKeys"}
)
# Functions whose cost is the size of their result.
PRICED_BY_RESULT = frozenset({"slice", "lists.range", "reverse", "join"})


def price(function: str, arguments: list[Any], result: Any) -> int:
    """Compute the cost of a call; the result only counts for functions in ``PRICED_BY_RESULT``."""
    rule = _RULES.get(function)
    found = rule(arguments, result) if rule is not None and arguments else None
    return 1 if found is None else found


Rule = Callable[[list[Any], Any], int | None]


def _traversal(factor: float, index: int = 0) -> Rule:
    return lambda arguments, _: scale(size(arguments[index]), factor)


def _walk(value: Any) -> int:
    """Compute the cost of traversing nested data."""
    kind = type(value)
    if kind is str:
        return int(len(value.encode()) * TRAVERSAL)
    if kind is bytes:
        return int(len(value) * TRAVERSAL)
    if kind in LISTS or kind in MAPS:
        budget.spend_list(value)
    if kind in LISTS:
        return sum(map(_walk, value))
    if kind in MAPS:
        return sum(map(_walk, map_keys(value))) + sum(map(_walk, value.values()))
    return 1


def _pattern(arguments: list[Any], _: Any) -> int:
    return math.ceil((1.0 + size(arguments[0])) * TRAVERSAL) * scale(size(arguments[1]), PATTERN)


def _validate(arguments: list[Any], _: Any) -> int | None:
    named, text = arguments
    if type(named) is not Format:
        return None
    return math.ceil((1.0 + size(text)) * TRAVERSAL) * scale(_FORMAT_PATTERNS[named.name], PATTERN)


def _contains_address(arguments: list[Any], _: Any) -> int:
    cost = scale(2 * size(arguments[0]), TRAVERSAL)
    return cost + (scale(size(arguments[1]), TRAVERSAL) if isinstance(arguments[1], str) else 0)


def _contains_range(arguments: list[Any], result: Any) -> int:
    return _contains_address(arguments, result) + scale(size(arguments[0]), TRAVERSAL) + 1


def _equals(arguments: list[Any], result: Any) -> int | None:
    return 1 if type(arguments[0]) in _CONSTANT_EQUALITY else _smaller(arguments, result)


def _smaller(arguments: list[Any], _: Any) -> int:
    return scale(min(map(size, arguments)), TRAVERSAL)


def _order(arguments: list[Any], result: Any) -> int | None:
    return _smaller(arguments, result) if type(arguments[0]) in (str, bytes) else None


def _add(arguments: list[Any], _: Any) -> int | None:
    if type(arguments[0]) not in (str, bytes):
        return None
    return scale(size(arguments[0]) + size(arguments[1]), TRAVERSAL)


def _allocated(factor: float, amount: int) -> int:
    return int(amount * factor) + 1 + LIST_BASE


def _compared(keys: Any) -> int | None:
    if type(keys) not in LISTS:
        return None
    texts = bool(keys) and type(keys[0]) in (str, bytes)
    return _allocated(2 + TRAVERSAL if texts else 2, len(keys) ** 2)


def _sets(factor: int) -> Rule:
    return lambda arguments, _: 1 + size(arguments[0]) * size(arguments[1]) * factor


def _flatten(arguments: list[Any], _: Any) -> int | None:
    depth = arguments[1] if len(arguments) > 1 else 1
    return _allocated(depth, size(arguments[0])) if type(depth) is int else None


def _of_kind(kind: type, rule: Rule) -> Rule:
    return lambda arguments, result: rule(arguments, result) if type(arguments[0]) is kind else None


_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"),
        lambda arguments, _: _walk(arguments[0]),
    ),
    **dict.fromkeys(
        ("url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR"), _traversal(TRAVERSAL)
    ),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver", "strings.quote", "format"), _traversal(TRAVERSAL)),
    **dict.fromkeys(
        ("fieldSelector", "labelSelector"), lambda arguments, _: selector_cost(fixed(size(arguments[1]))).greatest
    ),
    "check": lambda *_: CHECK,
    "jsonpatch.escapeKey": _traversal(TRAVERSAL),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _traversal(2 * TRAVERSAL)),
    **dict.fromkeys(("find", "findAll", "matches"), _pattern),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _order),
    **dict.fromkeys(("startsWith", "endsWith"), _traversal(TRAVERSAL, 1)),
    **dict.fromkeys(("slice", "lists.range", "reverse"), lambda _, result: _allocated(1, size(result))),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets(1)),
    "sets.equivalent": _sets(2),
    "join": lambda _, result: scale(size(result), 2 * TRAVERSAL),
    "ip": _of_kind(str, _traversal(TRAVERSAL)),
    "validate": _validate,
    "containsIP": _contains_address,
    "containsCIDR": _contains_range,
    "_==_": _equals,
    "_!=_": _smaller,
    "_+_": _add,
    "contains": lambda arguments, _: scale(size(arguments[0]), TRAVERSAL) * scale(size(arguments[1]), TRAVERSAL),
    "bytes": _of_kind(str, _traversal(TRAVERSAL)),
    "string": _of_kind(bytes, _traversal(TRAVERSAL)),
    "@in": lambda arguments, _: size(arguments[1]) if type(arguments[1]) in LISTS else None,
    "flatten": _flatten,
    "distinct": lambda arguments, _: _compared(arguments[0]),
    "sort": lambda arguments, _: _compared(arguments[0]),
    "@sortByAssociatedKeys": lambda arguments, _: _compared(arguments[1]),
}
