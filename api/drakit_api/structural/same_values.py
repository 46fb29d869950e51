"""When two values of a custom resource are the same, as ``reflect.DeepEqual`` of Go has it.

Python takes 1, 1.0 and true for equal; to Go they are of three types.
"""

from __future__ import annotations

from typing import Any


def same(left: Any, right: Any) -> bool:
    """Tell whether two JSON values are equal, with the types of their numbers."""
    if left is right:
        return True
    # What is different to Python is so to Go; that is found out by C code.
    return bool(left == right) and _same_types(left, right)


def _same_types(left: Any, right: Any) -> bool:
    """Tell whether two values that are equal to Python are so to Go."""
    if isinstance(left, dict):
        return all(_same_types(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return all(map(_same_types, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and isinstance(left, float) == isinstance(right, float)
