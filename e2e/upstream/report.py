"""What a run prints: a line for each test as it ends, and at the end what was and what should have been."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import shorten

import click

from e2e.upstream.expectations import Judgement, Known
from e2e.upstream.runs import Outcome

_MESSAGE_LETTERS = 300


def progress(count: int) -> Callable[[Outcome], None]:
    """A function that prints an outcome with its number of ``count``."""
    done = 0

    def told(outcome: Outcome) -> None:
        nonlocal done
        done += 1
        click.echo(f"{done:>3}/{count} {outcome.state:<7} {outcome.seconds:5.0f} s  {outcome.spec.name}")

    return told


def print_report(judgement: Judgement, column: str, logs: Path) -> None:
    """Errors come last, where a reader looks first; ``logs`` is where those of all tests are."""
    _print_known("failed, as listed", judgement.known_failures)
    _print_known("listed as unstable", judgement.unstable)
    if judgement.unknown_names:
        click.echo("\nERROR: listed, and there is no test of this name; correct or remove the line in the list:")
        for name in judgement.unknown_names:
            click.echo(f"  {name}")
    if judgement.surprising_passes:
        click.echo(f"\nERROR: passed, though listed as failing; remove {column} from these in the list:")
        for outcome, known in judgement.surprising_passes:
            click.echo(f"  {outcome.spec.name}\n      listed because: {known.reason}")
    if judgement.surprising_failures:
        click.echo("\nERROR: failed, and is not listed:")
        for outcome in judgement.surprising_failures:
            click.echo(f"  {outcome.spec.name}\n      {outcome.state}: {_short(outcome.message)}\n      {outcome.log}")
    click.echo(f"\n{column}: {summary(judgement)}; logs are in {logs}")


def _print_known(what: str, outcomes: Sequence[tuple[Outcome, Known]]) -> None:
    by_reason: dict[str, list[Outcome]] = {}
    for outcome, known in outcomes:
        by_reason.setdefault(known.reason, []).append(outcome)
    for reason, tests in by_reason.items():
        click.echo(f"\n{what}, {len(tests)}: {reason}")
        for outcome in tests:
            click.echo(f"  {outcome.state:<7} {outcome.spec.name}")


def _short(message: str) -> str:
    return shorten(message, _MESSAGE_LETTERS, placeholder=" ...")


def summary(judgement: Judgement) -> str:
    """All counts in a line."""
    counts = {
        "passed": len(judgement.passed),
        "failed as listed": len(judgement.known_failures),
        "unstable": len(judgement.unstable),
        "failed without being listed": len(judgement.surprising_failures),
        "passed though listed": len(judgement.surprising_passes),
        "listed names of no test": len(judgement.unknown_names),
    }
    ran = sum(counts.values()) - counts["listed names of no test"]
    shown = [f"{count} {what}" for what, count in counts.items() if count or what == "passed"]
    return f"{ran} tests of Kubernetes: {', '.join(shown)}"
