"""``semver("1.2.3")`` and versions in attributes (``k8s.io/apiserver`` v0.37 ``pkg/cel/library/semverlib.go``)."""

from __future__ import annotations

import functools

from drakit_api import semver
from drakit_api.cel.declarations import overload
from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values import Semver


@functools.lru_cache(maxsize=1024)
def parse(text: str) -> Semver:
    """A strict semantic version. Raises ``ValueError``."""
    return Semver(semver.parse(text))


def _parse(text: str, normalize: bool = False) -> Semver:
    try:
        return parse(_normalized(text) if normalize else text)
    except ValueError:
        raise CelRuntimeError(_complaint(_lenient(text) if normalize else text)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        parse(_normalized(text) if normalize else text)
    except ValueError:
        return False
    return True


def _lenient(text: str) -> str:
    try:
        return _normalized(text)
    except ValueError:
        return text


def _normalized(text: str) -> str:
    """Without ``v`` and leading zeros, missing numbers filled with 0. Raises ``ValueError``."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(character in parts[-1] for character in "+-"):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _without_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1].isdigit() else "0" + stripped


def _complaint(text: str) -> str:
    """What ``github.com/blang/semver/v4`` says about a text that it does not parse."""
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != 3:
        if len(parts) < 3 and any(character in text for character in "+-") and len(text.split(".")) < 3:
            return "No Major.Minor.Patch elements found"
        return "No Major.Minor.Patch elements found"
    for name, part in (("major", parts[0]), ("minor", parts[1])):
        if not part or not part.isascii() or not part.isdigit():
            return f'Invalid character(s) found in {name} number "{part}"'
        if len(part) > 1 and part[0] == "0":
            return f'{name.capitalize()} number must not contain leading zeroes "{part}"'
    patch = parts[2].split("+")[0].split("-")[0]
    if not patch or not patch.isascii() or not patch.isdigit():
        return f'Invalid character(s) found in patch number "{patch}"'
    if len(patch) > 1 and patch[0] == "0":
        return f'Patch number must not contain leading zeroes "{patch}"'
    return f'Invalid semantic version "{text}"'


FUNCTIONS = [
    overload("semver(string) -> Semver", _parse),
    overload("semver(string, bool) -> Semver", _parse),
    overload("isSemver(string) -> bool", _is_semver),
    overload("isSemver(string, bool) -> bool", _is_semver),
    overload("Semver.isGreaterThan(Semver) -> bool", lambda left, right: left.key > right.key),
    overload("Semver.isLessThan(Semver) -> bool", lambda left, right: left.key < right.key),
    overload("Semver.compareTo(Semver) -> int", lambda left, right: (left.key > right.key) - (left.key < right.key)),
    overload("Semver.major() -> int", lambda value: value.version.major),
    overload("Semver.minor() -> int", lambda value: value.version.minor),
    overload("Semver.patch() -> int", lambda value: value.version.patch),
]
