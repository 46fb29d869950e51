"""URLs as Go's ``net/url`` takes them apart, with its complaints (``Parse`` in net/url/url.go of Go 1.26)."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from dataclasses import dataclass

from drakit_api.golang.gostrings import quote

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PORT = re.compile(r"(:[0-9]*)?", re.ASCII)
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
# In a host, only bytes beyond ASCII and the percent sign may be escaped.
_NOT_IN_HOST = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}|%(?!25)[0-7][0-9A-Fa-f]|[\x00-\x20#/?@\\^`{|}\x7f]", re.DOTALL)
_SAFE_IN_USER = "-_.~$&+,;="


@dataclass(frozen=True, slots=True)
class GoUrl:
    """The parts of a URL that rules look at; ``user`` is escaped, None if there is none."""

    scheme: str = ""
    user: str | None = None
    host: str = ""
    query: str = ""
    fragment: str = ""


def parse(text: str) -> GoUrl:
    """Parse a URL.

    Raises:
        ValueError: with what Go says against it.
    """
    url, _, fragment = text.partition("#")
    try:
        scheme, user, host, query = _parsed(url)
    except ValueError as error:
        raise ValueError(f"parse {quote(url)}: {error}") from None
    try:
        return GoUrl(scheme, user, host, query, _unescaped(fragment))
    except ValueError as error:
        raise ValueError(f"parse {quote(text)}: {error}") from None


def _parsed(url: str) -> tuple[str, str | None, str, str]:
    if _CONTROL.search(url):
        raise ValueError("net/url: invalid control character in URL")
    if url.startswith(":"):
        raise ValueError("missing protocol scheme")
    found = _SCHEME.match(url)
    scheme = found[1].lower() if found else ""
    rest, _, query = (url[found.end() :] if found else url).partition("?")
    if not rest.startswith("/"):
        if scheme:
            return scheme, None, "", query
        if ":" in rest.partition("/")[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    user, host = None, ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        user, host = _authority(scheme, authority)
        rest = slash + path
    _unescaped(rest)
    return scheme, user, host, query


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    before, at, after = authority.rpartition("@")
    host = _host(scheme, after)
    if not at:
        return None, host
    if not _USER.fullmatch(before):
        raise ValueError("net/url: invalid userinfo")
    name, colon, password = before.partition(":")
    return _escaped(name) + colon + (_escaped(password) if colon else ""), host


def _escaped(text: str) -> str:
    return urllib.parse.quote(_unescaped(text), safe=_SAFE_IN_USER)


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise ValueError("invalid IP-literal")
    if bracket == 0:
        return _literal(host)
    # Several colons are old habit of databases' URLs.
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0:
        _check_port(host[colon:])
    return _unescaped_host(host)


def _literal(host: str) -> str:
    """Check an IPv6 address in brackets, perhaps with a zone, and the port after it."""
    inner, bracket, port = host[1:].rpartition("]")
    if not bracket:
        raise ValueError("missing ']' in host")
    _check_port(port)
    name, escape, zone = inner.partition("%25")
    address = _unescaped_host(name) + _unescaped(escape + zone)
    try:
        version = ipaddress.ip_address(address).version
    except ValueError:
        raise ValueError(f"invalid host: ParseAddr({quote(address)}): unable to parse IP") from None
    if version == 4:
        raise ValueError("invalid IP-literal")
    return f"[{address}]{port}"


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {quote(port)} after host")


def _unescaped_host(host: str) -> str:
    if bad := _NOT_IN_HOST.search(host):
        escape = bad[0].startswith("%")
        raise ValueError(
            f"invalid URL escape {quote(bad[0])}" if escape else f"invalid character {quote(bad[0])} in host name"
        )
    return _unescaped(host)


def _unescaped(text: str) -> str:
    if broken := _BROKEN_ESCAPE.search(text):
        raise ValueError(f"invalid URL escape {quote(broken[0])}")
    return urllib.parse.unquote(text)
