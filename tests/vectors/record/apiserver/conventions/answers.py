"""What a real server answers to all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from drakit_api.kubernetes_objects import Object
from tests.vectors.conventions import Stage, recorded
from tests.vectors.record.apiserver.conventions import bodies, lists, media_types, patches, paths, selectors, watches
from tests.vectors.record.apiserver.servers import running
from tests.vectors.record.outcome import Outcome, of_lines

_MATTERS = (paths, selectors, lists, watches, bodies, patches, media_types)


def made() -> Iterator[Object]:
    """All requests, each once. Raises ``ValueError`` for two that have one name."""
    seen: dict[str, Object] = {}
    for matter in _MATTERS:
        for exchange in matter.exchanges():
            if seen.setdefault(exchange["name"], exchange) != exchange:
                raise ValueError(f"two requests are called {exchange['name']}")
    yield from seen.values()


async def asked_again(version: str) -> Outcome:
    """All requests that are made here, whether they were recorded before or not."""
    return of_lines(recorded(), await answered(made(), version), lambda exchange: str(exchange["name"]))


async def answered(exchanges: Iterable[Object], version: str) -> list[Object]:
    """The exchanges with the answers of a real server."""
    asked = list(exchanges)
    async with running("default", version) as (session, token):
        stage = Stage(session, token)
        await stage.prepare()
        answers = await stage.answers(asked)
    return [{**exchange, "response": answer} for exchange, answer in zip(asked, answers, strict=True)]
