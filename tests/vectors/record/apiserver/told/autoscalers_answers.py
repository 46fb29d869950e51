"""What a real server answers to the stories of autoscalers."""

from __future__ import annotations

import asyncio

from drakit_api.kubernetes_objects import Object
from tests.vectors.autoscalers import Stage, recorded
from tests.vectors.record.apiserver.servers import running
from tests.vectors.record.apiserver.told import autoscalers_stories
from tests.vectors.record.outcome import Outcome, of_lines


async def asked_again(version: str) -> Outcome:
    """All stories that are recorded."""
    now = await told(list(autoscalers_stories.made()), version)
    return of_lines(recorded(), now, lambda story: str(story["name"]))


async def told(stories: list[Object], version: str) -> list[Object]:
    """The stories with its answers."""
    async with running("default", version) as (session, token):
        stage = Stage(session, token)
        return await asyncio.gather(*map(stage.told, stories))
