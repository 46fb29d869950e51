"""Finds values in an answer by the two notations of the stories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_PARTS = re.compile(r"[^.\[\]]+|\[[^\]]*\]")


def at(value: Any, path: str) -> Any:
    """Find what stands at ``a.b[0].c[type=X].d``; None if there is nothing."""
    for part in _PARTS.findall(path):
        if part[0] != "[":
            value = value.get(part) if isinstance(value, dict) else None
        elif "=" in part:
            key, _, wanted = part[1:-1].partition("=")
            value = _first(value, key, lambda found, wanted=wanted: str(found) == wanted)
        else:
            index = int(part[1:-1])
            value = value[index] if isinstance(value, list) and index < len(value) else None
    return value


def picked(value: Any, steps: Sequence[Any]) -> Any:
    """Follow keys, indices and ``{key: value}`` of list items; None if one of them leads nowhere."""
    for step in steps:
        if isinstance(step, dict):
            ((key, wanted),) = step.items()
            value = _first(value, key, lambda found, wanted=wanted: bool(found == wanted))
        elif isinstance(value, list):
            value = value[step] if isinstance(step, int) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _first(value: Any, key: str, fits: Any) -> Any:
    return next((item for item in value if fits(at(item, key))), None) if isinstance(value, list) else None
