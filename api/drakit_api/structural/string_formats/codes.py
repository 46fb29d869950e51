"""Formats of numbers and codes: identifiers, books, cards, colors, and bytes as text."""

from __future__ import annotations

import re

_UUID = r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"
_UUID3 = r"[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}"
_UUID4 = r"[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}"
_UUID5 = r"[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}"
_BSON = "[0-9a-fA-F]{24}"
_BASE64 = r"(?:[A-Za-z0-9+/]{4})*+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)|(?:[A-Za-z0-9+/]{4})+"
_CARD = (
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_NO_DIGITS = "[^0-9]+"
_SPACES_AND_DASHES = r"[\t\n\f\r -]+"
_ISBN10 = "[0-9]{9}[0-9X]"
_ISBN13 = "[0-9]{13}"
_SSN = "[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"
_SSN_LENGTH = 11
_HEX_COLOR = "#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"
_OCTET = r"[\t\n\f\r ]*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*"
_RGB_COLOR = rf"rgb\({_OCTET},{_OCTET},{_OCTET}\)"


def is_anything(text: str) -> bool:
    """Tell that a text is a password."""
    return True


def is_uuid(text: str) -> bool:
    """Tell whether a text is a UUID, in either case, with or without dashes."""
    return re.fullmatch(_UUID, text, re.ASCII | re.IGNORECASE) is not None


def is_uuid3(text: str) -> bool:
    """Tell whether a text is a UUID of version 3."""
    return re.fullmatch(_UUID3, text, re.ASCII | re.IGNORECASE) is not None


def is_uuid4(text: str) -> bool:
    """Tell whether a text is a UUID of version 4."""
    return re.fullmatch(_UUID4, text, re.ASCII | re.IGNORECASE) is not None


def is_uuid5(text: str) -> bool:
    """Tell whether a text is a UUID of version 5."""
    return re.fullmatch(_UUID5, text, re.ASCII | re.IGNORECASE) is not None


def is_bson_object_id(text: str) -> bool:
    """Tell whether a text is twelve bytes in hexadecimal."""
    return re.fullmatch(_BSON, text) is not None


def is_base64(text: str) -> bool:
    """Tell whether a text is base64 of at least one byte."""
    return re.fullmatch(_BASE64, text) is not None


def is_credit_card(text: str) -> bool:
    """Tell whether the digits of a text are the number of a card, by its beginning, length and last digit (Luhn)."""
    digits = re.sub(_NO_DIGITS, "", text)
    if not re.fullmatch(_CARD, digits):
        return False
    doubled = [2 * int(digit) if place % 2 else int(digit) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def is_isbn(text: str) -> bool:
    """Tell whether a text is the number of a book, of ten or thirteen digits."""
    return is_isbn10(text) or is_isbn13(text)


def is_isbn10(text: str) -> bool:
    """Tell whether a text is the number of a book, of ten digits; the last may be an X."""
    digits = re.sub(_SPACES_AND_DASHES, "", text)
    if not re.fullmatch(_ISBN10, digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def is_isbn13(text: str) -> bool:
    """Tell whether a text is the number of a book, of thirteen digits."""
    digits = re.sub(_SPACES_AND_DASHES, "", text)
    if not re.fullmatch(_ISBN13, digits):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def is_ssn(text: str) -> bool:
    """Tell whether a text is a social security number with its separators."""
    return len(text) == _SSN_LENGTH and re.fullmatch(_SSN, text) is not None


def is_hex_color(text: str) -> bool:
    """Tell whether a text is a color such as ``#fff``."""
    return re.fullmatch(_HEX_COLOR, text) is not None


def is_rgb_color(text: str) -> bool:
    """Tell whether a text is a color such as ``rgb(255, 0, 17)``."""
    return re.fullmatch(_RGB_COLOR, text) is not None
