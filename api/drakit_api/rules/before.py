"""What a value was before an update, on the way through an object.

Errors of rules are not reported for what has not changed. Source: ``ratchetingOptions`` of
``k8s.io/apiextensions-apiserver`` v0.37 ``pkg/apiserver/schema/cel/validation.go``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from drakit_api.structural.correlation import Correlation


class Before(NamedTuple):
    """What a value was before: ``current`` is None if that is not known; ``nearest`` is then of a value around it.

    ``is_apart``: whether the value itself has changed does not matter, only whether ``nearest`` has.
    """

    current: Correlation | None = None
    nearest: Correlation | None = None
    is_apart: bool = False

    @property
    def value(self) -> Any:
        """The old value, or None."""
        return None if self.current is None else self.current.old

    def is_equal(self) -> bool:
        """Tell whether nothing has changed in the value, or in one around it."""
        correlation = self.nearest if self.is_apart or self.current is None else self.current
        return correlation is not None and correlation.is_equal()

    def apart(self) -> Before:
        """Go on to a schema of ``allOf``."""
        return Before(self.current, self.nearest, is_apart=True)

    def field(self, name: str) -> Before:
        """Go on to a field. Old and new object are converted to one version, so that of the object is never old."""
        if self.current is None:
            return self
        child = self.current.key(name)
        if self.nearest is None and name in ("apiVersion", "kind"):
            return Before(child, None, is_apart=True)
        return Before(child, self.nearest, is_apart=True) if self.is_apart else Before(child, self.current)

    def item(self, place: int) -> Before:
        """Go on to an item."""
        if self.current is None:
            return self
        child = self.current.index(place)
        return Before(child, self.nearest, is_apart=True) if self.is_apart else Before(child, self.current)
