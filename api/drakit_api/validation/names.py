"""Names in fields: of drivers, pools and devices, and qualified names of attributes and capacities.

Source: ``k8s.io/kubernetes`` 1.37.1 ``pkg/apis/resource/validation/validation.go``; where Kubernetes checks a name
declaratively (``k8s.io/apimachinery`` v0.37.1 ``pkg/api/validate/strfmt.go``) the wording differs, and so it does here.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from drakit_api import formats, limits
from drakit_api.validation.errors import Errors, at_most, invalid, required, too_long


def _complaints(problems: Sequence[str], text: str, path: str) -> Errors:
    return [invalid(path, text, problem) for problem in problems] if problems else ()


def dns_label(text: str, path: str) -> Errors:
    """Check the name of a device, request or counter."""
    return _complaints(formats.dns_label(text, "characters"), text, path)


def declared_dns_label(text: str, path: str) -> Errors:
    """Check the name of a device, request or counter where a declared rule does so."""
    return _complaints(formats.dns_label(text), text, path)


def dns_subdomain(text: str, path: str) -> Errors:
    """Check the name of a class or node."""
    return _complaints(formats.dns_subdomain(text, "characters"), text, path)


def declared_dns_subdomain(text: str, path: str) -> Errors:
    """Check the name of a class or node where a declared rule does so."""
    return _complaints(formats.dns_subdomain(text), text, path)


def label_key(text: str, path: str) -> Errors:
    """Check the key of a label or taint."""
    return _complaints(formats.label_key(text), text, path)


def label_value(text: str, path: str) -> Errors:
    """Check the value of a label or taint."""
    return _complaints(formats.label_value(text), text, path)


def driver(text: str, path: str) -> Errors:
    """Check a driver name: a DNS subdomain of at most 63 bytes in either case."""
    if not text:
        yield required(path)
        return
    yield from at_most(text, limits.DRIVER_NAME_LENGTH, path)
    for problem in formats.dns_subdomain(text.lower(), "characters"):
        yield invalid(path, text, problem)


def declared_driver(text: str, path: str) -> Errors:
    """Check a driver name where a declared rule does so: in opaque parameters and allocation results."""
    if not text:
        yield required(path)
        return
    for problem in formats.dns_subdomain_caseless(text):
        yield invalid(path, text, problem)
    if len(text) > limits.DRIVER_NAME_LENGTH:
        yield too_long(path, limits.DRIVER_NAME_LENGTH, "characters")


def pool(text: str, path: str) -> Errors:
    """Check a pool name: DNS subdomains separated by slashes."""
    if not text:
        yield required(path)
        return
    yield from at_most(text, limits.POOL_NAME_LENGTH, path)
    for part in text.split("/"):
        yield from dns_subdomain(part, path)


def declared_pool(text: str, path: str) -> Errors:
    """Check a pool name where a declared rule does so: in allocation results."""
    if not text:
        yield required(path)
        return
    yield from at_most(text, limits.POOL_NAME_LENGTH, path)
    for index, part in enumerate(text.split("/")):
        problems = formats.dns_subdomain(part) if part else ["must not be empty"]
        shown = part or text
        yield from (invalid(path, shown, f"segment {index}: {problem}") for problem in problems)


def qualified(text: str, path: str) -> Errors:
    """Check the key of an attribute or capacity: an identifier, optionally after a domain. ``a/b/c`` is let through."""
    return () if is_qualified(text) else _qualified(text, path)


@functools.lru_cache(maxsize=8192)
def is_qualified(text: str) -> bool:
    """Tell whether ``qualified`` finds no error; remembered, since all devices of a driver have the same few names."""
    return not any(True for _ in _qualified(text, ""))


def _qualified(text: str, path: str) -> Errors:
    parts = text.split("/")
    if len(parts) == 1:
        yield from _identifier(text, path)
    elif len(parts) == 2:
        domain, name = parts
        yield from driver(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
        yield from _identifier(name, path) if name else [invalid(path, "", "the name must not be empty")]


def fully_qualified(text: str, path: str) -> Errors:
    """Check the name of an attribute that must have a domain, as in constraints (``ResourceFullyQualifiedName``)."""
    parts = text.split("/")
    if len(parts) == 1:
        yield from _identifier(text, path)
        yield invalid(path, text, "a fully qualified name must be a domain and a name separated by a slash")
    elif len(parts) == 2:
        yield from _prefix(parts[0], path)
        yield from _identifier(parts[1], path) if parts[1] else [invalid(path, "", "name must not be empty")]


def _prefix(domain: str, path: str) -> Errors:
    if not domain:
        yield invalid(path, "", "prefix must not be empty")
        return
    yield from at_most(domain, limits.ATTRIBUTE_DOMAIN_LENGTH, path)
    yield from (invalid(path, domain, f"prefix: {problem}") for problem in formats.dns_subdomain(domain))


def _identifier(text: str, path: str) -> Errors:
    yield from at_most(text, limits.ATTRIBUTE_ID_LENGTH, path)
    yield from _complaints(formats.c_identifier(text), text, path)
