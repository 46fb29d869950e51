"""``drakit allocate``: answers to allocation problems from files, without a cluster."""

from __future__ import annotations

from typing import BinaryIO

import click


@click.command()
@click.option(
    "--problems",
    type=click.File("rb"),
    required=True,
    help="JSON lines, one problem each: features, node, classes, slices, claims, allocated. '-' reads standard input.",
)
@click.option("--timeout", type=click.FloatRange(min=0), default=10.0, show_default=True, help="Seconds per problem.")
def allocate(problems: BinaryIO, timeout: float) -> None:
    """Answer allocation problems: a JSON line for each, with the allocation, null if it does not fit, or the error.

    The form of both is that in which answers of Kubernetes' own allocator were recorded, so that they can be compared.
    """
    import sys
    import time

    import msgspec

    from drakit_allocator.problems import answer
    from drakit_allocator.search import Limits

    output = sys.stdout.buffer
    for number, line in enumerate(problems, 1):
        if not line.strip():
            continue
        try:
            problem = msgspec.json.decode(line)
            answered = answer(problem, Limits(deadline=time.monotonic() + timeout))
        except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
            reason = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
            source = getattr(problems, "name", "standard input")
            raise click.ClickException(f"{source}, line {number}: not an allocation problem: {reason}") from None
        output.write(msgspec.json.encode(answered) + b"\n")
        output.flush()
