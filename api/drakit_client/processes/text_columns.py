"""How commands print tables: all of them align their columns alike."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], *, gap: int = 2) -> list[str]:
    """Return a line for each row, cells padded to the widest of their column, ``gap`` spaces between columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    between = " " * gap
    return [between.join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
