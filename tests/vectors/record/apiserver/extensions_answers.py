"""What a real server answers to the stories of custom resources, policies and webhooks."""

from __future__ import annotations

import asyncio

from tests.vectors.record.apiserver.servers import cluster
from tests.vectors.record.outcome import Outcome, of_answers
from tests.vectors.recordings import Vector
from tests.vectors.replay import RUNTIME_CONFIG
from tests.vectors.stories import hooks
from tests.vectors.stories.playing import Player, families

FILE = "extensions/stories"
# Seconds for which a story waits; a real server reads anew every 30 s which kinds there are.
_PATIENCE = 60.0
_AT_ONCE = 8


async def asked_again(version: str) -> Outcome:
    """All stories that are recorded."""
    async with cluster(version, RUNTIME_CONFIG) as (session, token), hooks.running() as reached:
        player, places = Player(session, token, reached, _PATIENCE), asyncio.Semaphore(_AT_ONCE)

        async def told(story: Vector) -> tuple[Vector, Vector | None]:
            async with places:
                return story, await _told(player, story)

        stories = [story for family in families().values() for story in family]
        answered = await asyncio.gather(*map(told, stories))
    return of_answers(answered, lambda story: str(story["name"]), Vector.__eq__)


async def _told(player: Player, story: Vector) -> Vector | None:
    """Tell a story with the answers that are different now; None if what it waits for does not come."""
    differences = await player.play(story)
    if any("wait" in difference.parts for difference in differences):
        return None
    steps = list(story["steps"])
    for difference in differences:
        steps[difference.step] = {**steps[difference.step], "response": difference.got}
    return {**story, "steps": steps}
