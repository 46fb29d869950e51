"""Media types as ``mime.ParseMediaType`` of Go reads them."""

from __future__ import annotations

import re

_WORD = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TYPE = re.compile(rf"({_WORD})(/{_WORD})?")
_SPACE = r"[ \t\r\n]*"
_PARAMETER = re.compile(rf'{_SPACE};{_SPACE}({_WORD}){_SPACE}={_SPACE}(?:({_WORD})|"((?:[^"\\\r\n]|\\.)*)")')
_NOTHING_MORE = re.compile(rf"{_SPACE};?{_SPACE}")
_ESCAPED = re.compile(r"\\(.)")


class MediaTypeError(ValueError):
    """A text that is no media type."""


def media_type(text: str) -> str:
    """Return the type and subtype in lower case, without the parameters, which have to be well-formed.

    Raises:
        MediaTypeError: if it is none, or says of a parameter two things.
    """
    base = text.partition(";")[0].strip().lower()
    if _TYPE.fullmatch(base) is None:
        raise MediaTypeError(text)
    place, said = text.find(";") if ";" in text else len(text), dict[str, str]()
    while match := _PARAMETER.match(text, place):
        name, plain, quoted = match.groups()
        value = plain if plain is not None else _ESCAPED.sub(r"\1", quoted)
        if said.setdefault(name.lower(), value) != value:
            raise MediaTypeError(text)
        place = match.end()
    if _NOTHING_MORE.fullmatch(text, place) is None:
        raise MediaTypeError(text)
    return base
