"""Formats of addresses: of hosts, machines, mail and documents."""

from __future__ import annotations

import ipaddress
import re
import unicodedata

from drakit_api import formats
from drakit_api.cel.library.urls import request_uri_problem
from drakit_api.formats import byte_length

# Of texts in which "a" stands for all letters, "0" for digits and "$" for symbols.
_HOSTNAME = r"[a0$](?:-?[a0$]{0,62})?|(?:[a0$](?:[a0$-]{0,61}[a0$])?\.)+a{2,63}"
_HOSTNAME_BYTES, _LABEL_BYTES = 255, 63
_ASCII_SYMBOLS = dict.fromkeys("$+<=>^`|~", "$")
_HEX = "[0-9a-fA-F]"
# 6, 8 or 20 bytes, in groups of one or two with the same separator between them, or in one piece.
_MAC = "|".join(
    rf"{_HEX}{{2}}(?::{_HEX}{{2}}){{{size - 1}}}|{_HEX}{{2}}(?:-{_HEX}{{2}}){{{size - 1}}}"
    rf"|{_HEX}{{4}}(?:\.{_HEX}{{4}}){{{size // 2 - 1}}}|{_HEX}{{{size * 2}}}"
    for size in (6, 8, 20)
)
_LEADING_ZEROS = rf"(?<!{_HEX})0+(?={_HEX})"
_BITS = "0*[0-9]{1,3}"

# RFC 5322 as Go's net/mail reads it; all quantifiers are possessive, as Go never goes back.
_ATEXT = r"!#-'*+\-/-9=?A-Z^-~\u0080-\U0010ffff"
_ATOM = rf"[{_ATEXT}]++(?:\.[{_ATEXT}]++)*+(?!\.)"
_VISIBLE = r"!-~\u0080-\U0010ffff"
_QUOTED_CHARACTER = rf"(?:[ \t!#-\[\]-~\u0080-\U0010ffff]|\\[ \t{_VISIBLE}])"
_COMMENT = r"\((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*+\))*+\)"
_SPACE = rf"[ \t]*+(?:{_COMMENT}[ \t]*+)*+"
_DOMAIN_LITERAL = r"\[(?P<{name}>[!-Z^-~]*+)\]"
_WORD = rf'(?:[{_ATEXT}.]++|"{_QUOTED_CHARACTER}*+")'
_PHRASE = rf"[ \t]*+(?:{_WORD}{_SPACE})++"


def _address(name: str) -> str:
    domain = rf"(?:{_ATOM}|{_DOMAIN_LITERAL.format(name=name)})"
    return rf'[ \t]*+(?:"{_QUOTED_CHARACTER}++"|{_ATOM})@[ \t]*+{domain}'


_MAILBOX = rf"(?:{_address('bare')}[ \t]*+(?:{_COMMENT})?|(?:{_PHRASE})?[ \t]*+<{_address('angled')}>){_SPACE}"
_GROUP = rf"{_PHRASE}:(?P<mailbox>.*);{_SPACE}"


def is_hostname(text: str) -> bool:
    """Tell whether a text is a name of a host, of labels that may have letters of any alphabet."""
    if byte_length(text) > _HOSTNAME_BYTES or not re.fullmatch(_HOSTNAME, "".join(map(_class, text))):
        return False
    return all(byte_length(label) <= _LABEL_BYTES for label in text.split("."))


def _class(character: str) -> str:
    if character.isascii():
        return "a" if character.isalpha() else "0" if character.isdigit() else _ASCII_SYMBOLS.get(character, character)
    return {"L": "a", "S": "$"}.get(unicodedata.category(character)[0], " ")


def is_uri(text: str) -> bool:
    """Tell whether a text is what a request may ask for, as ``url.ParseRequestURI`` reads it."""
    return not request_uri_problem(text)


def is_email(text: str) -> bool:
    """Tell whether a text is one address of mail, maybe with a name, as ``mail.ParseAddress`` reads it."""
    match = re.fullmatch(_MAILBOX, text, re.DOTALL)
    if match is None:
        group = re.fullmatch(_GROUP, text, re.DOTALL)
        match = re.fullmatch(_MAILBOX, group["mailbox"], re.DOTALL) if group else None
    return match is not None and all(_is_ip(literal) for literal in match.groupdict().values() if literal is not None)


def is_ipv4(text: str) -> bool:
    """Tell whether a text is an address with dots, maybe with leading zeros, maybe inside of an IPv6 address."""
    return "." in text and _is_ip(re.sub(_LEADING_ZEROS, "", text))


def is_ipv6(text: str) -> bool:
    """Tell whether a text is an address with colons."""
    return ":" in text and _is_ip(text)


def is_cidr(text: str) -> bool:
    """Tell whether a text is an address and the length of a prefix; there may be leading zeros."""
    address, slash, bits = text.partition("/")
    address = re.sub(_LEADING_ZEROS, "", address)
    if not slash or not _is_ip(address) or not re.fullmatch(_BITS, bits):
        return False
    return int(bits) <= ipaddress.ip_address(address).max_prefixlen


def is_mac(text: str) -> bool:
    """Tell whether a text is a hardware address, as ``net.ParseMAC`` reads it."""
    return re.fullmatch(_MAC, text) is not None


def is_short_name(text: str) -> bool:
    """Tell whether a text is a DNS label."""
    return not formats.dns_label(text)


def is_long_name(text: str) -> bool:
    """Tell whether a text is a DNS subdomain."""
    return not formats.dns_subdomain(text)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text
