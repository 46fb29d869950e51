"""What the user's options of pytest say, where this command has to know it too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def last_of(options: Sequence[str], name: str) -> str | None:
    """What they say last about one of them, as ``--name value`` or ``--name=value``; None if nothing."""
    given = [
        option.partition("=")[2] if "=" in option else following
        for option, following in pairwise([*options, ""])
        if option.partition("=")[0] == name
    ]
    return given[-1] if given else None
