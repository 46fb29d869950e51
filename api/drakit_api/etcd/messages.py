"""Kubernetes' protobuf messages: number, type and kind of each field, for all built-in kinds.

There are no generated classes. One table (``messages.json``, printed by ``api/protobuf``) is enough to read a request's
body in protobuf, and to say how many bytes an object takes in etcd.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources

import msgspec


class Field(msgspec.Struct, frozen=True, array_like=True):
    """``marks``: ``[`` list, ``{`` map, ``*`` pointer (zero is a value), ``<`` embedded (no level in JSON).

    ``type`` is the name of a message, or one letter: s(tring), b(ytes), t(ruth value), i(nteger), d(ouble).
    """

    name: str
    type: str
    marks: str


@functools.cache
def table() -> Mapping[str, Mapping[str, Field]]:
    """Load the fields of each message (e.g. ``resource/v1.DeviceClass``) by number, as text."""
    raw = resources.files(__package__).joinpath("messages.json").read_bytes()
    return msgspec.json.decode(raw, type=dict[str, dict[str, Field]])


@functools.cache
def fields(message: str) -> Mapping[int, Field]:
    """Return the fields of one message by number. Raises ``KeyError`` if there is no such message."""
    return {int(number): field for number, field in table()[message].items()}


def name_of(api_version: str, kind: str) -> str:
    """Name the message of a kind: ``resource/v1.DeviceClass`` for ``resource.k8s.io/v1`` and ``DeviceClass``."""
    group, _, version = api_version.rpartition("/")
    if kind == "DeleteOptions":
        return "meta/v1.DeleteOptions"
    package = group.removesuffix(".k8s.io").partition(".")[0] or "core"
    return f"{package}/{version}.{kind}"
