"""What a real server answers to all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.vectors.conventions import Object, Stage, recorded
from tests.vectors.record.apiserver.conventions import bodies, lists, media_types, patches, paths, selectors, watches
from tests.vectors.record.apiserver.servers import running

_MATTERS = (paths, selectors, lists, watches, bodies, patches, media_types)


def made() -> Iterator[Object]:
    """All requests, each once."""
    seen = set()
    for matter in _MATTERS:
        for exchange in matter.exchanges():
            if exchange["name"] not in seen:
                seen.add(exchange["name"])
                yield exchange


async def answered(exchanges: Iterable[Object], version: str) -> list[Object]:
    """The exchanges with the answers of a real server."""
    asked = [{key: value for key, value in exchange.items() if key != "response"} for exchange in exchanges]
    async with running("default", version) as (session, token):
        stage = Stage(session, token)
        await stage.prepare()
        answers = await stage.answers(asked)
    return [{**exchange, "response": answer} for exchange, answer in zip(asked, answers, strict=True)]


async def check(version: str) -> int:
    """Ask all that is recorded again, and print what is answered differently; how many."""
    vectors = recorded()
    again = await answered(vectors, version)
    different = [vector["name"] for vector, answer in zip(vectors, again, strict=True) if vector != answer]
    for name in different:
        print(f"api/http: {name}")
    print(f"api/http: {len(different)} of {len(vectors)} are answered differently by {version}")
    return len(different)
