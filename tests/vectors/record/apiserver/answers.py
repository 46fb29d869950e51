"""What a real server answers to exchanges, and whether it is what is recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from tests.vectors.exchanges import GATES, Vector, recorded, without_times
from tests.vectors.record.apiserver.servers import answering
from tests.vectors.record.outcome import Outcome, of_answers
from tests.vectors.replay import NotStoredError, Replay, comparable

_ANSWERED = ("response", "reads")


async def answers(exchanges: Iterable[Vector], version: str) -> AsyncIterator[tuple[Vector, Vector | None]]:
    """Each exchange, and the same with its answer, one server after the other.

    None is the answer to one whose old object is not taken: it is not asked at all.
    """
    asked = list(exchanges)
    for server in GATES:
        mine = [exchange for exchange in asked if exchange["server"] == server]
        if not mine:
            continue
        async with answering(server, version) as replay:
            for exchange in mine:
                yield exchange, await answer(replay, exchange)


async def answer(replay: Replay, exchange: Vector) -> Vector | None:
    """An exchange with its answer, or None if it cannot be asked."""
    question = {key: value for key, value in exchange.items() if key not in _ANSWERED}
    try:
        return {**question, **await replay.response(exchange)}
    except NotStoredError:
        return None


async def asked_again(file: str, version: str) -> Outcome:
    """All of one of ``exchanges.FILES``, in the order in which it is recorded."""
    vectors = recorded(file)
    places = {id(vector): number for number, vector in enumerate(vectors)}
    found = [pair async for pair in answers(vectors, version)]
    return of_answers(sorted(found, key=lambda pair: places[id(pair[0])]), name, same)


def name(vector: Vector) -> str:
    """A name that no other exchange of the file has."""
    return f"{vector['server']}: {vector['name']}"


def same(vector: Vector, answered: Vector) -> bool:
    """Whether two answers to one exchange say the same."""
    return comparable(vector["response"]) == comparable(answered["response"]) and without_times(
        vector.get("reads")
    ) == without_times(answered.get("reads"))
