"""Texts of addresses and networks in Services: which are valid, and which can be read in two ways.

After IsValidIPForLegacyField, IsValidCIDRForLegacyField, GetWarningsForIP and GetWarningsForCIDR in
k8s.io/apimachinery/pkg/util/validation/ip.go, and ValidateEndpointIP in k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from drakit_api.golang.gostrings import quote
from drakit_api.validation.errors import Errors, invalid
from drakit_embedded.apiserver.registry.podspec import network_rules

_ZEROS = re.compile(r"\b0+(?=[0-9])")
_NO_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
address = network_rules.address


def is_address(text: str) -> bool:
    """Check whether a text is an address, leading zeros or not."""
    try:
        ipaddress.ip_address(_ZEROS.sub("", text) if ":" not in text else text)
    except ValueError:
        return False
    return "%" not in text


def family(text: str) -> str:
    """Find the family of an address: ``IPv4`` or ``IPv6``; ``IPv4`` also for other texts."""
    return "IPv6" if ":" in text else "IPv4"


def endpoint(text: str, path: str) -> Errors:
    """Refuse an address (``text`` must be one) that is unspecified, of the loopback or link-local."""
    parsed = ipaddress.ip_address(_ZEROS.sub("", text) if ":" not in text else text)
    if parsed.is_unspecified:
        yield invalid(path, text, f"may not be unspecified ({text})")
    if parsed.is_loopback:
        yield invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if parsed.is_link_local:
        yield invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if parsed in _LINK_LOCAL_MULTICAST[parsed.version]:
        yield invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


_LINK_LOCAL_MULTICAST = {4: ipaddress.ip_network("224.0.0.0/24"), 6: ipaddress.ip_network("ff02::/16")}


def network(text: str, path: str) -> Errors:
    """Validate a network that is written as its first address and a length."""
    base, slash, length = text.partition("/")
    try:
        parsed = ipaddress.ip_interface(f"{_ZEROS.sub('', base) if ':' not in base else base}/{int(length)}")
    except ValueError:
        yield invalid(path, text, _NO_NETWORK)
        return
    if not slash or not length.isascii() or not length.isdigit() or "%" in base:
        yield invalid(path, text, _NO_NETWORK)
    elif _ZEROS.search(length) or (parsed.version == 4 and _ZEROS.search(base)):
        yield invalid(path, text, "must not have leading 0s in IP or prefix length")
    elif isinstance(parsed, ipaddress.IPv6Interface) and parsed.ip.ipv4_mapped is not None:
        yield invalid(path, text, "must not have an IPv4-mapped IPv6 address")
    elif parsed.ip != parsed.network.network_address:
        yield invalid(path, text, "must not have bits set beyond the prefix length")


def address_warnings(text: str, path: str) -> Iterator[str]:
    """Warn of an address that is not in its canonical form."""
    if not is_address(text):
        return
    parsed = ipaddress.ip_address(_ZEROS.sub("", text) if ":" not in text else text)
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        yield f"{path}: non-standard IP address {quote(text)} is invalid: use {quote(str(parsed.ipv4_mapped))}"
    elif parsed.version == 4 and str(parsed) != text:
        yield f"{path}: non-standard IP address {quote(text)} is invalid: use {quote(str(parsed))}"
    elif str(parsed) != text:
        yield f"{path}: IPv6 address {quote(text)} should be in RFC 5952 canonical format ({quote(str(parsed))})"


def network_warnings(text: str, path: str) -> Iterator[str]:
    """Warn of an IPv6 network that is not in its canonical form; others are refused or canonical."""
    try:
        parsed = ipaddress.ip_network(text)
    except ValueError:
        return
    if parsed.version == 6 and str(parsed) != text:
        yield f"{path}: IPv6 CIDR value {quote(text)} should be in RFC 5952 canonical format ({quote(str(parsed))})"
