"""What single expressions make of devices, remembered by what the expressions read.

The result depends on the expression, the driver and the attributes that the expression looks at, not on node, pod
or call. Upstream evaluates again for every node and pod, which is half of its time.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from drakit_allocator.devices.columns import AttributeValue, remember
from drakit_allocator.devices.devices import DeviceContent
from drakit_allocator.devices.schemas import Spoiled
from drakit_allocator.devices.traits import Capacity
from drakit_allocator.devices.turns import evaluate_one
from drakit_api.cel import (
    CelError,
    DerivedAttribute,
    DeviceView,
    Selector,
    compile_derived_attribute,
    compile_selector,
)
from drakit_api.cel.device import view_of_values
from drakit_api.cel.expression import Expression

_T = TypeVar("_T")

# Different combinations of attributes remembered for each expression, and expressions.
_REMEMBERED = 1024
_EXPRESSIONS = 512
# Sets of attributes for which devices are remembered as expressions see them, about a kilobyte each.
_VIEWS = 32


def view_of(
    driver: str, names: Sequence[str], values: Sequence[AttributeValue | None], capacity: Capacity | None
) -> DeviceView:
    """Make the view that expressions have of a device with these attributes; without ``capacity`` it has none."""
    present = [(name, value) for name, value in zip(names, values, strict=True) if value is not None]
    problem = next((f"attribute {name}: {value.problem}" for name, value in present if value.problem), "")
    if capacity is not None:
        problem = problem or capacity.problem
    return view_of_values(
        driver,
        capacity is not None and capacity.is_shareable,
        ((name, value.typed) for name, value in present if not value.problem),
        () if capacity is None else capacity.amounts,
        problem,
    )


@functools.lru_cache(maxsize=_VIEWS)
def _views(driver: str, names: tuple[str, ...]) -> dict[tuple[int, ...], DeviceView]:
    """Return a driver's devices as expressions that read these attributes saw them last, by what is read.

    Several requests often ask for different values of the same attribute: each device is then made ready but once.
    """
    return {}


class Reading(Generic[_T]):
    """An expression about devices of one driver that publish these attributes, and those of them that it reads."""

    def __init__(self, driver: str, expression: str, names: tuple[str, ...], spoiled: Spoiled) -> None:
        self._driver = driver
        self.names: tuple[str, ...] = ()
        self.reads_capacity = False
        self._values: dict[tuple[int, ...], _T | CelError] = {}
        self._error: CelError | None = None
        try:
            reads = self._compile(expression).footprint
        except CelError as error:
            self._error = error.with_traceback(None)
        else:
            self.names = tuple(
                name for name in names if name in spoiled.attributes or reads.reads(*_full(name, driver))
            )
            self.reads_capacity = reads.capacity or spoiled.capacity
        self._views = _views(driver, self.names)

    def _compile(self, expression: str) -> Expression:
        """Compile the expression, and keep it for ``_evaluate``. Raises ``CelCompileError``."""
        raise NotImplementedError

    def _evaluate(self, view: DeviceView) -> _T:
        """Evaluate the expression on a device. Raises ``CelError``."""
        raise NotImplementedError

    def of(self, values: Sequence[AttributeValue | None], capacity: Capacity | None) -> _T | CelError:
        """Return the result for a device with these values of ``names``, or the error of evaluating the expression."""
        if self._error is not None:
            return self._error
        key = (0 if capacity is None else capacity.number, *[0 if one is None else one.number for one in values])
        found = self._values.get(key)
        if found is None:
            evaluate_one()
            try:
                found = self._evaluate(self._view(key, values, capacity))
            except CelError as error:
                found = error.with_traceback(None)
                found.__context__ = None  # nor the frames of what led to it
            remember(self._values, key, found, _REMEMBERED)
        return found

    def _view(
        self, key: tuple[int, ...], values: Sequence[AttributeValue | None], capacity: Capacity | None
    ) -> DeviceView:
        found = self._views.get(key)
        if found is None:
            found = remember(self._views, key, view_of(self._driver, self.names, values, capacity), _REMEMBERED)
        return found

    def of_device(self, content: DeviceContent) -> _T | CelError:
        """Return the result for one device, or the error of evaluating the expression."""
        values = [content.attribute(name) for name in self.names]
        return self.of(values, content.traits.capacity if self.reads_capacity else None)


class SelectorReading(Reading[bool]):
    """Whether devices satisfy a selector."""

    def _compile(self, expression: str) -> Selector:
        self._selector = compile_selector(expression)
        return self._selector

    def _evaluate(self, view: DeviceView) -> bool:
        return self._selector.matches(view)


class DerivedReading(Reading[Mapping[str, Any]]):
    """Derived attributes, as v1 ``DeviceAttribute``."""

    def _compile(self, expression: str) -> DerivedAttribute:
        self._derived = compile_derived_attribute(expression)
        return self._derived

    def _evaluate(self, view: DeviceView) -> Mapping[str, Any]:
        return self._derived.attribute(view)


def _full(name: str, driver: str) -> tuple[str, str]:
    """Return domain and identifier of a published attribute; one without a domain belongs to the driver's."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


@functools.lru_cache(maxsize=_EXPRESSIONS)
def selector(driver: str, expression: str, names: tuple[str, ...], spoiled: Spoiled) -> SelectorReading:
    """Return the verdicts of a selector on devices, by what it reads of the attributes ``names``."""
    return SelectorReading(driver, expression, names, spoiled)


@functools.lru_cache(maxsize=_EXPRESSIONS)
def derived(driver: str, expression: str, names: tuple[str, ...], spoiled: Spoiled) -> DerivedReading:
    """Return the values of a derived attribute, by what its expression reads of the attributes ``names``."""
    return DerivedReading(driver, expression, names, spoiled)
