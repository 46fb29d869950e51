"""Answers as go-yaml writes them: apart, because only the client that takes YAML needs a library for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

# Strings that YAML would read as another type (resolve.go and encode.go of gopkg.in/yaml.v2).
_AMBIGUOUS = re.compile(
    r"""
    | ~ | null | Null | NULL
    | y | Y | yes | Yes | YES | on | On | ON | true | True | TRUE
    | n | N | no | No | NO | off | Off | OFF | false | False | FALSE
    | [-+]?\.(?:inf|Inf|INF) | \.(?:nan|NaN|NAN)
    | [-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9_]+)?
    | [-+]?0[xX][0-9a-fA-F_]+ | [-+]?0[oO][0-7_]+ | [-+]?0[bB][01_]+
    | [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}
      (?:[Tt][0-9:.]+(?:Z|[-+][0-9]{2}:[0-9]{2}) | \ [0-9:.]+)?
    """,
    re.VERBOSE,
)

# Items of a list in one piece.
_ITEMS = 32


class _Dumper(yaml.CSafeDumper):
    """Dumps multi-line strings as blocks, and strings that could be read as another type in double quotes."""


def _text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else '"' if _AMBIGUOUS.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def write(encoded: bytes) -> bytes:
    """Convert encoded JSON to YAML."""
    return b"".join(pieces(encoded))


def pieces(encoded: bytes) -> Iterator[bytes]:
    """Convert encoded JSON to YAML in pieces, of a few items each where an object has many.

    Of what is dumped, PyYAML makes a tree. One of thousands of objects would have the garbage collector go through all
    of it again and again, for a second at last, in which no other thread does anything.
    """
    members = msgspec.json.decode(encoded, type=dict[str, msgspec.Raw]) if encoded.startswith(b"{") else {}
    if not members:
        yield _dumped(msgspec.json.decode(encoded))
    for name, value in sorted(members.items()):
        if bytes(memoryview(value)[:1]) == b"[" and (items := msgspec.json.decode(value, type=list[msgspec.Raw])):
            yield _dumped({name: []}).replace(b" []", b"")
            for start in range(0, len(items), _ITEMS):
                yield _dumped([msgspec.json.decode(item) for item in items[start : start + _ITEMS]])
        else:
            yield _dumped({name: msgspec.json.decode(value)})


def _dumped(value: Any) -> bytes:
    dumped: bytes = yaml.dump(value, Dumper=_Dumper, encoding="utf-8", allow_unicode=True)
    return dumped
