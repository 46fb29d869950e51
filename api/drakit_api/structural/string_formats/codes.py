"""Formats of numbers and codes: identifiers, books, cards, colors, and bytes as text."""

from __future__ import annotations

import re

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_UUID3 = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_UUID4 = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)
_UUID5 = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE
)
_BSON = re.compile("[0-9a-fA-F]{24}")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)|(?:[A-Za-z0-9+/]{4})+")
_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_NO_DIGITS = re.compile("[^0-9]+")
_SPACES_AND_DASHES = re.compile(r"[\t\n\f\r -]+")
_ISBN10 = re.compile("[0-9]{9}[0-9X]")
_ISBN13 = re.compile("[0-9]{13}")
_SSN = re.compile("[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}")
_SSN_LENGTH = 11
_HEX_COLOR = re.compile("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_OCTET = r"[\t\n\f\r ]*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*"
_RGB_COLOR = re.compile(rf"rgb\({_OCTET},{_OCTET},{_OCTET}\)")


def is_anything(text: str) -> bool:
    """Tell that a text is a password."""
    return True


def is_uuid(text: str) -> bool:
    """Tell whether a text is a UUID, in either case, with or without dashes."""
    return _UUID.fullmatch(text) is not None


def is_uuid3(text: str) -> bool:
    """Tell whether a text is a UUID of version 3."""
    return _UUID3.fullmatch(text) is not None


def is_uuid4(text: str) -> bool:
    """Tell whether a text is a UUID of version 4."""
    return _UUID4.fullmatch(text) is not None


def is_uuid5(text: str) -> bool:
    """Tell whether a text is a UUID of version 5."""
    return _UUID5.fullmatch(text) is not None


def is_bson_object_id(text: str) -> bool:
    """Tell whether a text is twelve bytes in hexadecimal."""
    return _BSON.fullmatch(text) is not None


def is_base64(text: str) -> bool:
    """Tell whether a text is base64 of at least one byte."""
    return _BASE64.fullmatch(text) is not None


def is_credit_card(text: str) -> bool:
    """Tell whether the digits of a text are the number of a card, by its beginning, length and last digit (Luhn)."""
    digits = _NO_DIGITS.sub("", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = [2 * int(digit) if place % 2 else int(digit) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def is_isbn(text: str) -> bool:
    """Tell whether a text is the number of a book, of ten or thirteen digits."""
    return is_isbn10(text) or is_isbn13(text)


def is_isbn10(text: str) -> bool:
    """Tell whether a text is the number of a book, of ten digits; the last may be an X."""
    digits = _SPACES_AND_DASHES.sub("", text)
    if not _ISBN10.fullmatch(digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def is_isbn13(text: str) -> bool:
    """Tell whether a text is the number of a book, of thirteen digits."""
    digits = _SPACES_AND_DASHES.sub("", text)
    if not _ISBN13.fullmatch(digits):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def is_ssn(text: str) -> bool:
    """Tell whether a text is a social security number with its separators."""
    return len(text) == _SSN_LENGTH and _SSN.fullmatch(text) is not None


def is_hex_color(text: str) -> bool:
    """Tell whether a text is a color such as ``#fff``."""
    return _HEX_COLOR.fullmatch(text) is not None


def is_rgb_color(text: str) -> bool:
    """Tell whether a text is a color such as ``rgb(255, 0, 17)``."""
    return _RGB_COLOR.fullmatch(text) is not None
