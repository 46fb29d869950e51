"""Macros that walk over lists and maps, and the chains of ``&&`` and ``||`` that absorb errors in the same way.

Semantics of the expansions are those of cel-go v0.29 ``parser/macro.go`` and ``ext/comprehensions.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library.shown import show
from drakit_api.cel.values.keys import map_key, map_keys
from drakit_api.cel.values.values import LISTS, MAPS, go_type, no_such_overload

Closure = Callable[[list[Any]], Any]


def conjunction(operands: list[Closure]) -> Closure:
    """Compile ``a && b && ...``: false wins over errors, the first error over true."""
    return _absorbing(operands, decisive=False)


def disjunction(operands: list[Closure]) -> Closure:
    """Compile ``a || b || ...``: true wins over errors, the first error over false."""
    return _absorbing(operands, decisive=True)


def _absorbing(operands: list[Closure], *, decisive: bool) -> Closure:
    def absorb(frame: list[Any]) -> Any:
        failure: CelRuntimeError | None = None
        for operand in operands:
            try:
                verdict = operand(frame)
            except CelRuntimeError as error:
                failure = failure or error
                continue
            if verdict is decisive:
                return decisive
            if type(verdict) is not bool:
                failure = failure or no_such_overload()
        if failure is not None:
            raise failure
        return not decisive

    return absorb


def build(macro: str, source: Closure, slots: list[int], body: list[Closure]) -> Closure:
    """Compile a macro; ``slots`` are the frame slots of its one or two variables."""
    walk = _walk_one if len(slots) == 1 else _walk_two
    match macro:
        case "all":
            return _quantifier(walk, source, slots, body[0], decisive=False)
        case "exists":
            return _quantifier(walk, source, slots, body[0], decisive=True)
        case "exists_one":
            return _exists_one(walk, source, slots, body[0])
        case "filter":
            slot = slots[0]
            return _collect(walk, source, slots, body[0], lambda frame: frame[slot])
        case "map" | "transformList":
            return _collect(walk, source, slots, body[0] if len(body) == 2 else None, body[-1])
        case "transformMap":
            slot, value = slots[0], body[-1]
            condition = body[0] if len(body) == 2 else None
            return _transform_map(walk, source, slots, condition, lambda frame: {map_key(frame[slot]): value(frame)})
        case "transformMapEntry":
            return _transform_map(walk, source, slots, body[0] if len(body) == 2 else None, body[-1])
    raise AssertionError(macro)


Walk = Callable[[Any, list[Any], list[int]], Iterable[None]]


def _walk_one(container: Any, frame: list[Any], slots: list[int]) -> Iterable[None]:
    """Put one element or key after the other into the frame."""
    (slot,) = slots
    kind = type(container)
    if kind not in LISTS and kind not in MAPS:
        raise CelRuntimeError(f"got '{go_type(container)}', expected iterable type")
    for element in container if kind in LISTS else map_keys(container):
        frame[slot] = element
        yield


def _walk_two(container: Any, frame: list[Any], slots: list[int]) -> Iterable[None]:
    """Put index and element, or key and value, into the frame."""
    first, second = slots
    kind = type(container)
    if kind in LISTS:
        for frame[first], frame[second] in enumerate(container):
            yield
    elif kind in MAPS:
        for frame[first], frame[second] in zip(map_keys(container), container.values(), strict=True):
            yield
    else:
        raise CelRuntimeError(f"unsupported comprehension range type: {go_type(container)}")


def _quantifier(walk: Walk, source: Closure, slots: list[int], body: Closure, *, decisive: bool) -> Closure:
    def quantify(frame: list[Any]) -> Any:
        failure: CelRuntimeError | None = None
        for _ in walk(source(frame), frame, slots):
            try:
                verdict = body(frame)
            except CelRuntimeError as error:
                failure = failure or error
                continue
            if verdict is decisive:
                return decisive
            if type(verdict) is not bool:
                failure = failure or no_such_overload()
        if failure is not None:
            raise failure
        return not decisive

    return quantify


def _accepted(condition: Closure | None, frame: list[Any]) -> bool:
    if condition is None:
        return True
    verdict = condition(frame)
    if type(verdict) is not bool:
        raise no_such_overload()
    return verdict


def _exists_one(walk: Walk, source: Closure, slots: list[int], body: Closure) -> Closure:
    def exactly_one(frame: list[Any]) -> bool:
        return sum(_accepted(body, frame) for _ in walk(source(frame), frame, slots)) == 1

    return exactly_one


def _collect(walk: Walk, source: Closure, slots: list[int], condition: Closure | None, value: Closure) -> Closure:
    def collect(frame: list[Any]) -> list[Any]:
        return [value(frame) for _ in walk(source(frame), frame, slots) if _accepted(condition, frame)]

    return collect


def _transform_map(walk: Walk, source: Closure, slots: list[int], condition: Closure | None, entry: Closure) -> Closure:
    def transform(frame: list[Any]) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for _ in walk(source(frame), frame, slots):
            if not _accepted(condition, frame):
                continue
            added = entry(frame)
            if type(added) not in MAPS:
                raise no_such_overload()
            for key, value in added.items():
                if key in result:
                    raise CelRuntimeError(f"insert failed: key {show(next(map_keys([key])))} already exists")
                result[key] = value
        return result

    return transform
