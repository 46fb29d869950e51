"""``-f``: the manifests that a command reads, any number of them, and how it ends if they cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


class UnusableFiles(click.ClickException):
    """What is in the files cannot be used; nothing was done with it."""

    exit_code = 2


def files_option(help_text: str) -> Callable[[_F], _F]:
    """Declare ``-f FILE``, given as ``files`` to the command."""
    return click.option("-f", "--filename", "files", multiple=True, metavar="FILE", help=help_text)
