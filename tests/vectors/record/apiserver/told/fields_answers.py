"""What a real server, and ours, answer to the stories of managed fields."""

from __future__ import annotations

import aiohttp

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors.managed_fields import Stage, recorded
from tests.vectors.record.apiserver.servers import running
from tests.vectors.record.apiserver.told import fields_stories
from tests.vectors.record.outcome import Outcome, of_lines
from tests.vectors.replay import RUNTIME_CONFIG

# How many of the recorded stories are by chance.
STORIES = 150
_TURNS = 3
_TOKEN = "of-the-recorder"


async def asked_again(version: str) -> Outcome:
    """All stories that are recorded: those with names, and so many by chance.

    What is told otherwise is told again a few times: of managers of one second another one is the oldest than of two.
    """
    before = {story["name"]: story for story in recorded()}
    now = {story["name"]: story for story in await told(list(fields_stories.made(STORIES)), version)}
    for _ in range(_TURNS):
        other = [before[name] for name, story in now.items() if name in before and story != before[name]]
        now |= {story["name"]: story for story in (await told(other, version) if other else ())}
    return of_lines(before.values(), now.values(), lambda story: str(story["name"]))


async def told(stories: list[Object], version: str) -> list[Object]:
    """The stories with the answers of a real server."""
    async with running("default", version) as (session, token):
        return await _told(stories, session, token)


async def different(stories: list[Object], version: str) -> list[Object]:
    """The stories that our server answers differently, up to the first step that it does, with both answers there."""
    real = await told(stories, version)
    config = ServerConfig(token=_TOKEN, runtime_config=RUNTIME_CONFIG)
    async with Server(config) as server, aiohttp.ClientSession(server.url) as session:
        ours = await _told(stories, session, _TOKEN)
    found = []
    for one, other in zip(real, ours, strict=True):
        for number, (step, mine) in enumerate(zip(one["steps"], other["steps"], strict=True)):
            if step["answer"] != mine["answer"]:
                steps = [*one["steps"][:number], {**step, "ours": mine["answer"]}]
                found.append({"name": one["name"], "steps": steps})
                break
    return found


async def _told(stories: list[Object], session: aiohttp.ClientSession, token: str) -> list[Object]:
    stage = Stage(session, token)
    await stage.prepare()
    answered = []
    for story in stories:
        answers = await stage.answers(story)
        steps = [{**step, "answer": answer} for step, answer in zip(story["steps"], answers, strict=True)]
        answered.append({**story, "steps": steps})
    return answered
