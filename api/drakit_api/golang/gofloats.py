"""Floating point numbers as Go prints them: ``%v`` in messages, and ``encoding/json``."""

from __future__ import annotations

from decimal import Decimal

# Beyond these powers of ten there is an exponent.
_GENERAL = range(-4, 6)
_JSON = range(-6, 21)
_LEAST_WITH_EXPONENT = 1e21


def general(value: float) -> str:
    """Print a finite number as ``fmt.Sprintf("%v")`` does: ``1e+06``, ``1.5``, ``3``."""
    return _printed(value, _GENERAL, exponent_digits=2)


def json_text(value: float) -> str:
    """Print a finite number as ``json.Marshal`` does: ``1000000``, ``1.5``, ``1e-7``."""
    return _printed(value, _JSON, exponent_digits=1)


def read_again(value: float) -> int | float:
    """Return what becomes of a number that is printed as JSON and read again: one without a fraction is an integer."""
    if not value.is_integer() or abs(value) >= _LEAST_WITH_EXPONENT:
        return value
    return int(Decimal(repr(value)))


def _printed(value: float, plain: range, *, exponent_digits: int) -> str:
    sign, places, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, places))
    power = len(digits) - 1 + exponent
    minus = "-" if sign else ""
    if not any(places):
        return f"{minus}0"
    if power in plain:
        return f"{Decimal(repr(value)).normalize():f}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{minus}{digits[0]}{fraction}e{'-' if power < 0 else '+'}{abs(power):0{exponent_digits}}"
