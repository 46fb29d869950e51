"""Capacity of devices and the policy for requests of a share of it.

Source: ``validateMultiAllocatableDeviceCapacity`` and below of ``k8s.io/kubernetes`` 1.37.1
``pkg/apis/resource/validation/validation.go``.
"""

from __future__ import annotations

import itertools
from typing import Any

from drakit_api import limits
from drakit_api.features import FeatureGates
from drakit_api.golang import long_numbers
from drakit_api.quantity import INT64_MAX, NANOS, ZERO, Quantity
from drakit_api.validation.errors import Errors, forbidden, invalid, required, too_many
from drakit_api.validation.items import unique

_MILLI = 1_000_000
_BOUNDS = ("default", "min", "max", "step")


def exclusive_capacity(path: str) -> Errors:
    """Refuse a policy in the capacity of a device that is allocated as a whole."""
    yield forbidden(f"{path}.requestPolicy", "allowMultipleAllocations must be true")


def shared_capacity(value: dict[str, Any], path: str, gates: FeatureGates) -> Errors:
    """Check the policy in a capacity of a device with ``allowMultipleAllocations``."""
    policy, path = value["requestPolicy"], f"{path}.requestPolicy"
    values, bounds, default = policy.get("validValues"), policy.get("validRange"), _quantity(policy.get("default"))
    capacity = _quantity(value.get("value")) or ZERO
    fractional = gates.enabled("DRAFractionalCapacityRange")
    if values and bounds is not None:
        detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        yield forbidden(path, detail)
    elif values and default is None:
        yield required(f"{path}.default", "required when validValues is defined")
    elif bounds is not None and default is None:
        yield required(f"{path}.default", "required when validRange is defined")
    elif values and default is not None:
        options = [Quantity.parse(option) for option in values]
        yield from _valid_values(default, capacity, options, f"{path}.validValues", fractional)
    elif bounds is not None and default is not None:
        found = {"default": default} | {name: _quantity(bounds.get(name)) for name in _BOUNDS[1:]}
        yield from _valid_range(found, capacity, f"{path}.validRange", fractional)


def _quantity(text: str | None) -> Quantity | None:
    return None if text is None else Quantity.parse(text)


def _valid_values(
    default: Quantity, capacity: Quantity, options: list[Quantity], path: str, fractional: bool
) -> Errors:
    for index, (lower, higher) in enumerate(itertools.pairwise(options), start=1):
        if lower > higher:
            yield invalid(f"{path}[{index}]", str(higher), "values must be sorted in ascending order")
    chosen: list[Quantity] = []
    if len(options) > limits.REQUEST_POLICY_OPTIONS:
        yield too_many(path, len(options), limits.REQUEST_POLICY_OPTIONS)
    else:
        chosen = options
        for index, option in enumerate(options):
            if option > capacity:
                yield invalid(f"{path}[{index}]", str(option), f"option is larger than capacity value: {capacity}")
        yield from unique([_option_key(option, fractional) for option in options], path)
    if default not in chosen:
        yield invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _option_key(option: Quantity, fractional: bool) -> str:
    """Return what upstream compares: whole numbers, or with the gate decimals as they were written.

    There 1 is not 1000m, nor is 0.5 500m; here quantities are canonical by now, and both pairs are one text.
    """
    return option.as_decimal() if fractional else long_numbers.write(option.as_integer())


def _valid_range(found: dict[str, Quantity | None], capacity: Quantity, path: str, fractional: bool) -> Errors:
    default, low, high, step = (found[name] for name in _BOUNDS)
    assert default is not None
    if low is None:
        yield required(f"{path}.min", "required when validRange is defined")
        return
    if low > capacity:
        yield invalid(f"{path}.min", str(low), f"min is larger than capacity value: {capacity}")
    if default < low:
        yield invalid(f"{path}.default", str(default), f"default is less than min: {low}")
    if high is not None:
        yield from _maximum(high, low, default, capacity, path)
    given = {name: value for name, value in found.items() if value is not None}
    milli = fractional and not all(value.is_integer for value in given.values())
    if milli:
        unsafe = [
            name for name, value in given.items() if value.nanos % _MILLI or abs(value.nanos // _MILLI) > INT64_MAX
        ]
        for name in unsafe:
            yield invalid(f"{path}.{name}", str(given[name]), "value cannot be represented as a milli value")
        if unsafe:
            return
    if step is not None:
        yield from _step(given, capacity, path, milli)


def _maximum(high: Quantity, low: Quantity, default: Quantity, capacity: Quantity, path: str) -> Errors:
    if low > high:
        yield invalid(f"{path}.max", str(low), f"min is larger than max: {high}")
    if high > capacity:
        yield invalid(f"{path}.max", str(high), f"max is larger than capacity value: {capacity}")
    if default > high:
        yield invalid(f"{path}.default", str(default), f"default is more than max: {high}")


def _step(given: dict[str, Quantity], capacity: Quantity, path: str, milli: bool) -> Errors:
    low, step = given["min"], given["step"]
    if step <= ZERO:
        yield invalid(f"{path}.step", str(step), "must be greater than zero")
        return
    if low + step > capacity:
        detail = f"one step {low + step} is larger than capacity value: {capacity}"
        yield invalid(f"{path}.step", str(step), detail)
    if not milli:
        unsafe = list(_outside_int64(given, path))
        yield from unsafe
        if unsafe:
            return
    for name in ("default", "max"):
        if name in given and (_units(given[name], milli) - _units(low, milli)) % _units(step, milli):
            detail = f"value is not a multiple of a given step ({step}) from ({low})"
            yield invalid(f"{path}.step", str(given[name]), detail)


def _outside_int64(given: dict[str, Quantity], path: str) -> Errors:
    for name, value in given.items():
        if value < ZERO:
            yield invalid(f"{path}.{name}", str(value), "must be greater than or equal to 0")
        elif value.nanos > INT64_MAX * NANOS:
            yield invalid(f"{path}.{name}", str(value), f"must not be larger than {INT64_MAX}")


def _units(value: Quantity, milli: bool) -> int:
    return value.nanos // _MILLI if milli else value.as_integer()
