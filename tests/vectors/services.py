"""Stories of Services, and what a real kube-apiserver 1.37.1 answered to each step of them.

``api/services.jsonl.gz`` holds stories as ``tests.vectors.writes`` describes them. Addresses and node ports that a
server chose are numbered in the order in which they occur; those that a step asks for stay as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from drakit_api.kubernetes_objects import Object
from tests.vectors import exchanges, writes

FILE = "services"

# Outside of what is kept for those who ask for one: 256 addresses, and 86 ports.
_CHOSEN_ADDRESS = re.compile(r"\b10\.96\.(?!00?\.|255\.25[45])\d{1,3}\.\d{1,3}\b")
_CHOSEN_PORT = re.compile(r'(?<=Port": )(?:3008[6-9]|3009\d|30[1-9]\d\d|31\d{3}|32[0-6]\d\d|327[0-5]\d|3276[0-7])\b')
# The same ports in a message.
_TOLD_PORT = re.compile(r"(?<=Duplicate value: )3\d{4}\b|(?<=\{TCP )3\d{4}\b|(?<=\{UDP )3\d{4}\b")


def recorded() -> tuple[Object, ...]:
    """All stories."""
    return exchanges.recorded(FILE)


class Stage(writes.Stage):
    """A server on which stories of services are played."""

    async def all_told(self, stories: Iterable[Object]) -> list[Object]:
        """All stories, one after the other: some ask for what another one has given back."""
        return [await self.told(story) for story in stories]

    async def told(self, story: Object) -> Object:
        """The story with what the server answers, as it is recorded."""
        told = await super().told(story)
        answers = json.dumps([step["answer"] for step in told["steps"]])
        answers = _numbered(_CHOSEN_ADDRESS, answers, "address-{}")
        answers = _numbered(_CHOSEN_PORT, answers, '"port-{}"')
        answers = _TOLD_PORT.sub("a port", answers)
        steps = zip(told["steps"], json.loads(answers), strict=True)
        return {**told, "steps": [{**step, "answer": answer} for step, answer in steps]}


def _numbered(pattern: re.Pattern[str], text: str, form: str) -> str:
    """Write a number in place of each match, the same for the same one."""
    names: dict[str, str] = {}
    return pattern.sub(lambda match: names.setdefault(match[0], form.format(len(names))), text)
