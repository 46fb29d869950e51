"""Selectors of devices, which classes, requests and patches have in the same form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def expressions_of(selectors: Sequence[Mapping[str, Any]] | None) -> list[str | None]:
    """List the CEL expressions of v1 selectors; None stands for a selector of another, future type."""
    return [
        None if selector.get("cel") is None else selector["cel"].get("expression", "") for selector in selectors or ()
    ]
