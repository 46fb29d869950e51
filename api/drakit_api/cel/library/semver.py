"""``semver("1.2.3")`` and versions in attributes (``k8s.io/apiserver`` v0.37 ``pkg/cel/library/semverlib.go``)."""

from __future__ import annotations

import functools
import re

from drakit_api import semver
from drakit_api.cel.errors import CelRuntimeError, succeeds
from drakit_api.cel.values.declarations import overload
from drakit_api.cel.values.values import UINT_MAX, Semver
from drakit_api.formats import byte_length
from drakit_api.golang.gostrings import quote
from drakit_api.golang.long_numbers import bounded

_REMEMBERED = 128  # longer texts are not
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+")


def parse(text: str) -> Semver:
    """Parse a strict semantic version. Raises ``ValueError``."""
    return _remembered(text) if len(text) <= _REMEMBERED else Semver(semver.parse(text))


@functools.lru_cache(maxsize=1024)
def _remembered(text: str) -> Semver:
    return Semver(semver.parse(text))


def _parse(text: str, normalize: bool = False) -> Semver:
    try:
        text = _normalized(text) if normalize else text
    except ValueError as error:
        raise CelRuntimeError(str(error)) from None
    try:
        return parse(text)
    except ValueError:
        raise CelRuntimeError(_complaint(text)) from None


def _normalized(text: str) -> str:
    """Drop ``v`` and leading zeros, and fill missing numbers with 0. Raises ``ValueError``."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(character in parts[-1] for character in "+-"):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _without_zeros(part: str) -> str:
    if byte_length(part) <= 1:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1].isdigit() else "0" + stripped


def _complaint(text: str) -> str:
    """Return what ``github.com/blang/semver/v4`` says about a text that it does not parse."""
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    for name, digits in (("major", parts[0]), ("minor", parts[1]), ("patch", patch)):
        if not digits:
            return 'strconv.ParseUint: parsing "": invalid syntax'
        if not _is_number(digits):
            return f"Invalid character(s) found in {name} number {quote(digits)}"
        if len(digits) > 1 and digits[0] == "0":
            return f"{name.capitalize()} number must not contain leading zeroes {quote(digits)}"
        if bounded(digits, UINT_MAX) > UINT_MAX:
            return f"strconv.ParseUint: parsing {quote(digits)}: value out of range"
    problems = [_prerelease_complaint(part) for part in prerelease.split(".") if dash]
    problems += [_build_complaint(part) for part in build.split(".") if plus]
    return next((problem for problem in problems if problem), f"{quote(text)} is not a semantic version")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _prerelease_complaint(part: str) -> str:
    if not part:
        return "Prerelease is empty"
    if not _is_number(part):
        return "" if _IDENTIFIER.fullmatch(part) else f"Invalid character(s) found in prerelease {quote(part)}"
    if len(part) > 1 and part[0] == "0":
        return f"Numeric PreRelease version must not contain leading zeroes {quote(part)}"
    return f"strconv.ParseUint: parsing {quote(part)}: value out of range" if bounded(part, UINT_MAX) > UINT_MAX else ""


def _build_complaint(part: str) -> str:
    if not part:
        return "Build meta data is empty"
    return "" if _IDENTIFIER.fullmatch(part) else f"Invalid character(s) found in build meta data {quote(part)}"


FUNCTIONS = [
    overload("semver(string) -> Semver", _parse),
    overload("semver(string, bool) -> Semver", _parse),
    overload("isSemver(string) -> bool", lambda *arguments: succeeds(_parse, *arguments)),
    overload("isSemver(string, bool) -> bool", lambda *arguments: succeeds(_parse, *arguments)),
    overload("Semver.isGreaterThan(Semver) -> bool", lambda left, right: left.key > right.key),
    overload("Semver.isLessThan(Semver) -> bool", lambda left, right: left.key < right.key),
    overload("Semver.compareTo(Semver) -> int", lambda left, right: (left.key > right.key) - (left.key < right.key)),
    overload("Semver.major() -> int", lambda value: value.version.major),
    overload("Semver.minor() -> int", lambda value: value.version.minor),
    overload("Semver.patch() -> int", lambda value: value.version.patch),
]
