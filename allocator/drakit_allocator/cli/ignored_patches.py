"""What commands say of ResourceSlicePatches that do not count: their feature gate is off, or there is no such kind."""

from __future__ import annotations

import click

from drakit_api.features import PATCHES_GATE

NOT_INSTALLED = "the kind ResourceSlicePatch is not installed: drakit install patches installs it"


def tell_ignored(count: int) -> None:
    """Say on stderr how many patches are ignored, and how they would count; nothing if there are none."""
    if count:
        which = f"{count} ResourceSlicePatches are ignored; they count"
        if count == 1:
            which = "1 ResourceSlicePatch is ignored; it counts"
        click.echo(f"{which} with --feature-gates {PATCHES_GATE}=true", err=True)
