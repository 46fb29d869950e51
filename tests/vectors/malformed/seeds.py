"""What is right, to be damaged: documents and stories out of the recorded ones, each under names of its own."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable
from random import Random
from typing import Any

from tests.vectors.stories.playing import families

Object = dict[str, Any]
Story = dict[str, Any]

# What the names in a recorded story have in common.
_IDENTITY = re.compile(r"s\d{7}")
# These wait for what is damaged here, or ask for more than a server without controllers and accounts has.
_LEFT_OUT = ("cr-watch", "cr-default-added", "vap-builtin", "webhook-claims")
_CREATED = 201


def identity(number: int, part: int = 0) -> str:
    """Name what is made for a story, or for a part of it, as no other is."""
    return f"s{number * 100 + part:07}"


def document(kind: str, name: str, chance: Random) -> Object:
    """Choose a document of a kind that was taken, and give it a name."""
    found: Object = json.loads(_named(chance.choice(_documents(kind)), name))
    return found


def documents(kind: str, story: Story) -> list[Object]:
    """Find what a story creates of a kind."""
    created = (step["body"] for step in story["steps"] if step.get("method") == "POST" and "body" in step)
    return [body for body in created if isinstance(body, dict) and body.get("kind") == kind]


def story(beginnings: Iterable[str], name: str, chance: Random) -> Story:
    """Choose a story of the families whose names begin so, and give it a name."""
    found: Story = json.loads(_named(chance.choice(_stories(tuple(beginnings))), name))
    return found


@functools.cache
def _stories(beginnings: tuple[str, ...]) -> tuple[str, ...]:
    found = [name for name in families() if name.startswith(beginnings) and name not in _LEFT_OUT]
    return tuple(json.dumps(story) for name in found for story in families()[name])


@functools.cache
def _documents(kind: str) -> tuple[str, ...]:
    """All documents of a kind, each once, whatever names it has."""
    found: dict[str, str] = {}
    for family in families().values():
        for step in (step for story in family for step in story["steps"]):
            body = step.get("body")
            if step.get("method") != "POST" or not isinstance(body, dict) or body.get("kind") != kind:
                continue
            if step.get("response", {}).get("code") == _CREATED:
                found.setdefault(_named(json.dumps(body), "s0000000"), json.dumps(body))
    return tuple(found.values())


def _named(text: str, name: str) -> str:
    return _IDENTITY.sub(name, text)
