"""What the fields of Kubernetes mean, for ``kubectl explain``: read from the models of the official Python client.

The client is installed anyway, and its source has the texts of Kubernetes' own documents. It is read and not imported:
its import takes a second, in which the server would answer nobody.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

# One line each: ``name: Type = Field(..., serialization_alias="jsonName", description="text")``.
_FIELD = re.compile(
    r'^    (\w+): .*?Field\((?:.*?serialization_alias="(\w+)")?.*?description=("(?:[^"\\]|\\.)*")', re.MULTILINE
)
_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Description(NamedTuple):
    """The text about a type, and those about its fields by their names in JSON."""

    text: str = ""
    fields: Mapping[str, str] = {}


_NONE = Description()


@functools.cache
def _models() -> Path | None:
    spec = find_spec("kubernetes")
    return Path(spec.origin).parent / "client" / "models" if spec is not None and spec.origin else None


@functools.cache
def of(package: str, version: str, kind: str) -> Description:
    """Describe the type ``kind`` of ``package`` (``core``, ``meta``) and version; empty if the client lacks it."""
    models = _models()
    if models is None:
        return _NONE
    name = _WORD_ENDS.sub("_", kind).lower()
    for file in (models / f"{version}_{name}.py", models / f"{package}_{version}_{name}.py"):
        if file.is_file():
            return _read(file.read_text(encoding="utf-8"))
    return _NONE


def _read(source: str) -> Description:
    """Read the docstring of a model, and the descriptions that its fields are declared with, from its source."""
    _, _, body = source.partition("(BaseModel):\n")
    docstring = body.partition('"""')[2].partition('"""')[0]
    text = docstring.partition("\n\n    Attributes:")[0]
    fields = {alias or name: ast.literal_eval(words) for name, alias, words in _FIELD.findall(body)}
    return Description(" ".join(text.split()), fields)
