"""Formats of times."""

from __future__ import annotations

import contextlib
import re
from datetime import date

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library.conversions import string_to_duration
from drakit_api.golang.gostrings import quote
from drakit_api.golang.long_numbers import int64

_DATE = "([0-9]{4})(-[0-9]{2}-[0-9]{2})"
_TIME = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})"
_AMOUNT = "([0-9]+)[\\t\\n\\f\\r ]*([A-Za-zµ]+)"
_MINUTE, _HOUR, _DAY = 60 * 10**9, 3600 * 10**9, 24 * 3600 * 10**9
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": _MINUTE,
    "h": _HOUR,
    "hr": _HOUR,
    "d": _DAY,
    "w": 7 * _DAY,
    "wk": 7 * _DAY,
}
_BEGINNINGS = {
    "nano": 1,
    "micro": 10**3,
    "milli": 10**6,
    "sec": 10**9,
    "min": _MINUTE,
    "hour": _HOUR,
    "day": _DAY,
    "week": 7 * _DAY,
}
# Longer ones have amounts and units anyway.
_LONGEST_OF_GO = 256


def is_date(text: str) -> bool:
    """Tell whether a text is a day such as ``2026-02-28``."""
    match = re.fullmatch(_DATE, text)
    if match is None:
        return False
    try:
        # Go has a year 0, which is a leap year like 2000.
        date.fromisoformat(f"{'2000' if match[1] == '0000' else match[1]}{match[2]}")
    except ValueError:
        return False
    return True


def is_datetime(text: str) -> bool:
    """Tell whether a text is a day, a T, and a time with its zone; what follows another T is not looked at."""
    day, *times = text.lower().split("t")
    match = re.fullmatch(_TIME, times[0]) if times else None
    return match is not None and is_date(day) and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def is_duration(text: str) -> bool:
    """Tell whether a text is a duration of Go (``1h30m``), or has an amount and a unit in it (``3 weeks``)."""
    try:
        duration(text)
    except ValueError:
        return False
    return True


def duration(text: str) -> int:
    """Return the nanoseconds of a duration of Go (``1h30m``), or of all amounts with units in a text (``3 weeks``).

    Raises ``ValueError`` if there are none (``k8s.io/kube-openapi`` ``pkg/validation/strfmt/duration.go``).
    """
    if len(text) <= _LONGEST_OF_GO:
        with contextlib.suppress(CelRuntimeError):
            return string_to_duration(text).nanoseconds
    total: int | None = None
    for digits, unit in re.findall(_AMOUNT, text):
        amount, length = int64(digits), _length(unit.lower())
        if amount is None:
            raise ValueError(f"strconv.Atoi: parsing {quote(digits)}: value out of range")
        if length is not None:
            total = _wrapped((total or 0) + amount * length)
    if total is None:
        raise ValueError(f"unable to parse {text} as duration")
    return total


def _length(word: str) -> int | None:
    """Return the nanoseconds of a unit, which may go on as it likes: ``seconds``."""
    if word in _UNITS:
        return _UNITS[word]
    return next((length for beginning, length in _BEGINNINGS.items() if word.startswith(beginning)), None)


def _wrapped(number: int) -> int:
    """Keep what fits into 64 bits, as Go does."""
    return (number + 2**63) % 2**64 - 2**63
