"""What takes long to make is where a user expects it."""

from __future__ import annotations

import pytest

from drakit_client.files.user_cache import cache_directory


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"DRAKIT_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/drakit"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/drakit"),
        ({}, "/home/me/.cache/drakit"),
    ],
)
def test_the_cache_is_where_users_expect_it(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("DRAKIT_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (variables | {"HOME": "/home/me"}).items():
        monkeypatch.setenv(name, value)
    assert str(cache_directory()) == expected
