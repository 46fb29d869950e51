"""``format.uuid().validate(text)``: named formats (``k8s.io/apiserver`` v0.37 ``pkg/cel/library/format.go``)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from drakit_api import formats
from drakit_api.cel.library.urls import request_uri_problem
from drakit_api.cel.values.declarations import overload, register
from drakit_api.cel.values.values import NONE, Optional

_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


@dataclass(frozen=True, slots=True)
class Format:
    """A named format; ``problems`` says what is wrong with a text."""

    name: str
    problems: Callable[[str], Sequence[str]] = field(compare=False)

    def __str__(self) -> str:
        return self.name


register(Format, "kubernetes.NamedFormat", strict=True, hashing="never")


def _prefix(problems: Callable[[str], Sequence[str]]) -> Callable[[str], Sequence[str]]:
    """Make the format of a name's beginning, which may end with a dash."""
    return lambda text: problems(formats.as_prefix(text))


def _uri(text: str) -> list[str]:
    problem = request_uri_problem(text)
    return [problem] if problem else []


def _checked(complaint: str, is_valid: Callable[[str], bool]) -> Callable[[str], Sequence[str]]:
    return lambda text: [] if is_valid(text) else [complaint]


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return _DATE.fullmatch(text) is not None


def _is_datetime(text: str) -> bool:
    match = _DATETIME.fullmatch(text)
    if match is None:
        return False
    try:
        datetime.fromisoformat(f"{match.group(1)}T{match.group(2)}")
    except ValueError:
        return False
    return True


_FORMATS = {
    "dns1123Label": Format("DNS1123Label", formats.dns_label),
    "dns1123Subdomain": Format("DNS1123Subdomain", formats.dns_subdomain),
    "dns1035Label": Format("DNS1035Label", formats.dns_1035_label),
    "qualifiedName": Format("QualifiedName", formats.label_key),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _prefix(formats.dns_label)),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _prefix(formats.dns_subdomain)),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix(formats.dns_1035_label)),
    "labelValue": Format("LabelValue", formats.label_value),
    "uri": Format("URI", _uri),
    "uuid": Format("uuid", _checked("does not match the UUID format", lambda text: bool(_UUID.fullmatch(text)))),
    "byte": Format("byte", _checked("invalid base64", _is_base64)),
    "date": Format("date", _checked("invalid date", _is_date)),
    "datetime": Format("datetime", _checked("invalid datetime", _is_datetime)),
}


def _named(name: str) -> Optional:
    return Optional(_FORMATS[name]) if name in _FORMATS else NONE


def _validate(named: Format, text: str) -> Optional:
    problems = named.problems(text)
    return Optional(list(problems)) if problems else NONE


def _constant(value: Format) -> Callable[[], Format]:
    return lambda: value


FUNCTIONS = [
    *(overload(f"format::{name}() -> Format", _constant(value)) for name, value in _FORMATS.items()),
    overload("format::named(string) -> optional<Format>", _named),
    overload("Format.validate(string) -> optional<list<string>>", _validate),
]
