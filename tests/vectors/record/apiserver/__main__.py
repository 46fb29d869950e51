"""New questions to a real kube-apiserver: see ``--help``."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from typing import TextIO

import click

from drakit_kind.cluster import KUBERNETES_VERSION
from tests.vectors.exchanges import Vector
from tests.vectors.malformed import stories as malformed_stories
from tests.vectors.record.apiserver import answers, changes
from tests.vectors.record.apiserver import ours as of_ours
from tests.vectors.record.apiserver import pods as of_pods
from tests.vectors.record.apiserver.defaulting import answers as defaulting_answers
from tests.vectors.record.apiserver.told import fields_answers, fields_stories, malformed_answers
from tests.vectors.recordings import line

_version = click.option(
    "--version", default=KUBERNETES_VERSION, show_default=True, metavar="V", help="The Kubernetes version to ask."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """New questions to a real kube-apiserver, and whether ours answers the same.

    It takes the programs that `drakit kubernetes build` makes. What is recorded already is asked again by `python -m
    tests.vectors.record`.

    \b
      python -m tests.vectors.record.apiserver changes --together 2 --count 3000 --seed 1 > exchanges
      python -m tests.vectors.record.apiserver ask < exchanges > vectors
      python -m tests.vectors.record.apiserver ours < vectors
    """


@main.command()
@_version
def ask(version: str) -> None:
    """Read exchanges from standard input, a line of JSON each, and print them with their answers.

    An exchange whose old object the server does not take cannot be asked: it is left out, and counted at the end.
    """
    refused = asyncio.run(_ask(map(json.loads, sys.stdin), version))
    if refused:
        click.echo(f"{refused} could not be asked: their old objects are refused", err=True)


@main.command()
def ours() -> None:
    """Read exchanges with answers, as `ask` prints them, and print those that our server answers otherwise.

    Each with the answer of ours beside it, and their number at the end; exit status 1 if there are any.
    """
    vectors = list(map(json.loads, sys.stdin))
    different = asyncio.run(of_ours.different(vectors))
    for vector in different:
        click.echo(line(vector), nl=False)
    click.echo(f"{len(different)} of {len(vectors)} are answered otherwise", err=True)
    sys.exit(1 if different else 0)


@main.command("changes")
@click.option("--together", default=1, show_default=True, type=click.IntRange(min=1), help="Changes of one object.")
@click.option("--count", type=click.IntRange(min=1), help="So many by chance, instead of all there are.")
@click.option("--seed", default=1, show_default=True, help="Which ones, if not all.")
def changed(together: int, count: int | None, seed: int) -> None:
    """Print exchanges with objects that were accepted, each field changed in every way that its value allows.

    All changes one at a time are some 65,000; of several at once so many are printed as --count says.
    """
    if together > 1 and count is None:
        raise click.UsageError("--together needs --count: of several changes at once there is no end")
    made = changes.made() if count is None else changes.chosen(count, seed, together=together)
    for exchange in made:
        click.echo(line(exchange), nl=False)


@main.command()
def pods() -> None:
    """Print exchanges with right and wrong pods, changes of them and of their statuses."""
    for exchange in of_pods.made():
        click.echo(line(exchange), nl=False)


@main.command()
@_version
@click.argument("count", type=int)
@click.argument("seed", type=int)
def differences(version: str, count: int, seed: int) -> None:
    """Tell COUNT stories of managed fields by chance, from a SEED, to the real server and to ours.

    Those that end differently are printed up to the step where they part; exit status 1 if there are any.
    """
    stories = list(fields_stories.made(count, seed))
    found = asyncio.run(fields_answers.different(stories, version))
    for story in found:
        click.echo(line(story), nl=False)
    click.echo(f"{len(found)} of {len(stories)} stories end differently", err=True)
    sys.exit(1 if found else 0)


@main.command()
@_version
@click.option("--count", default=5000, show_default=True, help="Malformed inputs, in equal shares of the four kinds.")
@click.option("--seed", default="1", show_default=True, help="Which ones.")
@click.option("--story", type=int, multiple=True, metavar="N", help="Only these stories of the seed; may be repeated.")
@click.option(
    "--differences",
    "file",
    type=click.File("w", errors="backslashreplace"),
    help="Write what is answered otherwise to this file.",
)
def malformed(version: str, count: int, seed: str, story: tuple[int, ...], file: TextIO | None) -> None:
    """Send malformed input by chance to the real server and to ours, and print by kind who took how much of it.

    Exit status 1 if ours has taken anything that the real one refuses, has failed where that one has not, or has logged
    a traceback. Of the lines in the file of differences, each has a request and both answers.
    """
    told = malformed_stories.Enough(seed, count) if not story else malformed_stories.Chosen(seed, story)
    found = asyncio.run(malformed_answers.compared(told, version, _progress))
    click.echo(err=True)
    click.echo(found.table())
    for line_of in found.different if file is not None else ():
        click.echo(line(line_of), file=file, nl=False)
    sys.exit(1 if found.is_harmful else 0)


def _progress(found: malformed_answers.Comparison) -> None:
    click.echo(f"\r{found.inputs} malformed inputs, {len(found.different)} answers that differ", nl=False, err=True)


@main.command()
@_version
@click.option("--count", default=8, show_default=True, help="Grown objects of each kind.")
@click.option("--fields", default=60, show_default=True, help="How many more fields the largest of them have.")
def defaults(version: str, count: int, fields: int) -> None:
    """Print what the server stores of new objects of every kind: of the least one, and of some that grow by chance."""
    asyncio.run(_defaults(version, count, fields))


async def _defaults(version: str, count: int, fields: int) -> None:
    async for vector in defaulting_answers.made(version, count, fields):
        click.echo(line(vector), nl=False)


async def _ask(asked: Iterable[Vector], version: str) -> int:
    refused = 0
    async for _, answer in answers.answers(asked, version):
        if answer is None:
            refused += 1
        else:
            click.echo(line(answer), nl=False)
    return refused


if __name__ == "__main__":
    main()
