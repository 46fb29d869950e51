"""The files of recorded answers: a line of JSON for each, compressed.

A file is called by its path below ``tests/vectors`` without the suffix: ``api/create``, ``cel/language``. README.md
beside this module says of each where it comes from and which test replays it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

Vector = dict[str, Any]

DIRECTORY = Path(__file__).parent
_SUFFIX = ".jsonl.gz"


@cache
def recorded(file: str) -> tuple[Vector, ...]:
    """All lines of a file."""
    return tuple(map(json.loads, lines(file)))


def lines(file: str) -> list[bytes]:
    """The same before they are read, for files of which not all is wanted."""
    return gzip.decompress(path_of(file).read_bytes()).splitlines()


def keep(file: str, vectors: Iterable[Vector]) -> None:
    """Write a file anew, whole or not at all: the same lines are the same bytes."""
    path = path_of(file)
    new = path.with_suffix(".new")
    try:
        with new.open("wb") as raw, gzip.GzipFile(path.name, "wb", fileobj=raw, mtime=0) as out:
            out.writelines(line(vector).encode() for vector in vectors)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def line(vector: Vector) -> str:
    """How a vector is written."""
    return json.dumps(vector, ensure_ascii=False, separators=(",", ":")) + "\n"


def path_of(file: str) -> Path:
    """Where a file lies."""
    return DIRECTORY / f"{file}{_SUFFIX}"


def files() -> list[str]:
    """All there are, in the order of their names."""
    return sorted(str(path.relative_to(DIRECTORY)).removesuffix(_SUFFIX) for path in DIRECTORY.rglob(f"*{_SUFFIX}"))
