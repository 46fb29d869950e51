"""The formats of strings that a schema may ask for, each a function that tells whether a text has it.

A format that is not here means nothing: it is a hint for readers, and a warning when a definition is written. Sources:
``k8s.io/kube-openapi`` ``pkg/validation/strfmt`` and ``pkg/internal/third_party/govalidator``, and which of them
Kubernetes knows in ``k8s.io/apiextensions-apiserver`` v0.37.1 ``pkg/apiserver/validation/formats.go``.

Patterns are compiled when they are first used: hardly any schema has more than one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from drakit_api.structural.string_formats import addresses, codes, times

_CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {
    "bsonobjectid": codes.is_bson_object_id,
    "byte": codes.is_base64,
    "cidr": addresses.is_cidr,
    "creditcard": codes.is_credit_card,
    "date": times.is_date,
    "datetime": times.is_datetime,
    "duration": times.is_duration,
    "email": addresses.is_email,
    "hexcolor": codes.is_hex_color,
    "hostname": addresses.is_hostname,
    "ipv4": addresses.is_ipv4,
    "ipv6": addresses.is_ipv6,
    "isbn": codes.is_isbn,
    "isbn10": codes.is_isbn10,
    "isbn13": codes.is_isbn13,
    "k8slongname": addresses.is_long_name,
    "k8sshortname": addresses.is_short_name,
    "mac": addresses.is_mac,
    "password": codes.is_anything,
    "rgbcolor": codes.is_rgb_color,
    "ssn": codes.is_ssn,
    "uri": addresses.is_uri,
    "uuid": codes.is_uuid,
    "uuid3": codes.is_uuid3,
    "uuid4": codes.is_uuid4,
    "uuid5": codes.is_uuid5,
}
# Formats of the types that are not strings; they bound the numbers.
_OF_NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def check_of(name: str) -> Callable[[str], bool] | None:
    """Return the check of a format; dashes in its name do not count."""
    return _CHECKS.get(name.replace("-", ""))


def is_recognized(name: str, of_type: str) -> bool:
    """Tell whether a schema of a type (empty: any) may have a format to any effect."""
    if of_type in ("", "string"):
        return check_of(name) is not None
    return name in _OF_NUMBERS.get(of_type, ())
