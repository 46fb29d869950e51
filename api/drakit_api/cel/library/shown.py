"""Values in error messages, as ``%v`` of Go prints what cel-go holds them in."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from drakit_api.cel.values import budget
from drakit_api.cel.values.keys import map_keys
from drakit_api.cel.values.values import (
    LISTS,
    MAPS,
    NONE,
    Duration,
    Optional,
    Semver,
    Timestamp,
    TypeValue,
    type_name,
)
from drakit_api.golang.gofloats import general

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INFINITE = {math.inf: "+Inf", -math.inf: "-Inf"}
_SMALL_UNITS = ((10**6, "ms"), (10**3, "µs"), (1, "ns"))


def show(value: Any) -> str:
    """Print a value as in an error message."""
    kind = type(value)
    if kind in LISTS:
        budget.spend_list(value)
        return f"[{' '.join(map(show, value))}]"
    if kind in MAPS:
        budget.spend_list(value)
        pairs = zip(map_keys(value), value.values(), strict=True)
        return f"{{{', '.join(f'{show(key)}: {show(part)}' for key, part in pairs)}}}"
    printed = _PRINTED.get(kind)
    if printed is not None:
        return printed(value)
    text = str(value)
    return type_name(value) if text.startswith("<") else text


def _float(value: float) -> str:
    return general(value) if math.isfinite(value) else _INFINITE.get(value, "NaN")


def _duration(value: Duration) -> str:
    """Print as ``time.Duration.String`` does: ``1h0m0s``, ``1.5ms``."""
    amount = abs(value.nanoseconds)
    sign = "-" if value.nanoseconds < 0 else ""
    if amount < 10**9:
        size, unit = next((each for each in _SMALL_UNITS if amount >= each[0]), (1, "s"))
        return f"{sign}{_decimal(amount, size)}{unit}"
    minutes, rest = divmod(amount, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    larger = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{larger}{_decimal(rest, 10**9)}s"


def _decimal(amount: int, size: int) -> str:
    whole, rest = divmod(amount, size)
    digits = len(str(size)) - 1
    return f"{whole}.{rest:0{digits}d}".rstrip("0") if rest else str(whole)


def _timestamp(value: Timestamp) -> str:
    """Print as ``time.Time.String`` does."""
    seconds, rest = divmod(value.nanoseconds, 10**9)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{moment.year:04d}-{moment:%m-%d %H:%M:%S}{fraction} +0000 UTC"


def _optional(value: Optional) -> str:
    return "optional.none()" if value is NONE else f"optional({show(value.value)})"


_PRINTED: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    float: _float,
    # A constant of an enumeration to Go.
    type(None): lambda _: "0",
    Duration: _duration,
    Timestamp: _timestamp,
    Optional: _optional,
    TypeValue: lambda value: str(value.name),
    Semver: lambda value: str(value.version),
}
