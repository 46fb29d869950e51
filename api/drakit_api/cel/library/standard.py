"""cel-go's standard functions: sizes, conversions, strings (``common/stdlib/standard.go``)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from drakit_api.cel.declarations import Overload, overload
from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values import INT_MAX, INT_MIN, UINT_MAX, TypeValue, Uint, type_name

from . import operators, regex

_INTEGER = re.compile(r"[+-]?[0-9]+")
_UNSIGNED = re.compile(r"[0-9]+")


def _not_convertible(source: str, target: str) -> CelRuntimeError:
    return CelRuntimeError(f"type conversion error from '{source}' to '{target}'")


def _string_to_int(text: str) -> int:
    if not _INTEGER.fullmatch(text) or not INT_MIN <= int(text) <= INT_MAX:
        raise _not_convertible("string", "int")
    return int(text)


def _string_to_uint(text: str) -> Uint:
    if not _UNSIGNED.fullmatch(text) or int(text) > UINT_MAX:
        raise _not_convertible("string", "uint")
    return Uint(int(text))


def _string_to_double(text: str) -> float:
    try:
        value = float(text) if text == text.strip() and "_" not in text else None
    except ValueError:
        value = None
    if value is None:
        raise _not_convertible("string", "double")
    return value


def _string_to_bool(text: str) -> bool:
    if text in ("true", "True", "TRUE", "t", "T", "1"):
        return True
    if text in ("false", "False", "FALSE", "f", "F", "0"):
        return False
    raise _not_convertible("string", "bool")


def _double_to_int(value: float) -> int:
    if math.isnan(value) or not -(2.0**63) < value < 2.0**63:
        raise CelRuntimeError("integer overflow")
    return int(value)


def _double_to_uint(value: float) -> Uint:
    if math.isnan(value) or not 0 <= value < 2.0**64:
        raise CelRuntimeError("unsigned integer overflow")
    return Uint(int(value))


def _uint_to_int(value: int) -> int:
    return operators.integer(int(value))


def double_to_string(value: float) -> str:
    """The shortest text that reads back as the same number, without exponent below 1e21, as Go's ``%g`` of cel-go."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(value)
    if text.endswith(".0"):
        text = text[:-2]
    return re.sub(r"e([+-])(\d)$", r"e\g<1>0\2", text)


def _bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelRuntimeError("invalid UTF-8 in bytes, cannot convert to string") from None


def _same(value: Any) -> Any:
    return value


def _method(name: str, function: Callable[[str, str], bool]) -> Overload:
    return overload(f"string.{name}(string) -> bool", function, plain_errors=True)


def _conversions(target: str, *variants: tuple[str, Callable[[Any], Any]]) -> list[Overload]:
    return [overload(f"{target}({source}) -> {target}", function) for source, function in variants]


_SIZED = ("bytes", "list<A>", "map<A, B>", "string")

FUNCTIONS = [
    *(overload(f"size({kind}) -> int", len, plain_errors=True) for kind in _SIZED),
    *(overload(f"{kind}.size() -> int", len, plain_errors=True) for kind in _SIZED),
    overload("type(A) -> type<A>", lambda value: TypeValue(type_name(value))),
    overload("dyn(A) -> dyn", _same),
    *_conversions("bool", ("bool", _same), ("string", _string_to_bool)),
    *_conversions("bytes", ("bytes", _same), ("string", lambda text: text.encode())),
    *_conversions("double", ("double", _same), ("int", float), ("string", _string_to_double), ("uint", float)),
    *_conversions(
        "int", ("int", _same), ("double", _double_to_int), ("string", _string_to_int), ("uint", _uint_to_int)
    ),
    *_conversions(
        "uint",
        ("uint", _same),
        ("double", _double_to_uint),
        ("int", operators.unsigned),
        ("string", _string_to_uint),
    ),
    *_conversions(
        "string",
        ("string", _same),
        ("bool", lambda value: "true" if value else "false"),
        ("bytes", _bytes_to_string),
        ("double", double_to_string),
        ("int", str),
        ("uint", lambda value: str(int(value))),
    ),
    _method("contains", lambda text, part: part in text),
    _method("endsWith", str.endswith),
    _method("startsWith", str.startswith),
    _method("matches", regex.matches),
    overload("matches(string, string) -> bool", regex.matches, plain_errors=True),
]
