"""cel-go's standard functions besides operators, conversions and times (``common/stdlib/standard.go``)."""

from __future__ import annotations

from collections.abc import Callable

from drakit_api.cel.library import regex
from drakit_api.cel.values.declarations import Overload, overload
from drakit_api.cel.values.values import TypeValue, type_name


def _method(name: str, function: Callable[[str, str], bool]) -> Overload:
    return overload(f"string.{name}(string) -> bool", function, style="plain")


_SIZED = ("bytes", "list<A>", "map<A, B>", "string")

FUNCTIONS = [
    *(overload(f"size({kind}) -> int", len, style="name") for kind in _SIZED),
    *(overload(f"{kind}.size() -> int", len, style="name") for kind in _SIZED),
    overload("type(A) -> type<A>", lambda value: TypeValue(type_name(value))),
    _method("contains", lambda text, part: part in text),
    _method("endsWith", str.endswith),
    _method("startsWith", str.startswith),
    _method("matches", regex.matches),
    overload("matches(string, string) -> bool", regex.matches, style="plain"),
]
