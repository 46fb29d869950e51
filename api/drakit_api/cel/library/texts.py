"""``"%s of %d".format([...])``, in the first version of cel-go's ``ext/formatting.go``, which Kubernetes uses."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library import conversions
from drakit_api.cel.values import budget
from drakit_api.cel.values.keys import map_keys
from drakit_api.cel.values.values import INT_MAX, LISTS, MAPS, Duration, Timestamp, TypeValue, Uint, type_name
from drakit_api.golang.gostrings import quote
from drakit_api.golang.long_numbers import bounded

_DEFAULT_PRECISION = 6
# Beyond this golang.org/x/text counts places in too few bits, and prints whatever that gives; Python would run out of
# memory.
_MOST_PLACES = 30_000
_CLAUSE = re.compile(r"%(?:(?P<percent>%)|(?P<precision>\.[0-9]*)?(?P<verb>[\s\S])?)")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_STRINGS = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"


def interpolate(pattern: str, arguments: list[Any]) -> str:
    """Replace each clause by the next argument. Raises ``CelRuntimeError``."""
    texts = []
    for (verb, precision), argument in zip(_clauses(pattern, len(arguments)), arguments, strict=False):
        budget.spend(budget.OBJECT + (precision if verb in "fe" else 0))
        texts.append(_VERBS[verb](argument, precision))
        budget.spend_text(2 * len(texts[-1]), texts[-1])
    remaining = iter(texts)
    return _CLAUSE.sub(lambda match: "%" if match["percent"] else next(remaining), pattern)


def verbs(pattern: str, available: int) -> Iterator[str]:
    """List the verbs (letters) of a format pattern in order. Raises ``CelRuntimeError`` at one that is malformed."""
    return (verb for verb, _ in _clauses(pattern, available))


def _clauses(pattern: str, available: int) -> Iterator[tuple[str, int]]:
    used = 0
    for match in _CLAUSE.finditer(pattern):
        if match["percent"]:
            continue
        if used >= available:
            raise CelRuntimeError(f"index {used} out of range")
        used += 1
        yield _verb(match["precision"], match["verb"])


def _verb(precision: str | None, verb: str | None) -> tuple[str, int]:
    problem = "could not parse formatting clause: "
    if verb is None:
        if precision is None:
            raise CelRuntimeError("unexpected end of string")
        raise CelRuntimeError(f"{problem}error while parsing precision: could not find end of precision specifier")
    places = _DEFAULT_PRECISION if precision is None else bounded(precision[1:], INT_MAX)
    if precision == "." or places > INT_MAX:
        why = "value out of range" if places > INT_MAX else "invalid syntax"
        digits = quote((precision or "")[1:])
        reason = f"error while converting precision to integer: strconv.Atoi: parsing {digits}: {why}"
        raise CelRuntimeError(f"{problem}error while parsing precision: {reason}")
    if verb not in _VERBS:
        raise CelRuntimeError(f'{problem}unrecognized formatting clause "{verb}"')
    return verb, min(places, _MOST_PLACES)


def refusal(verb: str, kind: str) -> str:
    """Say why a clause does not take values of a type."""
    return f"{_TAKES[verb.lower()]}, was given {kind}"


def _refuse(verb: str, argument: Any) -> CelRuntimeError:
    return CelRuntimeError(f"error during formatting: {refusal(verb, type_name(argument))}")


KINDS = {
    "s": frozenset(
        {
            *("bool", "bytes", "double", "duration", "int", "list", "map", "null", "string", "timestamp", "type"),
            "uint",
        }
    ),
    "d": frozenset({"int", "uint"}),
    "f": frozenset({"double"}),
    "e": frozenset({"double"}),
    "b": frozenset({"int", "uint", "bool"}),
    "x": frozenset({"int", "uint", "string", "bytes"}),
    "o": frozenset({"int", "uint"}),
}
_FORMATTED_KEYS = (str, bool, int, Uint)
_TAKES = {
    "s": f"string clause can only be used on {_STRINGS}",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}


def _string(argument: Any, _: int = 0) -> str:
    kind = type(argument)
    if kind in LISTS or kind in MAPS:
        budget.spend(budget.OBJECT * (1 + len(argument)))
    if kind in LISTS:
        return "[" + ", ".join(map(_nested, argument)) + "]"
    if kind in MAPS:
        for key in map_keys(argument):
            if type(key) not in _FORMATTED_KEYS:
                reason = f"no formatting function for map key of type {type_name(key)}"
                raise CelRuntimeError(f"error during formatting: {reason}")
        pairs = [
            (_nested(key), _nested(value)) for key, value in zip(map_keys(argument), argument.values(), strict=True)
        ]
        return "{" + ", ".join(f"{key}:{value}" for key, value in sorted(pairs)) + "}"
    if argument is None:
        return "null"
    if kind is TypeValue:
        return str(argument.name)
    if kind in (bool, int, Uint, float, str, bytes, Timestamp, Duration):
        return conversions.to_string(argument)
    raise _refuse("s", argument)


def _nested(value: Any) -> str:
    """Print a value inside of a list or map, quoted so that it reads as CEL."""
    kind = type(value)
    if kind is float:
        text = _go_float(value, "f", _DEFAULT_PRECISION)
        return text if math.isfinite(value) else quote(text)
    text = _string(value)
    budget.spend_text(2 * len(text), text)
    if kind is str:
        return quote(text)
    if kind is bytes:
        return "b" + quote(text)
    if kind in (Timestamp, Duration):
        return f'{"timestamp" if kind is Timestamp else "duration"}("{text}")'
    return text


def _decimal(argument: Any, _: int) -> str:
    if type(argument) not in (int, Uint):
        raise _refuse("d", argument)
    return str(int(argument))


def _double(argument: Any, verb: str) -> float:
    if isinstance(argument, float):
        return argument
    if type(argument) is str and argument in _SPECIAL:
        return _SPECIAL[argument]
    raise _refuse(verb, argument)


def _go_float(value: float, verb: str, precision: int) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.{precision}{verb}}"


def _localized(value: float) -> str | None:
    """Return what golang.org/x/text prints in en_US for NaN and infinity; None for other numbers."""
    if math.isnan(value):
        return "NaN"
    return ("∞" if value > 0 else "-∞") if math.isinf(value) else None


def _fixed(argument: Any, precision: int) -> str:
    value = _double(argument, "f")
    return _localized(value) or f"{value:,.{precision}f}"


def _scientific(argument: Any, width: int) -> str:
    """Print with six decimals always, because upstream takes the precision for a width."""
    value = _double(argument, "e")
    special = _localized(value)
    if special is not None:
        return special.rjust(width)
    mantissa, _, exponent = f"{value:.{_DEFAULT_PRECISION}e}".partition("e")
    sign = "⁻" if int(exponent) < 0 else ""
    digits = f"{abs(int(exponent)):02d}".translate(_SUPERSCRIPT)
    return f"{mantissa}×10{sign}{digits}".rjust(width)


_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _binary(argument: Any, _: int) -> str:
    if type(argument) not in (bool, int, Uint):
        raise _refuse("b", argument)
    return f"{int(argument):b}"


def _hexadecimal(upper: bool) -> Callable[[Any, int], str]:
    def convert(argument: Any, _: int) -> str:
        kind = type(argument)
        if kind in (str, bytes):
            text = bytes(argument.encode() if kind is str else argument).hex()
        elif kind in (int, Uint):
            text = f"{int(argument):x}"
        else:
            raise _refuse("x", argument)
        return text.upper() if upper else text

    return convert


def _octal(argument: Any, _: int) -> str:
    if type(argument) not in (int, Uint):
        raise _refuse("o", argument)
    return f"{int(argument):o}"


_VERBS: dict[str, Callable[[Any, int], str]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hexadecimal(False),
    "X": _hexadecimal(True),
    "o": _octal,
}
