"""Lists and maps: each item valid, none twice.

Handwritten rules skip a list that is too long; that it is too long is mostly a declared rule. Sources:
``validateSlice``, ``validateSet`` and ``validateMap`` in ``pkg/apis/resource/validation/validation.go`` of
``k8s.io/kubernetes`` 1.37.1; ``MaxItems`` and ``ValSliceUnique`` in ``pkg/api/validate`` of ``k8s.io/apimachinery``
v0.37.1.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from drakit_api.formats import byte_length
from drakit_api.objects import encoding
from drakit_api.validation.errors import Errors, duplicate, too_many

Rule = Callable[[Any, str], Errors]


def each(items: Sequence[Any] | None, path: str, rule: Rule, *, maximum: int | None = None) -> Errors:
    """Check every item, unless there are more than ``maximum``."""
    if not items or (maximum is not None and len(items) > maximum):
        return
    for index, item in enumerate(items):
        yield from rule(item, f"{path}[{index}]")


def declared_list(items: Sequence[Any] | None, maximum: int, path: str, rule: Rule | None = None) -> Errors:
    """Check that there are at most ``maximum`` items, and each of them."""
    if items and len(items) > maximum:
        yield too_many(path, len(items), maximum)
    elif rule:
        yield from each(items, path, rule)


def declared_set(items: Sequence[str] | None, path: str, maximum: int | None = None) -> Errors:
    """Check that there are at most ``maximum`` strings, none twice."""
    if items and maximum is not None and len(items) > maximum:
        yield too_many(path, len(items), maximum)
    else:
        yield from unique(items, path)


def declared_objects(
    items: Sequence[dict[str, Any]] | None,
    path: str,
    struct: str,
    key: Callable[[dict[str, Any]], Hashable],
    *,
    maximum: int | None = None,
    rule: Rule | None = None,
) -> Errors:
    """Check that there are at most ``maximum`` objects, each valid, with a key of its own; messages show the object."""
    if items and maximum is not None and len(items) > maximum:
        yield too_many(path, len(items), maximum)
        return
    yield from unique(items, path, key, encoding.struct_encoder(struct, as_sent=True))
    if rule:
        yield from each(items, path, rule)


def name_of(value: dict[str, Any]) -> str:
    """Return the name of an object, the key in lists whose items are told apart by name."""
    return value.get("name") or ""


def unique(
    items: Sequence[Any] | None,
    path: str,
    key: Callable[[Any], Hashable] = lambda item: item,
    show: Callable[[Any], Any] = lambda item: item,
) -> Errors:
    """Check that no key occurs twice; ``show`` is what the message gives of the repeated item. Both default to it."""
    seen: set[Hashable] = set()
    for index, item in enumerate(items or ()):
        name = key(item)
        if name in seen:
            yield duplicate(f"{path}[{index}]", show(item))
        seen.add(name)


def map_key(name: str, maximum: int) -> str:
    """Shorten a key as error paths show it: in the middle, to ``maximum`` bytes, but not below 16."""
    maximum = max(maximum, 16)
    if byte_length(name) <= maximum:
        return name
    raw = name.encode()
    kept = maximum - 3
    return (raw[: (kept + 1) // 2] + b"..." + raw[len(raw) - kept // 2 :]).decode(errors="replace")
