"""What a real server answers to stories that a stage of the tests tells, all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol

import aiohttp

from drakit_api.kubernetes_objects import Object
from tests.vectors.record.apiserver.servers import running
from tests.vectors.record.outcome import Outcome, of_lines


class Stage(Protocol):
    """Tells one story to a server."""

    def told(self, story: Object, /) -> Coroutine[Any, Any, Object]:
        """The story with its answers."""


async def asked_again(
    stage: Callable[[aiohttp.ClientSession, str], Stage],
    recorded: Callable[[], Iterable[Object]],
    made: Callable[[], Iterable[Object]],
    version: str,
) -> Outcome:
    """All stories that are recorded."""
    async with running("default", version) as (session, token):
        now = await asyncio.gather(*map(stage(session, token).told, made()))
    return of_lines(recorded(), now, lambda story: str(story["name"]))
