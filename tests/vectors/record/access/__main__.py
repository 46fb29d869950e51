"""Holds the recorded conversations with a running cluster, real or ours, that nobody has used yet.

drakit cluster up --cluster binaries --real apiserver,controllers --nodes 0 --no-scheduler
python -m tests.vectors.record.access check KUBECONFIG     # prints what is answered differently
python -m tests.vectors.record.access again KUBECONFIG     # records what is answered now
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import click

from drakit_client import kubeconfig
from tests.vectors.access import FILES, Conversation, Step, file_of, recorded
from tests.vectors.exchanges import keep

# How long kube-apiserver's own informers may take to see what was prepared.
_PAUSE = 1.0


@asynccontextmanager
async def _conversation(path: str) -> AsyncIterator[Conversation]:
    access = kubeconfig.read(path)
    if access is None or not isinstance(access.token, str):
        raise click.ClickException(f"{path}: has no token in it")
    connector = aiohttp.TCPConnector(ssl=access.tls if access.tls is not None else True)
    async with aiohttp.ClientSession(access.server, connector=connector) as session:
        yield Conversation(session, access.token, pause=_PAUSE)


async def _check(path: str) -> int:
    different = 0
    async with _conversation(path) as conversation:
        for file in FILES:
            for step in recorded(file):
                answer = await conversation.answer(step)
                if step["op"] != "prepare" and answer != step["response"]:
                    different += 1
                    click.echo(f"{file}: {step['name']}\n  recorded {step['response']}\n  answered {answer}")
    return different


async def _again(path: str) -> None:
    async with _conversation(path) as conversation:
        for file in FILES:
            found: list[Step] = []
            for step in recorded(file):
                answer = await conversation.answer(step)
                found.append(step if step["op"] == "prepare" else {**step, "response": answer})
            keep(file_of(file), found)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Conversations of several users with a cluster."""


@main.command()
@click.argument("path", metavar="KUBECONFIG", type=click.Path(exists=True, dir_okay=False))
def check(path: str) -> None:
    """Print what is answered differently."""
    sys.exit(1 if asyncio.run(_check(path)) else 0)


@main.command()
@click.argument("path", metavar="KUBECONFIG", type=click.Path(exists=True, dir_okay=False))
def again(path: str) -> None:
    """Record what is answered now."""
    asyncio.run(_again(path))


if __name__ == "__main__":
    main()
