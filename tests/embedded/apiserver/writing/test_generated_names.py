"""Names that the server makes up: another one is tried where the first is taken, as often as upstream does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_embedded.apiserver.scheme import metadata


@pytest.fixture
def suffixes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What names end with, one after the other; the last of them again and again."""
    given = ["aaaaa", "aaaaa", "bbbbb"]

    def chosen() -> Iterator[str]:
        while True:
            yield given.pop(0) if len(given) > 1 else given[0]

    suffix = chosen()
    monkeypatch.setattr(metadata, "random_suffix", lambda: next(suffix))
    return given


async def test_a_generated_name_that_is_taken_is_generated_again(connection: Connection, suffixes: list[str]) -> None:
    body = {"metadata": {"generateName": "g-"}}
    names = [(await connection.create(resources.CONFIG_MAPS, body, "default"))["metadata"]["name"] for _ in range(2)]
    assert names == ["g-aaaaa", "g-bbbbb"]


@pytest.mark.parametrize(
    ("taken", "wanted"),
    [
        pytest.param({"name": "g-bbbbb"}, {"generateName": "g-"}, id="generated"),
        pytest.param({"name": "g-bbbbb"}, {"generateName": "g-", "name": "g-bbbbb"}, id="given, and not needed"),
    ],
)
async def test_no_name_is_left(
    connection: Connection, suffixes: list[str], taken: dict[str, str], wanted: dict[str, str]
) -> None:
    del suffixes[:2]
    await connection.create(resources.CONFIG_MAPS, {"metadata": taken}, "default")
    with pytest.raises(ApiError) as refused:
        await connection.create(resources.CONFIG_MAPS, {"metadata": wanted}, "default")
    why = 'configmaps "g-bbbbb" already exists, the server was not able to generate a unique name for the object'
    assert (refused.value.code, refused.value.message) == (409, why)
    assert refused.value.status["details"]["retryAfterSeconds"] == 1


async def test_eight_names_are_tried(connection: Connection, suffixes: list[str]) -> None:
    await connection.create(resources.CONFIG_MAPS, {"metadata": {"name": "g-taken"}}, "default")
    suffixes[:] = [*["taken"] * 7, "free2"]
    body = {"metadata": {"generateName": "g-"}}
    made = await connection.create(resources.CONFIG_MAPS, body, "default")
    assert made["metadata"]["name"] == "g-free2"
    suffixes[:] = [*["taken"] * 8, "free3"]
    with pytest.raises(ApiError, match="not able to generate a unique name"):
        await connection.create(resources.CONFIG_MAPS, body, "default")
