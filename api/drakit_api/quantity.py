"""Exact resource quantities: ``40Gi``, ``98``, ``500m``, ``1e3``.

Capacities and counters are compared, added and subtracted on the way from a slice to an allocation; a float would let a
counter overflow by a byte. The amount is therefore one integer in units of 1e-9, the smallest that Kubernetes keeps.

The rules (what parses, how it rounds, which text comes out) are those of ``k8s.io/apimachinery`` v0.37.1,
``pkg/api/resource/quantity.go``, oddities included: a text that is canonical enough is kept as it was written
(``1.500`` stays ``1.500``), and amounts beyond the largest suffix print without one (``1000E`` prints as ``1``).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Literal

from drakit_api.golang import long_numbers

Format = Literal["BinarySI", "DecimalSI", "DecimalExponent"]

NANOS = 1_000_000_000
INT64_MAX = 2**63 - 1

_PATTERN = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([-+]?)([0-9]+)")
_DECIMAL: dict[str, int] = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: dict[str, int] = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {0: "", **{exponent // 10: suffix for suffix, exponent in _BINARY.items()}}
# Up to this many digits upstream keeps the text as it was written; beyond them it computes the canonical form.
_FAST_DIGITS = 18
# Longer texts are not remembered, and those with so many digits are refused: upstream takes them all.
_REMEMBERED = 128
_MOST_DIGITS = 20_000
# Upstream accepts any 32-bit exponent and then takes for ever to compare such a quantity.
_MAX_EXPONENT = 1000

_WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_NUMBER = "unable to parse numeric part of quantity"
_WRONG_SUFFIX = "unable to parse quantity's suffix"


class QuantityError(ValueError):
    """A text that is not a quantity; the message is apimachinery's."""


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An exact amount and the notation it prints in.

    Equal, ordered and hashed by amount alone: ``1Ki`` equals ``1024``.
    """

    nanos: int
    format: Format = "DecimalSI"
    _text: str | None = field(default=None, repr=False)

    @staticmethod
    def parse(text: str | int | float) -> Quantity:
        """Read a quantity as JSON gives it, a string or a number. Raises ``QuantityError``."""
        if isinstance(text, str):
            return _parse(text) if len(text) <= _REMEMBERED else _parse.__wrapped__(text)
        if isinstance(text, bool):
            raise QuantityError(_WRONG_FORMAT)
        return Quantity.parse(long_numbers.write(text) if isinstance(text, int) else repr(text))

    @staticmethod
    def of(value: int) -> Quantity:
        """Make a quantity of ``value`` whole units."""
        return Quantity(value * NANOS)

    @property
    def is_integer(self) -> bool:
        """Tell whether this is a whole number of units."""
        return self.nanos % NANOS == 0

    def as_integer(self) -> int:
        """Return whole units, rounded away from zero, as ``Value()`` does."""
        return _divide_away_from_zero(self.nanos, NANOS)

    def __str__(self) -> str:
        return self._text if self._text is not None else _canonical(self.nanos, self.format)

    def as_decimal(self) -> str:
        """Print without a suffix, and with as many decimals as upstream keeps for the text: ``500m`` is "0.500".

        ``AsDec().String()`` (``gopkg.in/inf.v0``). Upstream goes by the text that was sent, this by the canonical one.
        """
        scale = _decimals(str(self))
        digits = long_numbers.write(abs(self.nanos) * 10**scale // NANOS).rjust(scale + 1, "0")
        sign = "-" if self.nanos < 0 else ""
        return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"

    def is_identical(self, other: Quantity) -> bool:
        """Tell whether Go takes the structs for equal: ``1Ki`` is not ``1024``, nor a computed ``4`` a written one."""
        return (self.nanos, self.format, self._text) == (other.nanos, other.format, other._text)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos + other.nanos, self.format if self.nanos else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nanos - other.nanos, self.format if self.nanos else other.format)

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: Quantity) -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: Quantity) -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: Quantity) -> bool:
        return self.nanos >= other.nanos

    def __hash__(self) -> int:
        return hash(self.nanos)


ZERO = Quantity(0)


def canonical(text: str) -> str:
    """Print a quantity in a request as the server writes it back. Raises ``QuantityError``."""
    return _canonical_text(text) if len(text) <= _REMEMBERED else str(Quantity.parse(text.strip()))


@functools.lru_cache(maxsize=8192)
def _canonical_text(text: str) -> str:
    return str(Quantity.parse(text.strip()))


@functools.lru_cache(maxsize=8192)
def _parse(text: str) -> Quantity:
    match = _PATTERN.fullmatch(text)
    if match is None or not text:
        raise QuantityError(_WRONG_FORMAT)
    sign, whole, fraction, suffix = match.group(1), match.group(2) or "0", match.group(3) or "", match.group(4)
    base, exponent, notation = _interpret(suffix)
    digits = whole + fraction
    if len(digits) > _MOST_DIGITS:
        raise QuantityError(f"{_WRONG_NUMBER}: it has more than {_MOST_DIGITS} digits")
    amount = long_numbers.read(digits) * (-1 if sign == "-" else 1)
    if base == 2:
        return _parse_binary(text, amount, len(digits), len(fraction), exponent)
    scale = exponent - len(fraction)
    if len(digits) > _FAST_DIGITS or scale < -9:
        _require_digit(text[: len(text) - len(suffix)])
        return Quantity(_shift(amount, scale + 9), notation)
    kept = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(_shift(amount, scale + 9), notation, text if kept else None)


def _parse_binary(text: str, amount: int, digits: int, decimals: int, exponent: int) -> Quantity:
    """Parse a number with a suffix Ki to Ei. Only here does upstream cap, at the largest 64-bit integer."""
    if decimals == 0 and 14 - digits - exponent * 3 // 10 >= 0 and abs(amount << exponent) <= INT64_MAX:
        return Quantity((amount << exponent) * NANOS, "BinarySI", text if amount & 7 else None)
    _require_digit(text[:-2])
    nanos = _shift(amount << exponent, 9 - decimals)
    nanos = max(-INT64_MAX * NANOS, min(INT64_MAX * NANOS, nanos))
    return Quantity(nanos, "DecimalSI" if 0 < abs(nanos) < NANOS else "BinarySI")


def _decimals(text: str) -> int:
    """Count the decimals that upstream keeps of a canonical text: those that it shows, or all nine if it is long."""
    match = _PATTERN.fullmatch(text)
    assert match is not None
    whole, fraction, suffix = match.group(2) or "0", match.group(3) or "", match.group(4)
    base, exponent, _ = _interpret(suffix)
    if base == 2:
        return 0
    return max(0, len(fraction) - exponent) if len(whole + fraction) <= _FAST_DIGITS else 9


def _interpret(suffix: str) -> tuple[int, int, Format]:
    """Return the base, exponent and notation of a suffix. Raises ``QuantityError`` for an unknown one."""
    if (decimal := _DECIMAL.get(suffix)) is not None:
        return 10, decimal, "DecimalSI"
    if (binary := _BINARY.get(suffix)) is not None:
        return 2, binary, "BinarySI"
    match = _EXPONENT.fullmatch(suffix)
    if match is None or (size := long_numbers.bounded(match.group(2), _MAX_EXPONENT)) > _MAX_EXPONENT:
        raise QuantityError(_WRONG_SUFFIX)
    return 10, -size if match.group(1) == "-" else size, "DecimalExponent"


def _require_digit(number: str) -> None:
    """Refuse a missing number as upstream's slow path does; its fast path reads it as zero."""
    if not any("0" <= char <= "9" for char in number):
        raise QuantityError(_WRONG_NUMBER)


def _shift(amount: int, places: int) -> int:
    """Compute ``amount * 10**places``, rounded away from zero: who asks for too little gets something."""
    return amount * 10**places if places >= 0 else _divide_away_from_zero(amount, 10**-places)


def _divide_away_from_zero(amount: int, divisor: int) -> int:
    return -(-amount // divisor) if amount > 0 else amount // divisor


def _canonical(nanos: int, notation: Format) -> str:
    """Print an amount as ``CanonicalizeBytes`` does: with the largest suffix that needs no fraction."""
    if nanos == 0:
        return "0"
    if notation == "BinarySI" and abs(nanos) >= 1024 * NANOS and nanos % NANOS == 0:
        amount, times = _without_factor(nanos // NANOS, 1024)
        return f"{long_numbers.write(amount)}{_BINARY_SUFFIX.get(times, '')}"
    amount, tens = _without_factor(nanos, 10)
    exponent = tens - 9
    amount *= 10 ** (exponent % 3)
    exponent -= exponent % 3
    shown = long_numbers.write(amount)
    if notation == "DecimalExponent":
        return f"{shown}e{exponent}" if exponent else shown
    return f"{shown}{_DECIMAL_SUFFIX.get(exponent, '')}"


def _without_factor(amount: int, factor: int) -> tuple[int, int]:
    times = 0
    while amount % factor == 0:
        amount //= factor
        times += 1
    return amount, times
