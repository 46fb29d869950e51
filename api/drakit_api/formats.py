"""Formats of strings: DNS names, label keys and values, identifiers, UUIDs.

Each check returns the complaints about a string, none if it is well-formed. Source: ``k8s.io/apimachinery`` v0.37.1
``pkg/api/validate/content`` and ``pkg/api/validate/strfmt.go``. Lengths are in bytes of UTF-8, as in Go; the older
``pkg/util/validation``, which handwritten rules use for DNS names, calls these bytes characters.

The same few names of attributes, capacities and counters stand in thousands of devices, so answers are remembered.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Literal

from drakit_api import limits

Unit = Literal["bytes", "characters"]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

_IS_LABEL = re.compile(_LABEL)
_IS_LABEL_1035 = re.compile(_LABEL_1035)
_IS_SUBDOMAIN = re.compile(_SUBDOMAIN)
_IS_CASELESS = re.compile(_SUBDOMAIN, re.IGNORECASE | re.ASCII)
_IS_KEY = re.compile(_KEY)
_IS_VALUE = re.compile(_VALUE)
_IS_IDENTIFIER = re.compile(_IDENTIFIER)
_IS_REASON = re.compile(_REASON)
_IS_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

_ALPHANUMERIC = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"


def byte_length(text: str) -> int:
    """Return the length in bytes of UTF-8, as Go's ``len`` does."""
    return len(text) if text.isascii() else len(text.encode())


@functools.lru_cache(maxsize=8192)
def dns_label(text: str, unit: Unit = "bytes") -> Sequence[str]:
    """Check a lowercase RFC 1123 label of at most 63 bytes: names of devices, requests, counters."""
    if len(text) <= limits.DNS_LABEL_LENGTH and _IS_LABEL.fullmatch(text):
        return ()
    found = _length(text, limits.DNS_LABEL_LENGTH, unit)
    if _IS_LABEL.fullmatch(text):
        return tuple(found)
    if _IS_SUBDOMAIN.fullmatch(text):
        return (*found, "must not contain dots")
    complaint = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character"
    )
    return (*found, _regex(complaint, _LABEL, "my-name", "123-abc"))


def dns_1035_label(text: str) -> Sequence[str]:
    """Check a lowercase RFC 1035 label of at most 63 bytes, which begins with a letter: plurals, API versions."""
    complaint = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character"
    )
    found = _length(text, limits.DNS_LABEL_LENGTH, "characters")
    if _IS_LABEL_1035.fullmatch(text):
        return found
    return [*found, _regex(complaint, _LABEL_1035, "my-name", "abc-123")]


def dns_subdomain(text: str, unit: Unit = "bytes") -> list[str]:
    """Check lowercase RFC 1123 labels joined by dots, at most 253 bytes: names of objects, classes, nodes."""
    complaint = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character"
    )
    found = _length(text, limits.DNS_SUBDOMAIN_LENGTH, unit)
    return found if _IS_SUBDOMAIN.fullmatch(text) else [*found, _regex(complaint, _SUBDOMAIN, "example.com")]


def dns_subdomain_caseless(text: str) -> list[str]:
    """Check as ``dns_subdomain``, in either case: driver names in opaque parameters and allocation results."""
    complaint = (
        "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character"
    )
    found = _length(text, limits.DNS_SUBDOMAIN_LENGTH)
    return found if _IS_CASELESS.fullmatch(text) else [*found, _regex(complaint, _SUBDOMAIN, "Example.com")]


@functools.lru_cache(maxsize=8192)
def label_key(text: str) -> Sequence[str]:
    """Check a name of at most 63 bytes, maybe after a DNS subdomain and a slash: keys of labels, taints, conditions."""
    parts = text.split("/")
    complaint = _regex(f"must consist of {_ALPHANUMERIC}", _KEY, "MyName", "my.name", "123-abc")
    if len(parts) > 2:
        prefix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {complaint} {prefix}",)
    found = []
    if len(parts) == 2 and not parts[0]:
        found.append("prefix part must be non-empty")
    elif len(parts) == 2:
        found += [f"prefix part {problem}" for problem in dns_subdomain(parts[0])]
    name = parts[-1]
    if not name:
        found.append("name part must be non-empty")
    found += [f"name part {problem}" for problem in _length(name, limits.DNS_LABEL_LENGTH)]
    return tuple(found) if _IS_KEY.fullmatch(name) else (*found, f"name part {complaint}")


def label_value(text: str) -> list[str]:
    """Check a label's value: empty, or at most 63 bytes of a label's alphabet."""
    found = _length(text, limits.LABEL_VALUE_LENGTH)
    complaint = f"a valid label must be an empty string or consist of {_ALPHANUMERIC}"
    return found if _IS_VALUE.fullmatch(text) else [*found, _regex(complaint, _VALUE, "MyValue", "my_value", "12345")]


def c_identifier(text: str) -> Sequence[str]:
    """Check a C identifier: the part of an attribute's or capacity's name after the domain."""
    complaint = (
        "a valid C identifier must start with alphabetic character or '_', "
        "followed by a string of alphanumeric characters or '_'"
    )
    examples = ("my_name", "MY_NAME", "MyName")
    return () if _IS_IDENTIFIER.fullmatch(text) else (_regex(complaint, _IDENTIFIER, *examples),)


def condition_reason(text: str) -> list[str]:
    """Check the CamelCase reason of a condition."""
    complaint = (
        "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
        "characters or '_,:', and must end with an alphanumeric character or '_'"
    )
    examples = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
    return [] if _IS_REASON.fullmatch(text) else [_regex(complaint, _REASON, *examples)]


def uuid(text: str) -> list[str]:
    """Check a lowercase UUID, as share ids are."""
    return [] if _IS_UUID.fullmatch(text) else ["must be a lowercase UUID in 8-4-4-4-12 format"]


def as_prefix(text: str) -> str:
    """Return a name that is valid exactly if some name can begin with ``text``, which may end in a dash.

    Source: ``maskTrailingDash`` (``k8s.io/apimachinery`` ``pkg/api/validation/generic.go``).
    """
    return text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text


def path_segment(text: str) -> list[str]:
    """Check that a name can be part of a URL, as any name must."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in text]


def _length(text: str, maximum: int, unit: Unit = "bytes") -> list[str]:
    return [f"must be no more than {maximum} {unit}"] if byte_length(text) > maximum else []


def _regex(complaint: str, pattern: str, *examples: str) -> str:
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{complaint} (e.g. {listed}regex used for validation is '{pattern}')"
