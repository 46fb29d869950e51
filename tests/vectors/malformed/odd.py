"""Values that hardly anybody would write: of extreme numbers, texts, depth and length."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.vectors.malformed.trees import Literal

_NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 63, 255, 1.5, 0.1, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64),
    *map(Literal, ("-0", "-0.0", "1.0", "1e3", "1E400", "-1e400", "1e-400", "1e308", "5e-324", "1e99999999999")),
    *map(Literal, ("1" * 40, "9" * 400, "0." + "3" * 40, "-" + "7" * 19 + ".0")),
)
_NO_NUMBERS = tuple(
    map(Literal, ("01", "1.", ".5", "+1", "0x10", "NaN", "-Infinity", "1_000", "--1", "1e", "undefined"))
)
_TEXTS = (
    *(
        "",
        " ",
        "null",
        "true",
        "0",
        "-1",
        "1e400",
        "a" * 64,
        "a" * 254,
        "x" * 5000,
        "A.b_C",
        "a/b",
        "a/b/c",
        "/",
        "..",
        ".",
    ),
    *(
        "%s%n{}",
        "$ref",
        "${x}",
        "#/definitions/x",
        "self",
        "\\",
        '"',
        "'",
        "\n",
        "\t",
        "\x00",
        "\x7f",
        "\x1b[31m",
        "\u2028",
    ),
    *(
        "é",
        "e\u0301",
        "𝔘" * 20,
        "\u202e",
        "\ufeff",
        "\ufffd",
        "\ufffe",
        "\ud800",
        "\udc00\ud800",
        "\u212a",
        "\u017f",
        "\u0130",
        "\u0661",
    ),
    *(
        "2020-01-01T00:00:00Z",
        "2020-13-01T00:00:00Z",
        "9999999999999999h",
        "-1h",
        "10.0.0.0/8",
        "::ffff:1.2.3.4",
        "1Ki",
    ),
    *("AAAA", "AAA", "====", "a-b-c-", "-a", "a" * 63 + "." + "b" * 63, "example.com", "EXAMPLE.com", "*", "*/*", "**"),
)
_KEYS = (
    "",
    " ",
    "a",
    "a b",
    "A",
    "é",
    "\x00",
    "__proto__",
    "$ref",
    "x" * 300,
    ".",
    "a.b",
    "a/b",
    "~0",
    "~1",
    "\u212aind",
    "\u017fpec",
)
# Ours reads 256 levels, and a real server 10,000: what is between is no question.
_DEPTHS = (3, 3, 10, 30, 30, 120, 120, 12_000)
_LENGTHS = (2, 17, 130, 1100, 5000)


def number(chance: Random) -> Any:
    """Choose a number; one in thirty is none."""
    return chance.choice(_NUMBERS if chance.random() < 0.97 else _NO_NUMBERS)


def text(chance: Random) -> str:
    """Choose a text."""
    return chance.choice(_TEXTS)


def key(chance: Random) -> str:
    """Choose a key."""
    return chance.choice(_KEYS)


def value(chance: Random) -> Any:
    """Choose a value of any type; one in fifteen is deep or long."""
    if chance.random() < 0.07:
        return _large(chance)
    kind = chance.randrange(6)
    if kind == 0:
        return number(chance)
    if kind == 1:
        return text(chance)
    if kind == 2:
        return chance.choice((None, None, True, False))
    if kind == 3:
        return chance.choice(([], [None], [[]], [{}], [""], [0], [None, None], [[[]]], ["a", 1, None, {}]))
    if kind == 4:
        return chance.choice(({}, {"": ""}, {"a": None}, {"a": {}}, {"a": []}, {"a": {"a": {"a": "a"}}}, {"$ref": "#"}))
    return {key(chance): value(chance)}


def length(chance: Random) -> int:
    """Choose how often something is to be there."""
    return chance.choice(_LENGTHS)


def _large(chance: Random) -> Any:
    depth = chance.choice(_DEPTHS)
    opened, closed = chance.choice((("[", "]"), ('{"a":', "}"), ('[{"properties":', "}]")))
    if chance.random() < 0.6:
        return Literal(opened * depth + "1" + closed * depth)
    return [chance.choice(("", 1, {}, {"a": 1}))] * length(chance)
