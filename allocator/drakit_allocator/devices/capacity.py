"""Consumable capacity: what a request takes of a device that several claims may share.

Semantics: ``structured/internal/experimental/consumable_capacity.go`` of dynamic-resource-allocation 0.37.1 (KEP-5075).
Amounts are exact (1e-9 units); where upstream computes in 64-bit integers or milli units, its limits are kept, because
a value beyond them fails the whole allocation rather than one device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drakit_api.quantity import INT64_MAX, NANOS, Quantity

_MILLI = NANOS // 1000
_UNREPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"


class CapacityError(ValueError):
    """A request or a device's policy that makes the allocation fail as a whole; the message is upstream's."""


class BrokenRange(CapacityError):
    """A policy on which upstream panics; the message is ours."""


@dataclass(frozen=True, slots=True)
class Range:
    """``validRange`` of a request policy."""

    minimum: Quantity | None
    maximum: Quantity | None
    step: Quantity | None

    @property
    def is_broken(self) -> bool:
        """Whether some request may meet a ``BrokenRange``."""
        return self.step is not None and (self.minimum is None or self.step.as_integer() == 0)


@dataclass(frozen=True, slots=True)
class Limit:
    """One capacity of a device: its value and how requests for a part of it are rounded."""

    value: Quantity
    has_policy: bool = False
    default: Quantity | None = None
    valid_range: Range | None = None
    valid_values: tuple[Quantity, ...] | None = None


Limits = Mapping[str, Limit]
Amounts = Mapping[str, Quantity]


def parse_limits(device: Mapping[str, Any]) -> Limits:
    """Parse ``capacity`` of a v1 device."""
    return {name: _parse_limit(capacity) for name, capacity in (device.get("capacity") or {}).items()}


def parse_requests(capacity: Mapping[str, Any] | None) -> Amounts:
    """Parse ``capacity`` of a v1 request (``CapacityRequirements``)."""
    return {name: Quantity.parse(value) for name, value in ((capacity or {}).get("requests") or {}).items()}


def _parse_limit(capacity: Mapping[str, Any]) -> Limit:
    value = Quantity.parse(capacity["value"])
    policy = capacity.get("requestPolicy")
    if policy is None:
        return Limit(value)
    bounds, values = policy.get("validRange"), policy.get("validValues")
    return Limit(
        value,
        True,
        _optional(policy.get("default")),
        None
        if bounds is None
        else Range(_optional(bounds.get("min")), _optional(bounds.get("max")), _optional(bounds.get("step"))),
        None if values is None else tuple(map(Quantity.parse, values)),
    )


def _optional(text: Any) -> Quantity | None:
    return None if text is None else Quantity.parse(text)


def consumed(limits: Limits, requests: Amounts, *, fractional: bool) -> dict[str, Quantity] | None:
    """Compute what a device with these limits gives to the request, with an amount for each capacity of the device.

    None when the device has no capacity of a requested name or its policy does not allow the amount; the device is
    then no candidate. Raises ``CapacityError``, which is a ``BrokenRange`` only if nothing else is wrong.
    ``fractional`` is the feature DRAFractionalCapacityRange.
    """
    if any(name not in limits for name in requests):
        return None
    amounts: dict[str, Quantity] = {}
    broken: BrokenRange | None = None
    for name, limit in limits.items():
        try:
            amounts[name] = _consumed_amount(requests.get(name), limit, fractional)
        except BrokenRange as error:
            broken = BrokenRange(f'capacity "{name}": {error}')
            continue
        except CapacityError as error:
            raise CapacityError(f'capacity "{name}": {error}') from None
        if amounts[name].nanos < 0:
            raise CapacityError(f'capacity "{name}": capacity value is negative')
    if broken is not None:
        raise broken
    if any(_violates(amounts[name], limit, fractional) for name, limit in limits.items()):
        return None
    return amounts


def fits(limits: Limits, amounts: Amounts, *taken: Mapping[str, int]) -> bool:
    """Tell whether the amounts are left after what others have ``taken`` (by name, 1e-9 units)."""
    return all(
        amount.nanos + sum(other.get(name, 0) for other in taken) <= limits[name].value.nanos
        for name, amount in amounts.items()
    )


def _consumed_amount(requested: Quantity | None, limit: Limit, fractional: bool) -> Quantity:
    if requested is None:
        return limit.default if limit.default is not None else limit.value
    if limit.valid_range is not None and limit.valid_range.minimum is not None:
        return _round_up(requested, limit.valid_range.minimum, limit.valid_range, fractional)
    if limit.valid_values is not None:
        return next((value for value in limit.valid_values if requested <= value), requested)
    return requested


def _round_up(requested: Quantity, minimum: Quantity, valid: Range, fractional: bool) -> Quantity:
    if requested < minimum:
        return minimum
    if valid.step is None:
        return requested
    if _uses_milli(valid, fractional):
        return _round_up_milli(requested, minimum, valid.step)
    if requested.nanos > INT64_MAX * NANOS:
        raise CapacityError(f"{_UNREPRESENTABLE}: request {requested} exceeds MaxInt64")
    low, step = minimum.as_integer(), _positive_step(valid.step)
    steps = -(-(requested.as_integer() - low) // step)
    if low >= 0 and steps > (INT64_MAX - low) // step:
        raise CapacityError(f"{_UNREPRESENTABLE}: rounding request {requested} up to the next step passes MaxInt64")
    return Quantity((low + step * steps) * NANOS, valid.step.format)


def _round_up_milli(requested: Quantity, minimum: Quantity, step: Quantity) -> Quantity:
    if not _is_milli(requested):
        raise CapacityError(f"{_UNREPRESENTABLE}: request {requested} is not a representable milli value")
    low, width = minimum.nanos // _MILLI, step.nanos // _MILLI
    steps = -(-(requested.nanos // _MILLI - low) // width)
    if steps > (INT64_MAX - low) // width:
        raise CapacityError(
            f"{_UNREPRESENTABLE}: rounding request {requested} up to the next step passes the milli-value range"
        )
    return Quantity((low + width * steps) * _MILLI, step.format)


def _violates(amount: Quantity, limit: Limit, fractional: bool) -> bool:
    if not limit.has_policy or (limit.default is not None and amount.is_identical(limit.default)):
        return False
    if limit.valid_range is not None:
        return _is_out_of_range(amount, limit.valid_range, fractional)
    return bool(limit.valid_values) and amount not in (limit.valid_values or ())


def _is_out_of_range(amount: Quantity, valid: Range, fractional: bool) -> bool:
    if valid.maximum is not None and amount > valid.maximum:
        return True
    if valid.step is None:
        return False
    if valid.minimum is None:
        raise BrokenRange("validRange has a step but no min, which only an API server without validation stores")
    if _uses_milli(valid, fractional):
        return not _is_milli(amount) or (amount.nanos - valid.minimum.nanos) % valid.step.nanos != 0
    return (amount.as_integer() - valid.minimum.as_integer()) % _positive_step(valid.step) != 0


def _positive_step(step: Quantity) -> int:
    """Return the step, which must not be zero: upstream divides by it, and only API validation prevents it."""
    width = step.as_integer()
    if width == 0:
        raise BrokenRange("validRange has step 0, which only an API server without validation stores")
    return width


def _uses_milli(valid: Range, fractional: bool) -> bool:
    if not fractional:
        return False
    given = [bound for bound in (valid.minimum, valid.maximum, valid.step) if bound is not None]
    return all(map(_is_milli, given)) and (valid.step is None or valid.step.nanos >= _MILLI)


def _is_milli(quantity: Quantity) -> bool:
    """Tell whether the amount is a whole number of milli units that fits 64 bits."""
    milli, rest = divmod(quantity.nanos, _MILLI)
    return rest == 0 and -INT64_MAX - 1 <= milli <= INT64_MAX
