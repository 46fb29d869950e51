"""The token by which a list is continued: the version it is of, and the key after which its next page starts.

Clients hand it back unread; what they may have done to it is refused in the words of
``k8s.io/apiserver/pkg/storage/continue.go``.
"""

from __future__ import annotations

import base64
import posixpath
from typing import Any

import msgspec

from drakit_api.golang import gojson
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.storage.store import Key

_VERSION = "meta.k8s.io/v1"
_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_TYPES: dict[str, tuple[type, str]] = {"v": (str, "string"), "rv": (int, "int64"), "start": (str, "string")}


def encode(version: int, key: Key, namespace: str | None) -> str:
    """Encode a token for what follows ``key`` in a list of one namespace, or (None) of all namespaces."""
    start = key[1] if namespace is not None or not key[0] else "/".join(key)
    content = {"v": _VERSION, "rv": version, "start": f"{start}\0"}
    return base64.urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip("=")


def decode(token: str, namespace: str | None) -> tuple[int, Key]:
    """Decode the version and key of a token.

    Raises:
        StatusError: 400 if it cannot be decoded.
    """
    content = _content(token)
    version, start = content.get("rv", 0), content.get("start", "")
    if content.get("v", "") != _VERSION:
        raise _invalid(f": server does not recognize this encoded version {content.get('v', '')}")
    if version == 0:
        raise _invalid(f": incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _invalid(f": encoded start key empty (version {_VERSION})")
    if posixpath.normpath("/" + start.removeprefix("/")) != "/" + start.removeprefix("/"):
        raise _invalid(f": {start}")
    key = start.removeprefix("/").removesuffix("\0")
    if namespace is not None:
        return version, (namespace, key)
    before, _, name = key.rpartition("/")
    return version, (before, name)


def _content(token: str) -> dict[str, Any]:
    if (wrong := _first_wrong(token)) is not None:
        raise _invalid(f": illegal base64 data at input byte {wrong}")
    try:
        content = gojson.read(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except gojson.JsonError as error:
        raise _invalid(f": {error}") from None
    if not isinstance(content, dict):
        raise _invalid(
            f": json: cannot unmarshal {gojson.name_of(content)} into Go value of type storage.continueToken"
        )
    for name, (wanted, go) in _TYPES.items():
        if name in content and type(content[name]) is not wanted:
            found = gojson.name_of(content[name])
            raise _invalid(f": json: cannot unmarshal {found} into Go struct field continueToken.{name} of type {go}")
    return content


def _first_wrong(token: str) -> int | None:
    """Find where Go's base64 decoder stops: at an invalid character, or in a last group of only one."""
    wrong = next((index for index, char in enumerate(token) if char not in _ALPHABET), None)
    if wrong is None and len(token) % 4 == 1:
        return len(token) - 1
    return wrong


def _invalid(why: str) -> statuses.StatusError:
    return statuses.bad_request(f"invalid continue token: continue key is not valid{why}")
