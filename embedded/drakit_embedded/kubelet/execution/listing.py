"""What ``ls`` prints, in the form of busybox."""

from __future__ import annotations

import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from drakit_embedded.kubelet.execution.entries import Entry
from drakit_embedded.kubelet.execution.view import View

_OPTIONS = frozenset("1laAd")
# An entry that is older, or younger than now, is shown with its year.
_RECENT_SECONDS = 183 * 24 * 3600


@dataclass(slots=True)
class Listing:
    """Lines for standard output and error."""

    output: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def code(self) -> int:
        """1 if anything could not be listed."""
        return 1 if self.errors else 0


class UnknownOptionError(ValueError):
    """An option of which nothing is known here; the message is the option."""


def listing(view: View, arguments: Sequence[str]) -> Listing:
    """List files and directories.

    Raises:
        UnknownOptionError: for any option but ``-1``, ``-l``, ``-a``, ``-A`` and ``-d``.
    """
    options, paths = _parsed(arguments)
    found = Listing()
    files: dict[str, Entry] = {}
    directories: list[str] = []
    for path in sorted(paths) or ["."]:
        try:
            entry = view.entry(path, follow="l" not in options)
        except OSError as error:
            found.errors.append(_refusal(path, error))
            continue
        if entry.is_directory and "d" not in options:
            directories.append(path)
        else:
            files[path] = entry
    found.output += _lines(files, options)
    for path in directories:
        _list(view, path, options, found, titled=len(paths) > 1)
    return found


def _parsed(arguments: Sequence[str]) -> tuple[set[str], list[str]]:
    options: set[str] = set()
    paths: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            paths += rest
        elif argument.startswith("-") and len(argument) > 1:
            options |= set(argument[1:])
            if set(argument[1:]) - _OPTIONS:
                raise UnknownOptionError(argument)
        else:
            paths.append(argument)
    return options, paths


def _list(view: View, path: str, options: set[str], found: Listing, *, titled: bool) -> None:
    try:
        entries = view.listing(path)
    except OSError as error:
        found.errors.append(_refusal(path, error))
        return
    if titled:
        found.output += ["", f"{path}:"] if found.output else [f"{path}:"]
    if not options & {"a", "A"}:
        entries = {name: entry for name, entry in entries.items() if not name.startswith(".")}
    if "a" in options:
        entries = {".": view.entry(path), "..": view.entry(f"{path}/.."), **entries}
    if "l" in options:
        found.output.append(f"total {sum(-(-entry.size // 1024) for entry in entries.values())}")
    found.output += _lines(entries, options)


def _lines(entries: dict[str, Entry], options: set[str]) -> list[str]:
    return [_line(name, entry) for name, entry in entries.items()] if "l" in options else list(entries)


def _line(name: str, entry: Entry) -> str:
    age = time.time() - entry.modified
    form = "%b %e %H:%M" if 0 <= age < _RECENT_SECONDS else "%b %e  %Y"
    when = time.strftime(form, time.gmtime(entry.modified))
    leads = f" -> {entry.target}" if entry.is_link else ""
    return f"{stat.filemode(entry.mode)} {entry.links:>4} root     root     {entry.size:>9} {when} {name}{leads}"


def _refusal(path: str, error: OSError) -> str:
    return f"ls: {path}: {error.strerror}"
