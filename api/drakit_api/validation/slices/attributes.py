"""Attributes of devices: exactly one value, or one list of values.

Source: ``validateDeviceAttribute`` of ``k8s.io/kubernetes`` 1.37.1 ``pkg/apis/resource/validation/validation.go``, and
the union in ``pkg/apis/resource/v1/zz_generated.validations.go``.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from drakit_api import limits
from drakit_api.objects import encoding
from drakit_api.objects.device_attributes import LIST_VALUES
from drakit_api.validation.errors import Errors, at_most, invalid
from drakit_api.validation.items import each

_SCALARS = ("int", "bool", "string", "version")
_NUMBER = r"(0|[1-9][0-9]*)"
_PRERELEASE = r"(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD = r"[0-9a-zA-Z-]+"
# Unlike drakit_api.semver this puts no bound on numbers: the API server takes what no selector can compare.
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?")


def is_plain(value: dict[str, Any]) -> bool:
    """Tell whether a value is one number, boolean, short text or version: nearly all are, and no rule objects."""
    if len(value) != 1:
        return False
    for kind, content in value.items():
        if kind == "string":
            return len(content) <= limits.ATTRIBUTE_VALUE_LENGTH and content.isascii()
        return kind in ("int", "bool") or (kind == "version" and not _is_bad_version(content))
    return False


def attribute(value: dict[str, Any], path: str) -> Errors:
    """Check the handwritten rules of an attribute."""
    if "string" in value:
        yield from _string(value["string"], f"{path}.string")
    if "version" in value:
        yield from _version(value["version"], f"{path}.version")
    for name in sorted(LIST_VALUES):
        if name in value and not value[name]:
            yield invalid(f"{path}.{name}", [], "must not be empty if specified")
    yield from each(value.get("strings"), f"{path}.strings", _string)
    yield from each(value.get("versions"), f"{path}.versions", _version)
    # An empty list counts as a value here, but not in the declared union below, which otherwise speaks for both.
    given = [name for name in (*_SCALARS, *LIST_VALUES) if name in value]
    if len(given) > 1 and len(_union(value)) == 1:
        shown = encoding.internal_encoder("resource/v1.DeviceAttribute")(value)
        yield invalid(path, shown, "exactly one value must be specified")


def declared_attribute(value: dict[str, Any], path: str) -> Errors:
    """Check that exactly one member of the union is set."""
    given, members = _union(value), ", ".join(f"`{name}`" for name in (*_SCALARS, *LIST_VALUES))
    if not given:
        yield invalid(path, "", f"must specify one of: {members}")
    elif len(given) > 1:
        yield invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {members}")


def _union(value: dict[str, Any]) -> list[str]:
    return [name for name in _SCALARS if name in value] + [name for name in LIST_VALUES if value.get(name)]


def _string(value: str, path: str) -> Errors:
    yield from at_most(value, limits.ATTRIBUTE_VALUE_LENGTH, path)


def _version(value: str, path: str) -> Errors:
    if not _VERSION.fullmatch(value):
        yield invalid(path, value, "must be a string compatible with semver.org spec 2.0.0")
    yield from _string(value, path)


@functools.lru_cache(maxsize=1024)
def _is_bad_version(value: str) -> bool:
    return any(True for _ in _version(value, ""))
