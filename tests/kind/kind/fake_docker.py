"""A docker command that is a script of the test."""

from __future__ import annotations

from pathlib import Path


class FakeDocker:
    """A ``docker`` in PATH that answers with a script and remembers what it was asked."""

    def __init__(self, directory: Path) -> None:
        self._program = directory / "docker"
        self._calls = directory / "calls"
        self._calls.touch()

    def answers(self, script: str) -> None:
        """What the next calls do: the body of a shell script, whose arguments are docker's."""
        scratch = self._program.with_suffix(".new")
        scratch.write_text(f'#!/bin/sh\necho "$*" >>{self._calls}\n{script}\n')
        scratch.chmod(0o755)
        scratch.replace(self._program)

    @property
    def calls(self) -> list[str]:
        """The arguments of each call so far."""
        return self._calls.read_text().splitlines()
