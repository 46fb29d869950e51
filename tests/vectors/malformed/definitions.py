"""Stories of malformed definitions: created, replaced, patched and with another status."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.vectors.malformed import requests, seeds, stages, vocabulary

KIND = "CustomResourceDefinition"
_CREATED, _CHANGED = 8, 6


def steps(number: int, chance: Random) -> list[dict[str, Any]]:
    """Tell a story; ``asked`` are the steps with malformed definitions."""
    base = seeds.document(KIND, seeds.identity(number), chance)
    path = stages.path_of(base)
    told = [_malformed(requests.dry(stages.post(base)), chance) for _ in range(_CREATED - 2)]
    others = [seeds.document(KIND, seeds.identity(number, part), chance) for part in (1, 2)]
    for other in others:
        told += [_malformed(stages.post(other), chance), *stages.removed(other)]
    told += [stages.post(base, vital=True), stages.established(base)]
    for _ in range(_CHANGED):
        told += _change(path, base, chance)
    return [*told, {"method": "GET", "path": path}, *stages.removed(base)]


def _change(path: str, base: dict[str, Any], chance: Random) -> list[dict[str, Any]]:
    below = path + chance.choice(("", "", "", "/status"))
    step = stages.put(below, base, "read")
    if chance.random() < 0.6:
        step = {**step, "method": "PATCH", "body": base}
    if chance.random() < 0.5:
        step = requests.dry(step)
    return [stages.fetched(path, "read"), _malformed(step, chance)]


def _malformed(step: dict[str, Any], chance: Random) -> dict[str, Any]:
    return {**requests.damaged(step, vocabulary.DEFINITION, chance), "asked": "definitions"}
