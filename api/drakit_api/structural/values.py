"""Validation of a custom resource by its schema, in the words of kube-apiserver.

No Python library has these words: they are those of kube-openapi, a fork of go-openapi, with quirks that clients see
(a list passes where a string with a format is wanted; ``enum: ["a"]`` takes the number 97). Sources:
``k8s.io/kube-openapi`` ``pkg/validation/validate``; ``k8s.io/apiextensions-apiserver`` v0.37.1
``pkg/apiserver/validation/{validation,ratcheting}.go``.

Nearly all values are valid, so each level of a schema is compiled twice from the same rules: into a function that only
tells whether a value is valid, and into one that says what is wrong with it, and is called after the first said no.
"""

from __future__ import annotations

from typing import Any

from drakit_api.structural.correlation import Correlation
from drakit_api.structural.levels import Level
from drakit_api.structural.schema import Structural
from drakit_api.validation.errors import FieldError

_NOWHERE = "<nil>"


class Validator:
    """A compiled schema, or a part of it, such as that of ``status``; ``any_format`` is for defaults."""

    def __init__(self, schema: Structural, *, any_format: bool = False) -> None:
        self._schema = schema
        self._level = Level(schema.source, any_format=any_format)

    def faults(self, obj: Any, path: str = "") -> list[FieldError]:
        """Return what is wrong with a value; ``path`` is where it stands in its object."""
        if self._level.is_valid(obj):
            return []
        return [_placed(error, path) for error in self._level.check(obj, "").errors.values()]

    def update_faults(self, new: Any, old: Any, path: str = "") -> list[FieldError]:
        """Return what is wrong with a value, but not what was so before: an error of an unchanged part."""
        if self._level.is_valid(new):
            return []
        found = self._level.check(new, "", Correlation(new, old, self._schema))
        return [_placed(error, path) for error in found.errors.values()]


def _placed(error: FieldError, path: str) -> FieldError:
    if path and error.field:
        path = f"{path}.{error.field}"
    return FieldError(error.reason, path or error.field or _NOWHERE, error.message)
