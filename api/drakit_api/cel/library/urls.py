"""URLs (``k8s.io/apiserver`` v0.37 ``pkg/cel/library/urls.go``), read by the rules of Go's ``net/url``."""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass

from drakit_api.cel.errors import CelRuntimeError
from drakit_api.cel.values import budget
from drakit_api.cel.values.declarations import overload, register
from drakit_api.golang.gostrings import quote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")
_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})(.{0,2})")
_PORT = re.compile(r"(?::[0-9]*)?")
_PATH_SAFE = "/$&+,:;=@-_.~!'()*"


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL; ``path`` is unescaped, ``escaped_path`` as Go would send it."""

    scheme: str
    host: str
    escaped_path: str
    query: str
    text: str

    def __str__(self) -> str:
        return self.text


register(Url, "kubernetes.URL", strict=True, hashing="address")


def request_uri_problem(text: str) -> str:
    """Return what Go's ``url.ParseRequestURI`` says against a text; empty if nothing."""
    subject = f"parse {quote(text)}: "
    if _CONTROL.search(text):
        return subject + "net/url: invalid control character in URL"
    if not text:
        return subject + "empty url"
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    if not scheme and ":" in text.split("/")[0]:
        first = text.split(":")[0]
        if not first:
            return subject + "missing protocol scheme"
    if not rest.startswith("/"):
        return "" if scheme else subject + "invalid URI for request"
    return _authority_problem(subject, scheme is not None, rest)


def _authority_problem(subject: str, has_scheme: bool, rest: str) -> str:
    path = rest.split("?")[0]
    if has_scheme and rest.startswith("//"):
        authority, slash, path = path[2:].partition("/")
        path = slash + path
        host = authority.rpartition("@")[2]
        if any(character in ' "<>\\^`{|}' for character in host):
            bad = next(character for character in host if character in ' "<>\\^`{|}')
            return f"{subject}invalid character {quote(bad)} in host name"
        closing = host.rfind("]")
        if host.startswith("[") and closing < 0:
            return subject + "missing ']' in host"
        port = host[closing + 1 :] if host.startswith("[") else ":" + host.partition(":")[2] if ":" in host else ""
        if not _PORT.fullmatch(port):
            return f"{subject}invalid port {quote(port)} after host"
    broken = _ESCAPE.search(path)
    return f"{subject}invalid URL escape {quote(broken.group()[:3])}" if broken else ""


def _parse(text: str) -> Url:
    problem = request_uri_problem(text)
    if problem:
        raise CelRuntimeError(f"URL parse error during conversion from string: {problem}")
    without_fragment = text.partition("#")[0]
    scheme = _SCHEME.match(without_fragment)
    rest = without_fragment[scheme.end() :] if scheme else without_fragment
    rest, _, query = rest.partition("?")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        host, slash, path = rest[2:].partition("/")
        rest = slash + path
    elif not rest.startswith("/"):
        rest = ""  # opaque
    host = urllib.parse.unquote(host.rpartition("@")[2])
    return Url(scheme.group()[:-1].lower() if scheme else "", host, _escaped(rest), query, text)


def _escaped(path: str) -> str:
    unescaped = urllib.parse.unquote_to_bytes(path)
    if urllib.parse.quote(unescaped, safe=_PATH_SAFE + "[]") == path:
        return path
    return urllib.parse.quote(path, safe="/$&+,:;=@-_.~!'()*[]%") if "%" in path else _quoted(unescaped)


def _quoted(path: bytes) -> str:
    return urllib.parse.quote(path, safe="/$&+,:;=@-_.~")


def _hostname(url: Url) -> str:
    host = _without_port(url.host)
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _without_port(host: str) -> str:
    colon = host.rfind(":")
    return host[:colon] if colon != -1 and _PORT.fullmatch(host[colon:]) else host


def _port(url: Url) -> str:
    return url.host[len(_without_port(url.host)) + 1 :]


def _query(url: Url) -> dict[str, list[str]]:
    budget.spend(4 * budget.OBJECT * (1 + url.query.count("&")) + len(url.query))
    pairs = [pair for pair in url.query.split("&") if pair and ";" not in pair]
    result: dict[str, list[str]] = {}
    for pair in pairs:
        key, _, value = pair.partition("=")
        if _ESCAPE.search(key) or _ESCAPE.search(value):
            continue
        result.setdefault(urllib.parse.unquote_plus(key), []).append(urllib.parse.unquote_plus(value))
    return result


def _is_url(text: str) -> bool:
    budget.spend_reading(text)
    return not request_uri_problem(text)


FUNCTIONS = [
    overload("url(string) -> URL", _parse),
    overload("isURL(string) -> bool", _is_url),
    overload("URL.getScheme() -> string", lambda url: url.scheme),
    overload("URL.getHost() -> string", lambda url: url.host),
    overload("URL.getHostname() -> string", _hostname),
    overload("URL.getPort() -> string", _port),
    overload("URL.getEscapedPath() -> string", lambda url: url.escaped_path),
    overload("URL.getQuery() -> map<string, list<string>>", _query),
]
