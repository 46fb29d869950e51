"""``-o json`` and ``-o yaml``: for scripts, what a command otherwise shows to people."""

from __future__ import annotations

from typing import Literal

import click

Format = Literal["yaml", "json"]

output_option = click.option(
    "-o", "--output", type=click.Choice(["json", "yaml"]), help="Print this format.  [default: text for people]"
)
