"""Malformed definitions, custom resources, policies and webhook replies, told to an API server by its administrator.

They are the stories of ``tests.vectors.malformed``, which are told to a real server as well elsewhere. Here they are an
attack: a program of its own, so that it does not slow down who measures how others are answered meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from drakit_client.credentials import kubeconfig
from tests.vectors.malformed import stories
from tests.vectors.record.apiserver.servers import client
from tests.vectors.stories import hooks
from tests.vectors.stories.playing import NO_ANSWER, Player

# Seconds for which a story waits, and for which an answer may take; stories that are told at once.
_PATIENCE, _BOUND, _AT_ONCE = 40.0, 90.0, 6
_REFUSED = 400
# What is deep is filled and shown one level after the other.
_LEVELS = 100_000


class Input(NamedTuple):
    """One malformed input, and the code of its answer."""

    story: str
    # Number of the step.
    step: int
    kind: str
    code: int

    @property
    def is_answered(self) -> bool:
        """Whether there was an answer in time."""
        return self.code != NO_ANSWER

    @property
    def is_refused(self) -> bool:
        """Whether the answer was an error."""
        return self.code >= _REFUSED


def told(config: Path, seed: str, numbers: range) -> list[Input]:
    """Tell the stories of a seed with these numbers to the server of a kubeconfig; what was malformed in them."""
    command = [sys.executable, "-m", __name__, str(config), seed, str(numbers.start), str(numbers.stop)]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [Input(*json.loads(line)) for line in ran.stdout.splitlines()]


async def _tell(config: str, seed: str, numbers: Iterator[int]) -> None:
    access = kubeconfig.read(config)
    assert access is not None
    assert isinstance(access.token, str)
    async with client(access.server, None, lasting=False) as session, hooks.running() as reached:
        player = Player(session, access.token, reached, _PATIENCE)

        async def tell() -> None:
            for number in numbers:
                story = stories.story(seed, number)
                for found in await _inputs(player, story):
                    print(json.dumps(found))

        await asyncio.gather(*(tell() for _ in range(_AT_ONCE)))


async def _inputs(player: Player, story: dict[str, Any]) -> list[Input]:
    answers = enumerate(zip(story["steps"], await player.told(story, _BOUND), strict=True))
    return [
        Input(story["name"], number, step["asked"], found.answer["code"])
        for number, (step, found) in answers
        if "asked" in step and found.answer is not None
    ]


if __name__ == "__main__":
    sys.setrecursionlimit(_LEVELS)
    asyncio.run(_tell(sys.argv[1], sys.argv[2], iter(range(int(sys.argv[3]), int(sys.argv[4])))))
