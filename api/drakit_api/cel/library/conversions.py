"""Conversions between types, ``int("7")`` and so on, with Go's rules for text (cel-go ``common/types``)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library import operators
from drakit_api.cel.values import budget
from drakit_api.cel.values.declarations import Overload, overload
from drakit_api.cel.values.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, Uint
from drakit_api.golang.long_numbers import bounded

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE)
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_DECIMALS = 40  # more than count for an hour's nanoseconds
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _refuse(target: str) -> CelRuntimeError:
    return CelRuntimeError(f"type conversion error from 'string' to '{target}'")


def _string_to_int(text: str) -> int:
    budget.spend_reading(text)
    if not _INTEGER.fullmatch(text):
        raise _refuse("int")
    value = bounded(text.lstrip("+-"), UINT_MAX)
    value = -value if text[0] == "-" else value
    if not INT_MIN <= value <= INT_MAX:
        raise _refuse("int")
    return value


def _string_to_uint(text: str) -> Uint:
    budget.spend_reading(text)
    if not text.isascii() or not text.isdigit() or (value := bounded(text, UINT_MAX)) > UINT_MAX:
        raise _refuse("uint")
    return Uint(value)


def _string_to_double(text: str) -> float:
    budget.spend_reading(text)
    if not _DOUBLE.fullmatch(text):
        raise _refuse("double")
    value = float(text)
    if math.isinf(value) and text.strip("+-")[0] not in "iI":
        raise _refuse("double")
    return value


def _string_to_bool(text: str) -> bool:
    if text in ("true", "True", "TRUE", "t", "T", "1"):
        return True
    if text in ("false", "False", "FALSE", "f", "F", "0"):
        return False
    raise _refuse("bool")


def string_to_duration(text: str) -> Duration:
    """Parse a duration as Go's ``time.ParseDuration`` does: ``1h30m``, ``-1.5s``, ``0``. Raises ``CelRuntimeError``."""
    budget.spend_reading(text)
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return Duration(0)
    total, end = 0, 0
    for match in _PART.finditer(unsigned):
        whole, fraction, unit = match.group(1), match.group(2) or "", match.group(3)
        if match.start() != end or not (whole or fraction):
            raise _refuse("google.protobuf.Duration")
        scale = _UNITS[unit]
        fraction = fraction[:_DECIMALS]
        total += bounded(whole, UINT_MAX) * scale + int(fraction or "0") * scale // 10 ** len(fraction)
        if total > INT_MAX + 1:
            raise _refuse("google.protobuf.Duration")
        end = match.end()
    if end != len(unsigned) or not end:
        raise _refuse("google.protobuf.Duration")
    total = -total if text[0] == "-" else total
    if not INT_MIN <= total <= INT_MAX:
        raise _refuse("google.protobuf.Duration")
    return Duration(total)


def string_to_timestamp(text: str) -> Timestamp:
    """Parse a time in RFC 3339 with up to nanoseconds. Raises ``CelRuntimeError``."""
    budget.spend_reading(text)
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise _refuse("google.protobuf.Timestamp")
    date, hour, minute, second, fraction, sign, zone_hour, zone_minute = match.groups()
    try:
        moment = datetime.fromisoformat(f"{date}T{hour.rjust(2, '0')}:{minute}:{second}+00:00")
    except ValueError:
        raise _refuse("google.protobuf.Timestamp") from None
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    if sign:
        if int(zone_hour) > 24 or int(zone_minute) > 60:
            raise _refuse("google.protobuf.Timestamp")
        offset = int(zone_hour) * 3600 + int(zone_minute) * 60
        seconds -= offset if sign == "+" else -offset
    return operators.timestamp(seconds * 10**9 + int((fraction or "0")[:9].ljust(9, "0")))


def seconds_to_timestamp(seconds: int) -> Timestamp:
    """Make a moment from the seconds since 1970. Raises ``CelRuntimeError`` outside of the years 1 to 9999."""
    return operators.timestamp(seconds * 10**9)


def _double_to_int(value: float) -> int:
    if math.isnan(value) or not -(2.0**63) < value < 2.0**63:
        raise CelRuntimeError("integer overflow")
    return int(value)


def _double_to_uint(value: float) -> Uint:
    if math.isnan(value) or not 0 <= value < 2.0**64:
        raise CelRuntimeError("unsigned integer overflow")
    return Uint(int(value))


def _bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelRuntimeError("invalid UTF-8 in bytes, cannot convert to string") from None


def _double_to_string(value: float) -> str:
    """Print as Go's ``%g``: the shortest text that reads back as the same number, with an exponent from 1e21 on."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, _, exponent = f"{value!r}".partition("e")
    if exponent or not 1e-4 <= abs(value) < 1e21:
        if value == 0:
            return "-0" if math.copysign(1, value) < 0 else "0"
        if exponent and 16 <= int(exponent) < 21:
            return str(int(value))
        return f"{digits.removesuffix('.0')}e{int(exponent):+03d}" if exponent else digits.removesuffix(".0")
    return digits.removesuffix(".0")


def _duration_to_string(value: Duration) -> str:
    seconds, rest = divmod(abs(value.nanoseconds), 10**9)
    sign = "-" if value.nanoseconds < 0 else ""
    return f"{sign}{seconds}{f'.{rest:09d}'.rstrip('0') if rest else ''}s"


def _timestamp_to_string(value: Timestamp) -> str:
    seconds, rest = divmod(value.nanoseconds, 10**9)
    moment = _EPOCH + timedelta(seconds=seconds)
    text = f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}"
    return f"{text}{f'.{rest:09d}'.rstrip('0') if rest else ''}Z"


def to_string(value: Any) -> str:
    """Evaluate ``string(value)`` for the types of the standard library."""
    return _TO_STRING[type(value)](value)


_TO_STRING: dict[type, Callable[[Any], str]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    bytes: _bytes_to_string,
    float: _double_to_string,
    int: str,
    Uint: lambda value: str(int(value)),
    Duration: _duration_to_string,
    Timestamp: _timestamp_to_string,
}


def _same(value: Any) -> Any:
    return value


def _conversions(target: str, variants: dict[str, Callable[[Any], Any]]) -> list[Overload]:
    return [overload(f"{target}({source}) -> {target}", function) for source, function in variants.items()]


_STRING_SOURCES = ("string", "bool", "bytes", "double", "duration", "int", "timestamp", "uint")

FUNCTIONS = [
    overload("dyn(A) -> dyn", _same),
    *_conversions("bool", {"bool": _same, "string": _string_to_bool}),
    *_conversions("bytes", {"bytes": _same, "string": lambda text: text.encode()}),
    *_conversions("double", {"double": _same, "int": float, "string": _string_to_double, "uint": float}),
    *_conversions("duration", {"duration": _same, "string": string_to_duration}),
    *_conversions(
        "int",
        {
            "int": _same,
            "double": _double_to_int,
            "duration": lambda value: value.nanoseconds,
            "string": _string_to_int,
            "timestamp": lambda value: value.nanoseconds // 10**9,
            "uint": lambda value: operators.integer(int(value)),
        },
    ),
    *_conversions("string", dict.fromkeys(_STRING_SOURCES, to_string)),
    *_conversions("timestamp", {"timestamp": _same, "int": seconds_to_timestamp, "string": string_to_timestamp}),
    *_conversions(
        "uint", {"uint": _same, "double": _double_to_uint, "int": operators.unsigned, "string": _string_to_uint}
    ),
]
