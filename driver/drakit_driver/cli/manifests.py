"""Printing objects as manifests that ``kubectl apply`` reads back unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
import yaml

from drakit_api.kubernetes_objects import Object
from drakit_client.processes.output_option import Format

# Plain scalars that kubectl's YAML parser takes for a number although PyYAML does not: a profile named 1e3, say.
_NUMERIC = re.compile(r"[-+]?((\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+)")


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Return True: anchors would save lines and cost every reader a search."""
        return True


def _string(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = "'" if _NUMERIC.fullmatch(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _string)


def listed(objects: Iterable[Object]) -> Object:
    """Put objects into a ``v1`` List, which can hold objects of different kinds."""
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def dump(obj: Any, form: Format) -> str:
    """Write an object, or a list of them, as text; fields stay in their order."""
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(obj), indent=2).decode() + "\n"
    text: str = yaml.dump(obj, Dumper=_Dumper, sort_keys=False, width=120, allow_unicode=True)
    return text
