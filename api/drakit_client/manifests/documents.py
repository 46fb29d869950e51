"""YAML and JSON files as single documents, each with the place that errors name.

Files come from anywhere: ``kubectl get -o yaml``, a chart, somebody's editor. Several documents in a file, Lists, and
``-`` for standard input are all the same here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class ManifestError(Exception):
    """Files that cannot be used; ``errors`` has one line for each thing that is wrong."""

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__("\n".join(errors))
        self.errors = tuple(errors)


@dataclass(frozen=True, slots=True)
class Document:
    """An object, and where it is from: the file, and its number if there are several in it."""

    place: str
    content: dict[str, Any]


class _Loader(yaml.CSafeLoader):
    """Times stay text, as Kubernetes reads them."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def documents(paths: Sequence[str]) -> list[Document]:
    """Read all objects in files, or in the files of directories. Raises ``ManifestError``."""
    found: list[Document] = []
    errors: list[str] = []
    for name, text in _texts(paths, errors):
        try:
            loaded = [one for one in _loaded(text) if one is not None]
        except yaml.YAMLError as error:
            errors.append(f"{name}: not YAML: {_one_line(error)}")
            continue
        for number, content in enumerate(loaded):
            _add(content, f"{name}, document {number + 1}" if len(loaded) > 1 else name, found, errors)
    if errors:
        raise ManifestError(errors)
    return found


def _loaded(text: str) -> list[Any]:
    """Load the documents of a text. Raises ``yaml.YAMLError``."""
    if text.lstrip().startswith("{"):
        with suppress(msgspec.DecodeError):  # as YAML, JSON takes ten times as long
            return [msgspec.json.decode(text)]
    return list(yaml.load_all(text, Loader=_Loader))


def _texts(paths: Sequence[str], errors: list[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        if path == "-":
            yield "standard input", sys.stdin.read()
            continue
        for file in _files(Path(path)):
            try:
                yield str(file), file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
                errors.append(f"{file}: {reason}")


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)


def _add(content: Any, place: str, found: list[Document], errors: list[str]) -> None:
    if not isinstance(content, dict):
        errors.append(f"{place}: an object with apiVersion and kind is expected, not {type(content).__name__}")
    elif isinstance(items := content.get("items"), list) and str(content.get("kind", "List")).endswith("List"):
        # The items of a typed list, e.g. ResourceSliceList, leave out what its own type says.
        kind, version = str(content.get("kind", "List")).removesuffix("List"), content.get("apiVersion")
        typed = {"apiVersion": version, "kind": kind} if kind else {}
        for number, item in enumerate(items):
            if isinstance(item, dict):
                _add({**typed, **item}, f"{place}, item {number}", found, errors)
            else:
                errors.append(f"{place}, item {number}: an object is expected, not {type(item).__name__}")
    else:
        found.append(Document(place, content))


def _one_line(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    return re.sub(r"\s+", " ", str(error))
