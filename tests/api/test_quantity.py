"""Quantities parse, round, compare and print as apimachinery's do.

``vectors/api/quantities.jsonl.gz`` was recorded from ``k8s.io/apimachinery`` v0.37.1: an input, and its canonical text,
notation and exact value, or the error.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drakit_api.quantity import NANOS, Quantity, QuantityError
from tests.vectors.exchanges import recorded

_FACTORS: dict[str, int | Fraction] = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "m": Fraction(1, 10**3),
    "Ki": 1024,
    "Mi": 1024**2,
    "e3": 10**3,
}

numbers = st.builds(
    lambda whole, fraction: f"{whole}.{fraction}" if fraction else str(whole),
    st.integers(-(10**6), 10**6),
    st.text("0123456789", max_size=3),
)
texts = st.builds(str.__add__, numbers, st.sampled_from(sorted(_FACTORS)))


def exact(text: str) -> Fraction:
    """The value of a text by another route than the parser's."""
    suffix = next(suffix for suffix in sorted(_FACTORS, key=len, reverse=True) if text.endswith(suffix))
    return Fraction(text.removesuffix(suffix)) * _FACTORS[suffix]


def test_agrees_with_apimachinery() -> None:
    differences = []
    for case in recorded("quantities"):
        try:
            quantity = Quantity.parse(case["in"])
            got: dict[str, Any] = {"out": str(quantity), "format": quantity.format, "nanos": quantity.nanos}
        except QuantityError as error:
            got = {"error": str(error)}
        want: dict[str, Any] = {key: case[key] for key in ("out", "format", "error") if key in case}
        if "dec" in case:
            want["nanos"] = Fraction(case["dec"]) * NANOS
        if got != want:
            differences.append((case["in"], got, want))
    assert not differences


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1024Mi", "1Gi"),
        ("0.5Mi", "512Ki"),
        ("5Ki", "5Ki"),
        ("0.5Ki", "512"),
        (".001Ki", "1024m"),
        ("1.5Ki", "1536"),
        ("1000M", "1G"),
        ("0.5", "500m"),
        ("0.0000000001", "1n"),
        ("1E3", "1E3"),
        ("1000e3", "1e6"),
        ("9Ei", "9223372036854775807"),
        ("1.500", "1.500"),
        ("0Gi", "0"),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize(("value", "canonical"), [(8, "8"), (1000, "1k"), (0.5, "500m"), (-3, "-3"), (1e22, "10e21")])
def test_json_numbers_are_quantities_too(value: float, canonical: str) -> None:
    assert str(Quantity.parse(value)) == canonical


@pytest.mark.parametrize("text", ["", "1i", "0.1mi", " 1", "1 ", "1.1.M", "one", "1e", "1e99999", "1\n", "１"])
def test_refuses(text: str) -> None:
    with pytest.raises(QuantityError):
        Quantity.parse(text)


def test_a_bool_is_no_number() -> None:
    with pytest.raises(QuantityError, match="must match the regular expression"):
        Quantity.parse(True)


def test_value_rounds_away_from_zero() -> None:
    assert [Quantity.parse(text).as_integer() for text in ("1.1", "-1.1", "3", "1n")] == [2, -2, 3, 1]
    assert Quantity.parse("1.1").is_integer is False
    assert Quantity.parse("2000m").is_integer is True


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [("1Gi", "0", "1Gi"), ("0", "1Gi", "1Gi"), ("1Gi", "24Mi", "1048Mi"), ("1", "500m", "1500m")],
)
def test_a_sum_keeps_the_notation_of_its_first_nonzero_term(left: str, right: str, total: str) -> None:
    assert str(Quantity.parse(left) + Quantity.parse(right)) == total


@given(texts)
def test_the_value_is_exact(text: str) -> None:
    assert Quantity.parse(text).nanos == exact(text) * NANOS


@given(texts)
@example("406.25Ki")
def test_the_canonical_text_means_the_same(text: str) -> None:
    """It also stays, but for a binary amount without a suffix: 416000 of Kubernetes, which it reads as 416k."""
    quantity = Quantity.parse(text)
    again = Quantity.parse(str(quantity))
    assert again == quantity
    assert str(again) == str(quantity) or str(quantity).lstrip("-").isdecimal()
    assert str(Quantity.parse(str(again))) == str(again)


@pytest.mark.slow
@given(texts, texts)
def test_order_sums_and_hashes_are_those_of_the_numbers(left: str, right: str) -> None:
    a, b = Quantity.parse(left), Quantity.parse(right)
    x, y = exact(left), exact(right)
    assert (a < b, a <= b, a == b, a > b, a >= b) == (x < y, x <= y, x == y, x > y, x >= y)
    assert (Fraction((a + b).nanos, NANOS), Fraction((a - b).nanos, NANOS)) == (x + y, x - y)
    assert a != b or hash(a) == hash(b)
