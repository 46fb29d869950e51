"""What a real server answers to the stories of conversions."""

from __future__ import annotations

import asyncio

from drakit_api.kubernetes_objects import Object
from tests.vectors import converter
from tests.vectors.conversions import Stage, recorded
from tests.vectors.record.apiserver.servers import running
from tests.vectors.record.apiserver.told import conversions_stories
from tests.vectors.record.outcome import Outcome, of_lines

# Seconds within which its handlers have seen a changed definition.
_SETTLING = 2.0
# Stories at the same time: more of them, and definitions take longer than that.
_AT_ONCE = 8


async def asked_again(version: str) -> Outcome:
    """All stories that are recorded."""
    now = await told(list(conversions_stories.made()), version)
    return of_lines(recorded(), now, lambda story: str(story["name"]))


async def told(stories: list[Object], version: str) -> list[Object]:
    """The stories with its answers."""
    async with running("default", version) as (session, token), converter.running() as program:
        stage, places = Stage(session, token, program, settling=_SETTLING), asyncio.Semaphore(_AT_ONCE)

        async def tell(story: Object) -> Object:
            async with places:
                return await stage.told(story)

        return await asyncio.gather(*map(tell, stories))
