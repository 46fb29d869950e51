"""What a real server stores of new objects, and whether it is what is recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp

from tests.vectors import defaulted
from tests.vectors.defaulted import RefusedError, Vector
from tests.vectors.record.apiserver import servers
from tests.vectors.record.apiserver.defaulting import growing
from tests.vectors.record.outcome import Outcome, of_answers


async def asked_again(version: str) -> Outcome:
    """Everything that is recorded."""
    async with servers.with_accounts("default", version) as (session, token):
        found = [(vector, await _answer(session, token, vector)) for vector in defaulted.recorded()]
    return of_answers(
        found, lambda vector: str(vector["name"]), lambda one, other: bool(one["stored"] == other["stored"])
    )


async def _answer(session: aiohttp.ClientSession, token: str, vector: Vector) -> Vector | None:
    try:
        return {**vector, "stored": await defaulted.stored(session, token, vector)}
    except RefusedError:
        return None


async def made(version: str, count: int, fields: int) -> AsyncIterator[Vector]:
    """The least object of each kind, chosen ones, and ``count`` grown ones of up to ``fields`` more fields."""
    async with servers.with_accounts("default", version) as (session, token):
        for kind in defaulted.kinds():
            for vector in (growing.least(kind), *growing.chosen(kind)):
                yield {**vector, "stored": await defaulted.stored(session, token, vector)}
            async for grown in growing.all_grown(session, token, kind, count=count, fields=fields):
                yield grown
