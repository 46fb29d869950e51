"""Shell completion of profiles, alone and in ``PROFILE[@NODE,...]``."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def complete_profile(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the profiles that begin so, each with the line of ``drakit driver profiles``."""
    from drakit_driver.profiles.reading.catalog import profiles

    return [
        CompletionItem(name, help=profile.summary)
        for name, profile in profiles().items()
        if name.startswith(incomplete)
    ]


def complete_driver(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the profiles that ``--driver`` takes; node names after the ``@`` are the user's."""
    return [item for item in complete_profile(context, parameter, incomplete) if item.value != "layout"]
