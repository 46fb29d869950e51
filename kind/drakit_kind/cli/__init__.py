"""The ``drakit`` command, and its groups ``cluster`` and ``kubernetes``; other groups stand with what they command."""

from drakit_kind.cli.drakit_command import main

__all__ = ["main"]
