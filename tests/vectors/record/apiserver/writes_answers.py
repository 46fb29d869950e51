"""What a real server answers to the stories of writes."""

from __future__ import annotations

import asyncio

from tests.vectors.record.apiserver.servers import running
from tests.vectors.writes import Object, Stage


async def told(stories: list[Object], version: str) -> list[Object]:
    """The stories with its answers."""
    async with running("default", version) as (session, token):
        stage = Stage(session, token)
        return await asyncio.gather(*map(stage.told, stories))
