"""Version attributes are strict semver 2.0.0, ordered by precedence."""

from __future__ import annotations

from itertools import pairwise

import pytest

from drakit_api import semver


@pytest.mark.parametrize("text", ["1.2.3", "0.0.0", "1.2.3-rc.1", "1.2.3-rc.1+build.7", "18446744073709551615.0.0"])
def test_accepts(text: str) -> None:
    assert str(semver.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1.2",
        "v1.2.3",
        "01.2.3",
        "1.2.3-01",
        "1.2.3-",
        "1.2.3+",
        "1.2.3 ",
        "1.2.3\n",
        "1.2.x",
        "18446744073709551616.0.0",
        "1.0.0-18446744073709551616",
        "1.2.３",
    ],
)
def test_refuses(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        semver.parse(text)


def test_order_is_that_of_the_specification() -> None:
    ascending = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0", "1.10.0"]
    assert all(semver.parse(lower) < semver.parse(higher) for lower, higher in pairwise(ascending))


def test_build_metadata_does_not_count() -> None:
    assert not semver.parse("1.0.0+a") < semver.parse("1.0.0+b")
    assert not semver.parse("1.0.0+b") < semver.parse("1.0.0+a")
