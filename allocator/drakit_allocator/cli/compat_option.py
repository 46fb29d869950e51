"""The option ``--compat``, which several commands have."""

from __future__ import annotations

import click

from drakit_allocator.defects import COMPATS

compat_option = click.option(
    "--compat",
    type=click.Choice(COMPATS),
    default="upstream",
    show_default=True,
    help="Repeat the defects of Kubernetes' allocator, or do without them and say where one makes a difference.",
)
