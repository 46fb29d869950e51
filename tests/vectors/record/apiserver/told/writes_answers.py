"""What a real server answers to the stories of writes."""

from __future__ import annotations

import asyncio

from drakit_api.kubernetes_objects import Object
from tests.vectors.record.apiserver.servers import running
from tests.vectors.record.apiserver.told import writes_stories
from tests.vectors.record.outcome import Outcome, of_lines
from tests.vectors.writes import Stage, recorded


async def asked_again(version: str) -> Outcome:
    """All stories that are recorded."""
    now = await told(list(writes_stories.made()), version)
    return of_lines(recorded(), now, lambda story: str(story["name"]))


async def told(stories: list[Object], version: str) -> list[Object]:
    """The stories with its answers."""
    async with running("default", version) as (session, token):
        stage = Stage(session, token)
        return await asyncio.gather(*map(stage.told, stories))
