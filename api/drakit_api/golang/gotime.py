"""Times in objects: RFC 3339 as Go reads it, with Go's complaints, and as Kubernetes writes it.

``metav1.Time`` keeps whole seconds in UTC, ``MicroTime`` wants and keeps six digits more (``k8s.io/apimachinery``
v0.37.1 ``pkg/apis/meta/v1/{time,micro_time}.go``). The complaints are those of Go's ``time.Parse``, which names
the first part of the layout that does not fit.
"""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime

# (name of the part in the layout, what it looks like, name of its range)
_Part = tuple[str, str, str]
_DATE: list[_Part] = [
    ("2006", r"\d{4}", ""),
    ("-", "-", ""),
    ("01", r"\d{2}", "month"),
    ("-", "-", ""),
    ("02", r"\d{2}", "day"),
    ("T", "T", ""),
    ("15", r"\d{1,2}", "hour"),
    (":", ":", ""),
    ("04", r"\d{2}", "minute"),
    (":", ":", ""),
]
_ZONE: _Part = ("Z07:00", r"Z|[-+]\d{2}:\d{2}", "")
_SECONDS: list[_Part] = [*_DATE, ("05", r"\d{2}(?:[.,]\d+)?", "second"), _ZONE]
_MICROSECONDS: list[_Part] = [*_DATE, ("05", r"\d{2}", "second"), (".000000", r"[.,]\d{6}", ""), _ZONE]
# The time that is unset for Go (``IsZero``).
ZERO = "0001-01-01T00:00:00Z"
_RANGES = {"month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}


def now(*, micro: bool = False) -> str:
    """Print the present time as ``metav1.Time`` does; with ``micro`` as ``metav1.MicroTime``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


@functools.lru_cache(maxsize=4096)
def canonical(text: str, *, micro: bool = False) -> str:
    """Print a ``metav1.Time`` (or ``MicroTime``) as the server writes it back. Raises ``ValueError`` with Go's words.

    Remembered, since an object comes back with the times that it was created at and last written by each manager.
    """
    rest, values = text, []
    parts = _MICROSECONDS if micro else _SECONDS
    for part, pattern, name in parts:
        match = re.match(pattern, rest, re.ASCII)
        if match is None:
            layout = "".join(name for name, _, _ in parts)
            raise ValueError(
                f"parsing time {quote(text)} as {quote(layout)}: cannot parse {quote(rest)} as {quote(part)}"
            )
        if name and not _in_range(name, match.group()):
            raise ValueError(f"parsing time {quote(text)}: {name} out of range")
        values.append(match.group())
        rest = rest[match.end() :]
    if rest:
        raise ValueError(f"parsing time {quote(text)}: extra text: {quote(rest)}")
    for name, digits, maximum in (("hour", values[-1][1:3], 24), ("minute", values[-1][4:], 60)):
        if digits and int(digits) > maximum:
            raise ValueError(f"parsing time {quote(text)}: time zone offset {name} out of range")
    fraction = f".{values[11][1:]}" if micro else ""
    return _in_utc(text, values).replace("Z", f"{fraction}Z")


def quote(text: str) -> str:
    """Quote a text as Go's ``time/format.go`` does in errors: control characters and all beyond ASCII as bytes."""
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if " " <= char < "\x80":
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode())


def seconds(text: str) -> int:
    """Return the seconds since 1970 of a ``metav1.Time`` as Kubernetes writes it. Raises ``ValueError``."""
    return int(datetime.fromisoformat(text).timestamp())


def _in_range(name: str, digits: str) -> bool:
    low, high = _RANGES[name]
    return low <= int(digits[:2]) <= high


def _in_utc(text: str, values: list[str]) -> str:
    seconds, zone = values[10][:2], values[-1].replace("Z", "+00:00")
    try:
        moment = datetime.fromisoformat(f"{''.join(values[:6])}{values[6]:>02}:{values[8]}:{seconds}{zone}")
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    except (ValueError, OverflowError):
        raise ValueError(f"parsing time {quote(text)}: day out of range") from None
