"""Floating point numbers are printed as Go prints them."""

import pytest

from drakit_api.golang.gofloats import general, json_text


# Printed by Go 1.26 with ``fmt.Sprint`` and ``json.Marshal``.
@pytest.mark.parametrize(
    ("value", "shown", "json"),
    [
        (0.0, "0", "0"),
        (-0.0, "-0", "-0"),
        (3.0, "3", "3"),
        (1.5, "1.5", "1.5"),
        (100000.0, "100000", "100000"),
        (123456.7, "123456.7", "123456.7"),
        (1e6, "1e+06", "1000000"),
        (123456789.0, "1.23456789e+08", "123456789"),
        (1e20, "1e+20", "100000000000000000000"),
        (1e21, "1e+21", "1e+21"),
        (2.0**63, "9.223372036854776e+18", "9223372036854776000"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "1e-05", "0.00001"),
        (1e-7, "1e-07", "1e-7"),
        (-2.5e-9, "-2.5e-09", "-2.5e-9"),
    ],
)
def test_a_float_is_printed(value: float, shown: str, json: str) -> None:
    assert (general(value), json_text(value)) == (shown, json)
