"""Options without their prefix, ``--cluster`` for ``--drakit-cluster``, where the name is nobody else's.

A plugin is loaded before any conftest.py, and pytest ends where two have an option of one name. So short names are
never registered: once plugins and conftest.py files have said which options they have, short names on the command line
that are nobody's are written out, in the hook where pytest lets plugins change the command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from drakit_kind.testing.settings.options import OPTIONS

_LONG = {option.short: option.long for option in OPTIONS}
_NOBODYS = object()


def written_out(arguments: Sequence[str], names: Iterable[str] = tuple(_LONG)) -> list[str]:
    """Return pytest's arguments with these short names, by default all of them, in their long form."""
    wanted = set(names)
    written: list[str] = []
    for place, argument in enumerate(arguments):
        if argument == "--":
            return [*written, *arguments[place:]]
        name, equals, value = argument.partition("=")
        written.append(f"{_LONG[name]}{equals}{value}" if name in wanted else argument)
    return written


def nobodys(config: pytest.Config) -> list[str]:
    """List the short names that are an option of no other plugin and no loaded conftest.py."""
    return [name for name in _LONG if config.getoption(name, _NOBODYS) is _NOBODYS]


def forget_values(config: pytest.Config, arguments: Sequence[str]) -> None:
    """Take what follows a short name out of the paths whose conftest.py files pytest is about to load.

    An option that pytest does not know yet seems to have no value, so that follows as a path, in place of the project's
    ``testpaths``. What exists may be meant as a path: the option can turn out to be a flag of somebody else's.
    """
    paths: list[str] = config.known_args_namespace.file_or_dir
    for value in _values(arguments, nobodys(config)):
        if value in paths and not Path(config.invocation_params.dir, value).exists():
            paths.remove(value)


def _values(arguments: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    for argument, following in pairwise(arguments):
        if argument == "--":
            return
        if argument in names and not following.startswith("-"):
            yield following
