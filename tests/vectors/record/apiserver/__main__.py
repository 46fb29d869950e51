"""Asks a real kube-apiserver; it takes the programs that ``drakit kubernetes build VERSION`` makes.

python -m tests.vectors.record.apiserver check                        # does it still answer as is recorded?
python -m tests.vectors.record.apiserver again --version 1.38.0       # records all again, of another version
python -m tests.vectors.record.apiserver ask < exchanges > vectors    # answers to new exchanges
python -m tests.vectors.record.apiserver changes > exchanges          # changes of all that was accepted, to ask
python -m tests.vectors.record.apiserver fields                       # records the stories of managed fields
python -m tests.vectors.record.apiserver writes                       # records the stories of seldom writes
python -m tests.vectors.record.apiserver conventions                  # records what holds for every kind
python -m tests.vectors.record.apiserver pods                         # asks about pods, and records what is answered
python -m tests.vectors.record.apiserver differences 500 7            # tells others to ours as well, from a seed
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from typing import IO

import click

from drakit_kind.cluster import KUBERNETES_VERSION
from tests.vectors import conventions as held
from tests.vectors import managed_fields
from tests.vectors import writes as seldom
from tests.vectors.exchanges import OF_SERVER, Vector, keep, line, recorded
from tests.vectors.record.apiserver import (
    answers,
    exchanges,
    fields_answers,
    fields_stories,
    writes_answers,
    writes_stories,
)
from tests.vectors.record.apiserver import pods as pod_exchanges
from tests.vectors.record.apiserver.conventions import answers as conventions_answers

_version = click.option(
    "--version", default=KUBERNETES_VERSION, show_default=True, help="The Kubernetes version to ask."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Exchanges with a real kube-apiserver."""


@main.command()
@_version
def check(version: str) -> None:
    """Ask all that is recorded, and print what is answered differently."""
    found = asyncio.run(answers.check(version)) + asyncio.run(conventions_answers.check(version))
    sys.exit(1 if found else 0)


@main.command()
@_version
def again(version: str) -> None:
    """Ask all that is recorded, and record what is answered now."""
    for file in OF_SERVER:
        keep(file, asyncio.run(_all(recorded(file), version)))
    _record_conventions(version)


@main.command()
@_version
def ask(version: str) -> None:
    """Read exchanges from standard input, a line of JSON each, and print them with their answers."""
    asyncio.run(_print(map(json.loads, sys.stdin), version, sys.stdout))


@main.command()
def changes() -> None:
    """Print exchanges with every object that was accepted, changed in every way there is."""
    for exchange in exchanges.made():
        print(line(exchange), end="")


@main.command()
@_version
@click.option("--count", default=220, show_default=True, help="How many stories by chance.")
def fields(version: str, count: int) -> None:
    """Tell the stories of managed fields, and record what is answered."""
    keep(managed_fields.FILE, asyncio.run(fields_answers.told(list(fields_stories.made(count)), version)))


@main.command()
@_version
def writes(version: str) -> None:
    """Tell the stories of writes that are seldom made, and record what is answered."""
    keep(seldom.FILE, asyncio.run(writes_answers.told(list(writes_stories.made()), version)))


@main.command()
@_version
def conventions(version: str) -> None:
    """Ask what holds for every kind, and record what is answered."""
    _record_conventions(version)


@main.command()
@_version
def pods(version: str) -> None:
    """Ask about right and wrong pods, and record what is answered."""
    keep("pods", asyncio.run(_all(pod_exchanges.made(), version)))


@main.command()
@_version
@click.argument("count", type=int)
@click.argument("seed", type=int)
def differences(version: str, count: int, seed: int) -> None:
    """Tell stories by chance to the real server and to ours, and print where these part."""
    stories = list(fields_stories.made(count, seed))
    found = asyncio.run(fields_answers.different(stories, version))
    for story in found:
        print(line(story))
    print(f"{len(found)} of {len(stories)} stories end differently")
    sys.exit(1 if found else 0)


def _record_conventions(version: str) -> None:
    keep(held.FILE, asyncio.run(conventions_answers.answered(conventions_answers.made(), version)))


async def _all(asked: Iterable[Vector], version: str) -> list[Vector]:
    return [answer async for answer in answers.answers(asked, version)]


async def _print(asked: Iterable[Vector], version: str, out: IO[str]) -> None:
    async for answer in answers.answers(asked, version):
        out.write(line(answer))


if __name__ == "__main__":
    main()
