"""Formats of times."""

from __future__ import annotations

import re
from datetime import date

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.library.conversions import string_to_duration
from drakit_api.golang.long_numbers import int64

_DATE = re.compile("([0-9]{4})(-[0-9]{2}-[0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_AMOUNT = re.compile("([0-9]+)[\\t\\n\\f\\r ]*([A-Za-zµ]+)")
_UNITS = frozenset({"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"})
# Longer ones have amounts and units anyway.
_LONGEST_OF_GO = 256
# Units may go on as they like: ``seconds``.
_BEGINNINGS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def is_date(text: str) -> bool:
    """Tell whether a text is a day such as ``2026-02-28``."""
    match = _DATE.fullmatch(text)
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
    match = _TIME.fullmatch(times[0]) if times else None
    return match is not None and is_date(day) and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def is_duration(text: str) -> bool:
    """Tell whether a text is a duration of Go (``1h30m``), or has an amount and a unit in it (``3 weeks``)."""
    if len(text) <= _LONGEST_OF_GO and _is_duration_of_go(text):
        return True
    amounts = _AMOUNT.findall(text)
    return all(int64(digits) is not None for digits, _ in amounts) and any(_is_unit(unit) for _, unit in amounts)


def _is_duration_of_go(text: str) -> bool:
    try:
        string_to_duration(text)
    except CelRuntimeError:
        return False
    return True


def _is_unit(word: str) -> bool:
    return word.lower() in _UNITS or word.lower().startswith(_BEGINNINGS)
