"""How commands end on Ctrl-C: by a status of its own, as 1 is an answer, such as "does not fit"."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from drakit_client.processes.ending_signals import INTERRUPTED_STATUS


@contextmanager
def ended_by_ctrl_c() -> Iterator[None]:
    """End the process without a traceback if Ctrl-C is pressed in the block."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        raise SystemExit(INTERRUPTED_STATUS) from None
