"""Why a selector is false for a device, for people: which of its conditions are, and which values those looked at.

A selector that is false says no more than that. Its author thinks of it as conditions joined with ``&&``, and wants to
see the ones that do not hold beside the attributes and capacities that they read. Nothing here decides anything: the
verdict is that of ``Selector.matches``.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

from drakit_api.cel.device import PLACES, DeviceView
from drakit_api.cel.errors import CelError
from drakit_api.cel.expression import CACHE_SIZE
from drakit_api.cel.footprint import Path, mentioned
from drakit_api.cel.selector import compile_selector
from drakit_api.cel.syntax.tree import Call
from drakit_api.cel.values.values import Semver
from drakit_api.quantity import Quantity

Scalar = bool | int | str
# A list attribute, or the names that exist where an expression looks at a whole domain.
Value = Scalar | tuple[Scalar, ...] | None

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Reading:
    """Something of a device that an expression mentions, and what the device has there.

    ``field`` is driver, allowMultipleAllocations, attributes or capacity. Without ``name`` the expression looks at a
    whole domain, without ``domain`` at all of them, and ``value`` are the names in there. None: the device has no such
    thing. Quantities and versions are texts, as published.
    """

    field: str
    domain: str = ""
    name: str = ""
    value: Value = None


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression, one of those that are joined with ``&&`` in a selector, and what it read of a device."""

    expression: str
    read: tuple[Reading, ...] = ()


def conditions(expression: str) -> tuple[str, ...]:
    """Split an expression at the ``&&`` of its top level, inside parentheses around it, too.

    Returns the expression itself where it has no such parts, or does not compile.
    """
    return _conditions(expression.strip())


def failed_conditions(expression: str, device: DeviceView) -> tuple[Condition, ...]:
    """Find the conditions that make an expression false for a device, with the values that they read.

    Returns the whole expression if no single part is false, as with a part that only fails with an error.
    """
    failed = tuple(
        Condition(part, readings(part, device)) for part in conditions(expression) if _is_false(part, device)
    )
    return failed or (Condition(expression.strip(), readings(expression, device)),)


def readings(expression: str, device: DeviceView) -> tuple[Reading, ...]:
    """List what an expression mentions of a device, in the text's order, once each; nothing if it does not compile."""
    return tuple(_look(path, device) for path in _paths(expression))


def _is_false(part: str, device: DeviceView) -> bool:
    try:
        return not compile_selector(part).matches(device)
    except CelError:
        return False


@functools.lru_cache(maxsize=CACHE_SIZE)
def _conditions(expression: str) -> tuple[str, ...]:
    from drakit_api.cel import compiler

    try:
        tree = compiler.stored(expression).tree
        if not isinstance(tree, Call) or tree.function != "_&&_":
            return (expression,)
        parts = _split(expression)
        for part in parts:
            compiler.stored(part)
    except CelError:
        return (expression,)
    return tuple(condition for part in parts for condition in _conditions(part))


def _split(expression: str) -> list[str]:
    """Split a conjunction into its operands as they are written."""
    from drakit_api.cel.syntax.parser import tokens

    depth, start, parts, found = 0, 0, [], list(tokens(expression))
    for text, offset in found:
        depth += (text in _OPENING) - (text in _CLOSING)
        if text == "&&" and depth == 0:
            parts.append(expression[start:offset].strip())
            start = offset + len(text)
    if not parts:  # all of it is in parentheses
        inner = expression[found[0][1] + 1 : found[-1][1]]
        return [inner.strip()]
    return [*parts, expression[start:].strip()]


@functools.lru_cache(maxsize=CACHE_SIZE)
def _paths(expression: str) -> tuple[Path, ...]:
    from drakit_api.cel import compiler

    try:
        tree = compiler.stored(expression).tree
    except CelError:
        return ()
    return tuple(dict.fromkeys(mentioned(tree)))


def _look(path: Path, device: DeviceView) -> Reading:
    if not path:
        return Reading("device")
    found = device.frame[PLACES[path[0]]]
    for part in path[1:]:
        found = found.get(part) if isinstance(found, dict) else None
    return dataclasses.replace(Reading(*path), value=_plain(found))


def _plain(found: object) -> Value:
    match found:
        case bool() | int() | str():
            return found
        case list():
            return tuple(value for value in map(_plain, found) if isinstance(value, Scalar))
        case dict():
            return tuple(sorted(found))
        case Quantity():
            return str(found)
        case Semver():
            return str(found.version)
    return None
