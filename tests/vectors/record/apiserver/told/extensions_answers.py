"""What a real server answers to the stories of custom resources, policies and webhooks, and to those of corners."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from tests.vectors import recordings
from tests.vectors.record.apiserver.servers import cluster, running
from tests.vectors.record.apiserver.told import corner_stories
from tests.vectors.record.outcome import Outcome, of_answers, of_lines
from tests.vectors.recordings import Vector
from tests.vectors.replay import RUNTIME_CONFIG
from tests.vectors.stories import hooks
from tests.vectors.stories.playing import Player, families

FILE = "extensions/stories"
CORNERS = "extensions/corners"
# Seconds for which a story waits; a real server reads anew every 30 s which kinds there are.
_PATIENCE = 60.0
# Seconds for an answer.
_BOUND = 60.0
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


async def corners_asked_again(version: str) -> Outcome:
    """All stories of corners."""
    now = await told(corner_stories.made(), version)
    return of_lines(recordings.recorded(CORNERS), now, lambda story: str(story["name"]))


async def told(stories: Iterable[Vector], version: str) -> list[Vector]:
    """Stories with their answers."""
    async with running("default", version, lasting=False) as (session, token), hooks.running() as reached:
        player, places = Player(session, token, reached, _PATIENCE), asyncio.Semaphore(_AT_ONCE)

        async def answered(story: Vector) -> Vector:
            async with places:
                found = await player.told(story, _BOUND)
            steps = zip(story["steps"], found, strict=True)
            return {**story, "steps": [_with(step, each.answer) for step, each in steps]}

        return await asyncio.gather(*map(answered, stories))


def _with(step: Vector, answer: Vector | None) -> Vector:
    return step if answer is None or step.get("cleanup") else {**step, "response": answer}


async def _told(player: Player, story: Vector) -> Vector | None:
    """Tell a story with the answers that are different now; None if what it waits for does not come."""
    differences = await player.play(story)
    if any("wait" in difference.parts for difference in differences):
        return None
    steps = list(story["steps"])
    for difference in differences:
        steps[difference.step] = {**steps[difference.step], "response": difference.got}
    return {**story, "steps": steps}
