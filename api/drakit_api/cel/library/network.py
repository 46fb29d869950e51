"""IP addresses and ranges (``k8s.io/apiserver`` v0.37 ``pkg/cel/library/ip.go`` and ``cidr.go``)."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from drakit_api.cel.errors import CelRuntimeError, succeeds
from drakit_api.cel.values.declarations import overload, register
from drakit_api.cel.values.values import INT_MAX, no_such_overload
from drakit_api.golang.gostrings import quote
from drakit_api.golang.long_numbers import bounded

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Ip:
    """An address, without zone and not IPv4-mapped."""

    address: _Address

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class Cidr:
    """A range as written: the address keeps its host bits."""

    address: _Address
    bits: int

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """The range without host bits."""
        return ipaddress.ip_network((self.address, self.bits), strict=False)


register(Ip, "net.IP", strict=True)
register(Cidr, "net.CIDR", strict=True)


def _address(text: str) -> _Address:
    """Parse an address that Go's ``netip.ParseAddr`` accepts, too. Raises ``ValueError`` with Go's reason."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(_complaint(text)) from None
    if "%" in text and text.endswith("%"):
        raise ValueError(f"ParseAddr({quote(text)}): zone must be a non-empty string")
    return address


def _complaint(text: str) -> str:
    subject = f"ParseAddr({quote(text)}): "
    for character in text:
        if character == ".":
            return subject + _v4_complaint(text)
        if character == ":":
            return subject + "unexpected character (at " + quote(text[-1:]) + ")"
        if character == "%":
            return subject + "missing IPv6 address"
    return subject + "unable to parse IP"


def _v4_complaint(text: str) -> str:
    fields = text.split(".")
    for index, field in enumerate(fields):
        if not field:
            rest = ".".join(fields[index:])
            return f"IPv4 field must have at least one digit (at {quote(rest)})"
        bad = next((position for position, character in enumerate(field) if not ("0" <= character <= "9")), None)
        if bad is not None:
            return f"unexpected character (at {quote('.'.join([field[bad:], *fields[index + 1 :]]))})"
        if len(field) > 1 and field[0] == "0":
            return "IPv4 field has octet with leading zero"
        if bounded(field, 255) > 255:
            return "IPv4 field has value >255"
        if index == 3 and len(fields) > 4:
            return "IPv4 address too long"
    return "IPv4 address too short"


def parse_ip(text: str) -> Ip:
    """Parse an IP address. Raises ``CelRuntimeError`` for what Kubernetes does not accept."""
    try:
        address = _address(text)
    except ValueError as error:
        raise CelRuntimeError(f"IP Address {quote(text)} parse error during conversion from string: {error}") from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            raise CelRuntimeError(f"IP address {quote(text)} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise CelRuntimeError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return Ip(address)


def parse_cidr(text: str) -> Cidr:
    """Parse an IP range. Raises ``CelRuntimeError`` for what Kubernetes does not accept."""
    try:
        address, bits = _prefix(text)
    except ValueError as error:
        reason = f"network address parse error during conversion from string: netip.ParsePrefix({quote(text)}): {error}"
        raise CelRuntimeError(f"network address parse error during conversion from string: {reason}") from None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        reason = f"IPv4-mapped IPv6 address {quote(text)} is not allowed"
        raise CelRuntimeError(f"network address parse error during conversion from string: {reason}")
    return Cidr(address, bits)


def _prefix(text: str) -> tuple[_Address, int]:
    before, slash, after = text.rpartition("/")
    if not slash:
        raise ValueError("no '/'")
    address = _address(before)
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id:
        raise ValueError("IPv6 zones cannot be present in a prefix")
    if len(after) > 1 and not "1" <= after[0] <= "9":
        raise ValueError(f"bad bits after slash: {quote(after)}")
    if not after.isascii() or not after.isdigit() or (bits := bounded(after, INT_MAX)) > INT_MAX:
        raise ValueError(f"bad bits after slash: {quote(after)}")
    if bits > address.max_prefixlen:
        raise ValueError("prefix length out of range")
    return address, bits


def _contains_ip(cidr: Cidr, ip: Ip) -> bool:
    return ip.address.version == cidr.address.version and ip.address in cidr.network


def _contains_text(cidr: Cidr, text: str) -> bool:
    if not succeeds(parse_ip, text):
        raise no_such_overload()
    return _contains_ip(cidr, parse_ip(text))


def _contains_cidr(cidr: Cidr, other: Cidr) -> bool:
    if cidr.address.version != other.address.version or cidr.bits > other.bits:
        return False
    return other.network.network_address in cidr.network


def _is_link_local_multicast(ip: Ip) -> bool:
    if isinstance(ip.address, ipaddress.IPv4Address):
        return ip.address in ipaddress.IPv4Network("224.0.0.0/24")
    return ip.address.packed[0] == 0xFF and ip.address.packed[1] & 0x0F == 2


def _is_global_unicast(ip: Ip) -> bool:
    """Tell as Go does: any unicast address that is not loopback, link-local, unspecified or broadcast."""
    address = ip.address
    if address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local:
        return False
    return str(address) != "255.255.255.255"


FUNCTIONS = [
    overload("ip(string) -> IP", parse_ip),
    overload("isIP(string) -> bool", lambda text: succeeds(parse_ip, text)),
    overload("ip::isCanonical(string) -> bool", lambda text: str(parse_ip(text)) == text),
    overload("IP.family() -> int", lambda ip: ip.address.version),
    overload("IP.isUnspecified() -> bool", lambda ip: ip.address.is_unspecified),
    overload("IP.isLoopback() -> bool", lambda ip: ip.address.is_loopback),
    overload("IP.isLinkLocalMulticast() -> bool", _is_link_local_multicast),
    overload("IP.isLinkLocalUnicast() -> bool", lambda ip: ip.address.is_link_local),
    overload("IP.isGlobalUnicast() -> bool", _is_global_unicast),
    overload("string(IP) -> string", str),
    overload("cidr(string) -> CIDR", parse_cidr),
    overload("isCIDR(string) -> bool", lambda text: succeeds(parse_cidr, text)),
    overload("CIDR.containsIP(string) -> bool", _contains_text),
    overload("CIDR.containsIP(IP) -> bool", _contains_ip),
    overload("CIDR.containsCIDR(string) -> bool", lambda cidr, text: _contains_cidr(cidr, parse_cidr(text))),
    overload("CIDR.containsCIDR(CIDR) -> bool", _contains_cidr),
    overload("CIDR.ip() -> IP", lambda cidr: Ip(cidr.address)),
    overload("CIDR.prefixLength() -> int", lambda cidr: cidr.bits),
    overload("CIDR.masked() -> CIDR", lambda cidr: Cidr(cidr.network.network_address, cidr.bits)),
    overload("string(CIDR) -> string", str),
]
