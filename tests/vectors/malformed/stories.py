"""Makes the stories of a seed, one kind after the other, until there are enough malformed inputs."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

from tests.vectors.malformed import definitions, objects, policies, webhooks

Story = dict[str, Any]
Step = dict[str, Any]
_Told = Callable[[int, Random], list[Step] | tuple[list[Step], dict[str, Any]]]

_IDENTITY = re.compile(r"\bs0(\d{6})")
KINDS: dict[str, tuple[_Told, ...]] = {
    "definitions": (definitions.steps,),
    "objects": (objects.steps,),
    "policies": (policies.stored, policies.at_work),
    "webhooks": (webhooks.stored, webhooks.admitting, webhooks.converting),
}


class Chosen:
    """Some stories of a seed, by their numbers."""

    def __init__(self, seed: str, numbers: Iterable[int]) -> None:
        self._seed, self._numbers = seed, numbers

    def __iter__(self) -> Iterator[Story]:
        """Make the stories."""
        return (story(self._seed, number) for number in self._numbers)

    def was_asked(self, kind: str, inputs: int) -> None:
        """Hear that so many malformed inputs of a kind were asked."""


class Enough:
    """The stories of a seed, each kind in its turn, until its share of ``count`` malformed inputs was asked.

    Of a story that comes to an early end not all are.
    """

    def __init__(self, seed: str, count: int) -> None:
        self._seed = seed
        self._left = dict.fromkeys(KINDS, -(-count // len(KINDS)))

    def __iter__(self) -> Iterator[Story]:
        """Make the stories."""
        for number in itertools.count():
            if max(self._left.values()) <= 0:
                return
            if self._left[_kind(number)] > 0:
                yield story(self._seed, number)

    def was_asked(self, kind: str, inputs: int) -> None:
        """Hear that so many malformed inputs of a kind were asked."""
        self._left[kind] -= inputs


def _kind(number: int) -> str:
    return list(KINDS)[number % len(KINDS)]


def story(seed: str, number: int) -> Story:
    """Make one story: ``name``, ``kind``, ``steps`` and where there are any ``hooks``."""
    chance = Random(f"{seed} {number}")
    kind = _kind(number)
    told = chance.choice(KINDS[kind])(number, chance)
    steps, hooks = told if isinstance(told, tuple) else (told, {})
    found: Story = {"name": f"malformed:{kind}:{seed}-{number}", "kind": kind, "steps": steps}
    return {**found, "hooks": hooks} if hooks else found


def again(story: Story) -> Story:
    """Make the same story under other names, to be told where it was told already."""
    renamed: Story = json.loads(_IDENTITY.sub(r"s9\1", json.dumps(story)))
    return renamed
