"""A group of commands that are imported when they are used.

Importing all of drakit's commands takes longer than starting a cluster does, so help, completion and suggestions work
without them: the line that stands beside a command in the help is in the table, too.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from drakit_client.processes.ending_signals import ended_at_once_by_ctrl_c


class Elsewhere(NamedTuple):
    """A command that is not imported yet: its module, its name there, and its line in the help of the group."""

    module: str
    attribute: str
    help: str


class LazyGroup(click.Group):
    """``elsewhere`` are commands by name, beside those that are added in the usual way, which come first."""

    def __init__(self, *arguments: Any, elsewhere: Mapping[str, Elsewhere], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._elsewhere = dict(elsewhere)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, in the order of the tables."""
        return [*super().list_commands(ctx), *self._elsewhere]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command, if there is one of this name."""
        if cmd_name not in self._elsewhere:
            return super().get_command(ctx, cmd_name)
        module, attribute, _ = self._elsewhere[cmd_name]
        with ended_at_once_by_ctrl_c():
            command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest names for a mistyped one; click knows only those that are imported."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their lines."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self._lines().items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands from the table; options as every command."""
        lines = self._lines()
        names = [CompletionItem(name, help=line) for name, line in lines.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def _lines(self) -> dict[str, str]:
        own = {name: command.get_short_help_str(100) for name, command in self.commands.items()}
        return own | {name: each.help for name, each in self._elsewhere.items()}
