"""What a real server answers to exchanges, and whether it is what is recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import suppress

from tests.vectors.exchanges import GATES, OF_SERVER, Vector, recorded, without_times
from tests.vectors.record.apiserver.servers import answering
from tests.vectors.replay import NotStoredError, comparable

_ANSWERED = ("response", "reads")


async def answers(exchanges: Iterable[Vector], version: str) -> AsyncIterator[Vector]:
    """The exchanges with their answers, one server after the other; without those whose old object none takes."""
    asked = list(exchanges)
    for server in GATES:
        mine = [exchange for exchange in asked if exchange["server"] == server]
        if not mine:
            continue
        async with answering(server, version) as replay:
            for exchange in mine:
                question = {key: value for key, value in exchange.items() if key not in _ANSWERED}
                with suppress(NotStoredError):
                    yield {**question, **await replay.response(exchange)}


async def check(version: str) -> int:
    """Ask all that is recorded again, and print what is answered differently; how many."""
    total = 0
    for file in OF_SERVER:
        vectors = [vector for server in GATES for vector in recorded(file) if vector["server"] == server]
        found = [answer async for answer in answers(vectors, version)]
        different = [vector for vector, answer in zip(vectors, found, strict=True) if not same(vector, answer)]
        for vector in different:
            print(f"api/{file}: {vector['server']}: {vector['name']}")
        print(f"api/{file}: {len(different)} of {len(vectors)} are answered differently by {version}")
        total += len(different)
    return total


def same(vector: Vector, answer: Vector) -> bool:
    """Whether two answers to one exchange say the same."""
    return comparable(vector["response"]) == comparable(answer["response"]) and without_times(
        vector.get("reads")
    ) == without_times(answer.get("reads"))
