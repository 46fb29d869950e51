"""Attribute values as constraints compare them: published ones, and ones derived by an expression of the request.

Semantics: ``lookupAttribute`` and ``attributeAsSet`` of ``structured/internal/experimental/allocator_experimental.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from drakit_allocator.devices import Device, DeviceContent, remember
from drakit_allocator.errors import AllocationError
from drakit_api.cel import CelCompileError, CelError, compile_derived_attribute

_SCALARS = ("string", "int", "bool", "version")
_LISTS = ("ints", "bools", "strings", "versions")
_ELEMENT = {"ints": "int", "bools": "bool", "strings": "string", "versions": "version"}


class Value(NamedTuple):
    """A typed value, or set of values of one type. Values of two types are never equal, be they 1 and true."""

    type: str
    content: Any


class _Missing:
    """Marks "no such attribute" where None means "not looked up yet"."""


_MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute that a constraint names, as one request sees it: a derived attribute hides a published one.

    ``as_set`` is the feature DRAListTypeAttributes, with which single values are sets of one.
    """

    name: str
    expression: str | None
    as_set: bool

    def of(self, device: Device) -> Value | None:
        """The device's value; None when it has none. Raises ``AllocationError`` when the expression fails."""
        memory = device.content.attribute_values
        found = memory.get(self)
        if found is None:
            found = remember(memory, self, self._find(device.content))
        if isinstance(found, CelError):
            raise self._fault(device, found)
        return None if found is _MISSING else found

    def _find(self, content: DeviceContent) -> Value | CelError | _Missing:
        published: Mapping[str, Any] | None
        try:
            if self.expression is None:
                published = _published(content, self.name)
            else:
                published = compile_derived_attribute(self.expression).attribute(content.view)
        except CelError as error:
            return error.with_traceback(None)
        if published is None:
            return _MISSING
        return (_as_set(published) if self.as_set else _as_scalar(published)) or _UNKNOWN

    def _fault(self, device: Device, error: CelError) -> AllocationError:
        if isinstance(error, CelCompileError):
            return AllocationError(f"compile derived attribute {self.name} failed: {error}")
        return AllocationError(f"evaluate derived attribute {self.name} on device {device.name} failed: {error}")


_UNKNOWN = Value("unknown", None)


def is_unknown(value: Value) -> bool:
    """Whether the attribute is there, but of no type that can be compared."""
    return value is _UNKNOWN


def _published(content: DeviceContent, name: str) -> Mapping[str, Any] | None:
    """The qualified name is preferred; without it, a name in the driver's own domain may be published unqualified."""
    attributes: Mapping[str, Mapping[str, Any]] = content.spec.get("attributes") or {}
    if name in attributes:
        return attributes[name]
    domain, slash, identifier = name.partition("/")
    return attributes.get(identifier) if slash and domain == content.driver else None


def _as_scalar(published: Mapping[str, Any]) -> Value | None:
    for kind in _SCALARS:
        if published.get(kind) is not None:
            return Value(kind, published[kind])
    return None


def _as_set(published: Mapping[str, Any]) -> Value | None:
    for kind in _LISTS:
        if published.get(kind):
            return Value(_ELEMENT[kind], frozenset(published[kind]))
    scalar = _as_scalar(published)
    return None if scalar is None else Value(scalar.type, frozenset((scalar.content,)))
