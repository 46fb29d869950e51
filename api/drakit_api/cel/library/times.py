"""The parts of moments and durations: ``getFullYear()`` and so on (cel-go ``common/stdlib/standard.go``)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values.declarations import Overload, overload
from drakit_api.cel.values.values import Duration, Timestamp
from drakit_api.golang.long_numbers import bounded

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_HOURS = 9999
_OFFSET = re.compile(r"([+-]?)(\d+):(\d+)")


def _zone(name: str) -> tzinfo:
    if ":" in name:
        match = _OFFSET.fullmatch(name)
        if match is None:
            raise CelRuntimeError(f'strconv.Atoi: parsing "{name.partition(":")[0]}": invalid syntax')
        hours, minutes = (bounded(part, _MOST_HOURS) for part in match.group(2, 3))
        try:
            return timezone((-1 if match.group(1) == "-" else 1) * timedelta(hours=hours, minutes=minutes))
        except ValueError:
            raise CelRuntimeError(f"time zone {name} is a day or more from UTC") from None
    if name in ("", "UTC"):
        return UTC
    if ".." in name or name[0] in "/\\":
        raise CelRuntimeError("time: invalid location name")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CelRuntimeError(f"unknown time zone {name}") from None


def _moment(value: Timestamp, zone: str) -> datetime:
    try:
        return (_EPOCH + timedelta(seconds=value.nanoseconds // 10**9)).astimezone(_zone(zone))
    except OverflowError:
        raise CelRuntimeError("timestamp overflow") from None


def _part(name: str, read: Callable[[datetime], int]) -> list[Overload]:
    def of_timestamp(value: Timestamp, zone: str = "UTC") -> int:
        return read(_moment(value, zone))

    return [
        overload(f"timestamp.{name}() -> int", of_timestamp),
        overload(f"timestamp.{name}(string) -> int", of_timestamp),
    ]


def _whole(name: str, unit: int) -> Overload:
    """Declare a function that returns a duration in whole units, rounded to zero."""

    def of_duration(value: Duration) -> int:
        amount = abs(value.nanoseconds) // unit
        return amount if value.nanoseconds >= 0 else -amount

    return overload(f"duration.{name}() -> int", of_duration)


def _milliseconds(value: Timestamp, zone: str = "UTC") -> int:
    _zone(zone)
    return value.nanoseconds % 10**9 // 10**6


FUNCTIONS = [
    *_part("getFullYear", lambda moment: moment.year),
    *_part("getMonth", lambda moment: moment.month - 1),
    *_part("getDayOfYear", lambda moment: moment.timetuple().tm_yday - 1),
    *_part("getDayOfMonth", lambda moment: moment.day - 1),
    *_part("getDate", lambda moment: moment.day),
    *_part("getDayOfWeek", lambda moment: moment.isoweekday() % 7),
    *_part("getHours", lambda moment: moment.hour),
    _whole("getHours", 3600 * 10**9),
    *_part("getMinutes", lambda moment: moment.minute),
    _whole("getMinutes", 60 * 10**9),
    *_part("getSeconds", lambda moment: moment.second),
    _whole("getSeconds", 10**9),
    overload("timestamp.getMilliseconds() -> int", _milliseconds),
    overload("timestamp.getMilliseconds(string) -> int", _milliseconds),
    _whole("getMilliseconds", 10**6),
]
