"""When two values of objects mean the same, as ``apiequality.Semantic`` of apimachinery has it.

Absent, null and empty lists and maps are one; embedded objects are texts. It decides what counts as a change: of an
immutable field, of the spec (``metadata.generation``), of what must be validated again. Upstream compares quantities by
amount; here decoding has made them canonical before.
"""

from __future__ import annotations

from typing import Any

from drakit_api.embedded import Embedded

_EMPTY: tuple[Any, ...] = (None, "", [], {})


def semantically_equal(left: Any, right: Any) -> bool:
    """Compare decoded values deeply."""
    if left is right or left == right:
        return True
    if isinstance(left, Embedded) or isinstance(right, Embedded):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return all(semantically_equal(left.get(key), right.get(key)) for key in left.keys() | right.keys())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(semantically_equal, left, right))
    return left in _EMPTY and right in _EMPTY
