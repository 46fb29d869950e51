"""Attribute values as constraints compare them: published ones, and ones derived by an expression of the request.

Semantics: ``lookupAttribute`` and ``attributeAsSet`` of ``structured/internal/experimental/allocator_experimental.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from drakit_allocator.devices.columns import AttributeValue, remember
from drakit_allocator.devices.devices import Device
from drakit_allocator.devices.remembered_values import derived
from drakit_allocator.errors import AllocationError
from drakit_allocator.pools.views import PoolView
from drakit_api.cel import CelCompileError, CelError
from drakit_api.objects.device_attributes import LIST_VALUES, published_names

_SCALARS = ("string", "int", "bool", "version")
_ELEMENT = {"ints": "int", "bools": "bool", "strings": "string", "versions": "version"}


class Value(NamedTuple):
    """A typed value, or set of values of one type. Values of two types are never equal, be they 1 and true."""

    type: str
    content: Any


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute that a constraint names, as one request sees it: a derived attribute hides a published one.

    ``as_set`` is the feature DRAListTypeAttributes, with which single values are sets of one.
    """

    name: str
    expression: str | None
    as_set: bool

    def of(self, device: Device) -> Value | None:
        """Return the device's value; None when it has none. Raises ``AllocationError`` when the expression fails."""
        content = device.content
        if self.expression is None:
            published = (content.attribute(name) for name in self.names(content.driver))
            return self.of_value(next((value for value in published if value is not None), None))
        found = derived(content.driver, self.expression, content.names, content.spoiled).of_device(content)
        if isinstance(found, CelError):
            raise self._fault(device, found)
        return self._compared(found)

    def values(self, pool: PoolView) -> Sequence[Value | None]:
        """Return the values of all devices of a pool. Raises ``AllocationError`` when the expression fails on one."""
        known: Sequence[Value | None] | None = pool.findings.get(self)
        if known is None:
            known = remember(pool.findings, self, self._values(pool))
        return known

    def _values(self, pool: PoolView) -> list[Value | None]:
        if self.expression is not None:
            return [self.of(device) for device in pool.devices]
        table = pool.table
        columns = [table.column(name).values for name in self.names(pool.id[0]) if name in table.attribute_names]
        if not columns:
            return [None] * len(pool.devices)
        published = columns[0]
        for other in columns[1:]:
            published = tuple([two if one is None else one for one, two in zip(published, other, strict=True)])
        compared = {one: self.of_value(one) for one in set(published)}  # far fewer than devices
        return [compared[one] for one in published]

    def names(self, driver: str) -> tuple[str, ...]:
        """Return the names under which it may be published, the preferred one first: that is the qualified one."""
        return published_names(self.name, driver)

    def of_value(self, published: AttributeValue | None) -> Value | None:
        """Convert a published value to the form in which it is compared."""
        if published is None:
            return None
        known: Value | None = published.compared[self.as_set]
        if known is None:
            known = published.compared[self.as_set] = self._compared(published.published)
        return known

    def _compared(self, published: Mapping[str, Any]) -> Value:
        return (_as_set(published) if self.as_set else _as_scalar(published)) or _UNKNOWN

    def _fault(self, device: Device, error: CelError) -> AllocationError:
        if isinstance(error, CelCompileError):
            return AllocationError(f"compile derived attribute {self.name} failed: {error}")
        return AllocationError(f"evaluate derived attribute {self.name} on device {device.name} failed: {error}")


_UNKNOWN = Value("unknown", None)


def is_unknown(value: Value) -> bool:
    """Tell whether the attribute is there, but of no type that can be compared."""
    return value is _UNKNOWN


def _as_scalar(published: Mapping[str, Any]) -> Value | None:
    for kind in _SCALARS:
        if published.get(kind) is not None:
            return Value(kind, published[kind])
    return None


def _as_set(published: Mapping[str, Any]) -> Value | None:
    for kind in LIST_VALUES:
        if published.get(kind):
            return Value(_ELEMENT[kind], frozenset(published[kind]))
    scalar = _as_scalar(published)
    return None if scalar is None else Value(scalar.type, frozenset((scalar.content,)))
