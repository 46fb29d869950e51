"""Makes the stories of a seed, one kind after the other, until there are enough malformed inputs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
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


def made(seed: int | str, *, first: int = 0) -> Iterator[Story]:
    """Make stories without end, each kind in its turn; ``first`` leaves out those before it."""
    number = first
    while True:
        yield story(seed, number)
        number += 1


def story(seed: int | str, number: int) -> Story:
    """Make one story: ``name``, ``kind``, ``steps`` and where there are any ``hooks``."""
    chance = Random(f"{seed} {number}")
    kind = list(KINDS)[number % len(KINDS)]
    told = chance.choice(KINDS[kind])(number, chance)
    steps, hooks = told if isinstance(told, tuple) else (told, {})
    found: Story = {"name": f"malformed:{kind}:{seed}-{number}", "kind": kind, "steps": steps}
    return {**found, "hooks": hooks} if hooks else found


def again(story: Story) -> Story:
    """Make the same story under other names, to be told where it was told already."""
    renamed: Story = json.loads(_IDENTITY.sub(r"s9\1", json.dumps(story)))
    return renamed


def inputs(story: Story) -> int:
    """Count the malformed inputs of a story."""
    return sum("asked" in step for step in story["steps"])


def enough(seed: int | str, count: int) -> Iterator[Story]:
    """Make stories until each kind has its share of ``count`` inputs, and no more of a kind than that takes."""
    share = -(-count // len(KINDS))
    left = dict.fromkeys(KINDS, share)
    for each in made(seed):
        if left[each["kind"]] > 0:
            left[each["kind"]] -= inputs(each)
            yield each
        if max(left.values()) <= 0:
            return
