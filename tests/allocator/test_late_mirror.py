"""A kind that may not be installed is followed whenever it is, and its objects are forgotten when it is not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from drakit_allocator.scheduler import mirror
from drakit_allocator.scheduler.mirror import LateMirror
from drakit_client.connection import Connection
from drakit_client.resources import RESOURCE_SLICE_PATCHES

ABSENT, FORBIDDEN, AWAY = 404, 403, 503


class _ApiServer:
    """Serves a collection of one object, or refuses with a code. A change ends the watches, which tell nothing."""

    def __init__(self) -> None:
        self.answer: int | str = ABSENT
        self.refuses_once: list[int] = []
        self.asked = 0
        self.versions: list[str] = []
        self._changed = asyncio.Event()

    def becomes(self, answer: int | str) -> None:
        """From now on, refuse with a code, or serve an object of this name."""
        self.answer = answer
        self._changed.set()
        self._changed = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        answer = self.refuses_once.pop() if self.refuses_once else self.answer
        if isinstance(answer, int):
            reason = {ABSENT: "NotFound", FORBIDDEN: "Forbidden"}.get(answer, "")
            return web.json_response({"reason": reason, "message": f"it is {answer}"}, status=answer)
        if "watch" in request.query:
            self.versions.append(request.query["resourceVersion"])
            response = web.StreamResponse()
            await response.prepare(request)
            await self._changed.wait()
            return response
        item = {"metadata": {"name": answer, "uid": answer, "resourceVersion": "1"}}
        return web.json_response({"metadata": {"resourceVersion": f"of {answer}"}, "items": [item]})


class _Followed:
    """The server, what the mirror has told of it, and the mirror."""

    def __init__(self, server: _ApiServer, connection: Connection) -> None:
        self.server = server
        self.changes: list[str] = []
        self.mirror = LateMirror(
            connection, RESOURCE_SLICE_PATCHES, self._on_change, remedy="install it", roles="the role of readers"
        )

    def _on_change(self, old: Any, new: Any) -> None:
        self.changes += [f"{sign}{obj['metadata']['name']}" for sign, obj in (("-", old), ("+", new)) if obj]

    async def asked_again(self, times: int = 3) -> None:
        """Wait until the server was asked a few more times."""
        before = self.server.asked
        await _until(lambda: self.server.asked >= before + times)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)


@asynccontextmanager
async def _following(answer: int | str) -> AsyncIterator[_Followed]:
    server = _ApiServer()
    server.answer = answer
    app = web.Application()
    app.router.add_get("/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    address = runner.addresses[0]
    async with Connection(f"http://127.0.0.1:{address[1]}") as connection:
        followed = _Followed(server, connection)
        task = asyncio.create_task(followed.mirror.run())
        try:
            yield followed
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    await runner.cleanup()


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(mirror, "_LOOK_AGAIN", 0.01)
    monkeypatch.setattr(mirror, "_RETRY", 0.01)
    # As a scheduler logs that was started without -v.
    caplog.set_level(logging.WARNING)
    caplog.set_level(logging.INFO, "scheduler")


def _told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the mirror has said, without whom it is about."""
    texts = (record.getMessage() for record in caplog.records)
    return [text.partition(": ")[2] for text in texts if text.startswith(_KIND)]


_KIND = "ResourceSlicePatch (resource.drakit.dev): "
_ABSENT = "the kind is not installed; it is followed as soon as it is there: install it"
_LATER = "it is followed as soon as the right is there: bind the role of readers"
_REFUSED = f"the right to list and watch it is missing: it is 403; {_LATER}"


@pytest.mark.parametrize(("answer", "text"), [(ABSENT, _ABSENT), (FORBIDDEN, _REFUSED)], ids=["absent", "forbidden"])
async def test_nobody_waits_for_a_kind_that_is_not_there_and_it_is_told_once(
    answer: int, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with _following(answer) as followed:
        async with asyncio.timeout(5):
            await followed.mirror.synced()
        await followed.asked_again()
        assert _told(caplog) == [text]
        followed.server.becomes("first")
        await _until(lambda: followed.changes == ["+first"])
    assert _told(caplog) == [text, "it is followed now"]


async def test_what_is_there_is_known_when_it_has_synced(caplog: pytest.LogCaptureFixture) -> None:
    async with _following("first") as followed:
        async with asyncio.timeout(5):
            await followed.mirror.synced()
        assert followed.changes == ["+first"]
    assert _told(caplog) == []


async def test_objects_go_with_their_kind_and_come_with_it_again(caplog: pytest.LogCaptureFixture) -> None:
    async with _following("first") as followed:
        await _until(lambda: followed.changes == ["+first"])
        followed.server.becomes(ABSENT)
        await _until(lambda: followed.changes == ["+first", "-first"])
        followed.server.becomes("second")
        await _until(lambda: followed.changes == ["+first", "-first", "+second"])
        # What has another history is watched from its own list on.
        await _until(lambda: followed.server.versions[-1] == "of second")
    assert _told(caplog) == [_ABSENT, "it is followed now"]


async def test_a_kind_that_went_and_came_between_two_looks_is_listed_anew(caplog: pytest.LogCaptureFixture) -> None:
    async with _following("first") as followed:
        await _until(lambda: followed.changes == ["+first"])
        followed.server.refuses_once = [ABSENT]
        followed.server.becomes("second")
        await _until(lambda: followed.changes == ["+first", "-first", "+second"])
    assert _told(caplog) == []


_LOST = "it can no longer be read: it is 403; what was read before still counts; bind the role of readers"


@pytest.mark.parametrize(("answer", "told"), [(AWAY, []), (FORBIDDEN, [_LOST])], ids=["away", "forbidden"])
async def test_objects_stay_while_a_server_is_away_or_refuses_a_watch(
    answer: int, told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with _following("first") as followed:
        await _until(lambda: followed.changes == ["+first"])
        followed.server.becomes(answer)
        await followed.asked_again(3)
        assert followed.changes == ["+first"]
        assert _told(caplog) == told
        followed.server.becomes("first")
        await followed.asked_again(1)
        assert followed.changes == ["+first"]
    assert _told(caplog) == told


async def test_a_server_that_is_away_at_the_start_is_waited_for() -> None:
    async with _following(AWAY) as followed:
        synced = asyncio.create_task(followed.mirror.synced())
        await followed.asked_again()
        assert not synced.done()
        followed.server.becomes("first")
        async with asyncio.timeout(5):
            await synced
        assert followed.changes == ["+first"]
