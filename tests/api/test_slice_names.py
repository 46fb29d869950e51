"""The index in front of a slice's name: sorted, found again, and never cut off."""

from __future__ import annotations

import pytest

from drakit_api.layouts.slice_names import generate_name, slice_index


@pytest.mark.parametrize(
    ("index", "count", "node", "name"),
    [
        (0, 1, "n", "00000-d-n-"),
        (17, 20, None, "00011-d-"),
        (0, 0x100001, "n", "000000-d-n-"),
    ],
    ids=["node", "hexadecimal", "long"],
)
def test_names_sort_by_index(index: int, count: int, node: str | None, name: str) -> None:
    assert generate_name(index, count, "d", node) == name
    assert slice_index(name + "x7f2k", count) == index


@pytest.mark.parametrize("name", ["", "00000", "0000-d-x", "0000g-d-x", "-d-x", "000000-d-x", "00005-d-x", "+0001-d-x"])
def test_names_that_are_none_of_the_pool(name: str) -> None:
    assert slice_index(name, 5) is None


def test_names_sort_in_the_order_of_slices_however_many_there_are() -> None:
    count = 16**5 + 1
    names = [generate_name(index, count, "d", "n") for index in (0, 9, 10, 16**5 - 1, 16**5)]
    assert names == sorted(names)


def test_the_index_survives_the_servers_cut_of_long_names() -> None:
    assert generate_name(17, 20, "d." + "x" * 61, "n" * 253)[:58].startswith("00011-d.xxx")
