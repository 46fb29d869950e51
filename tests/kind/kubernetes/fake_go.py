"""A ``go`` that builds small scripts instead of programs, and modules that are as small as can be."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drakit_kind.kubernetes.releases import Release

_FAKE_GO = """\
#!{python}
import json, os, pathlib, signal, sys, time
state = pathlib.Path({state!r})
arguments = sys.argv[1:]
if arguments == ["env", "GOVERSION"]:
    print((state / "version").read_text())
    sys.exit()
behaviour = json.loads((state / "behaviour").read_text())
if arguments[0] == "mod" and behaviour["mod"] == "fail":
    print("no such version")
    sys.exit(1)
variables = ("GOFLAGS", "GOTOOLCHAIN", "GOWORK", "GOOS", "GOARCH", "CGO_ENABLED", "GOTMPDIR", "GOPROXY", "GO111MODULE",
             "GOAMD64", "GOARM64", "GOFIPS140", "GOEXPERIMENT")
call = {{"arguments": arguments, "directory": os.getcwd(), "pid": os.getpid(), "group": os.getpgrp(),
         "environment": {{name: os.environ[name] for name in variables if name in os.environ}}}}
with (state / "calls").open("a") as file:
    file.write(json.dumps(call) + "\\n")
output = pathlib.Path(arguments[arguments.index("-o") + 1])
output.write_text("half")
print("go: downloading example.com/module v1.2.3", file=sys.stderr, flush=True)
does = behaviour.get(output.name, "build")
if does == "fail":
    print("cmd/x/main.go:3:1: this does not compile", file=sys.stderr)
    sys.exit(1)
if does == "hang":
    if os.fork() == 0:  # a compiler
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        (state / "compiler").write_text(str(os.getpid()))
        (state / "hangs").touch()
        time.sleep(600)
    while True:
        time.sleep(1)
if does == "wait":
    (state / "waits").touch()
    while not (state / "go-on").exists():
        time.sleep(0.01)
output.write_text("#!/bin/sh\\necho Kubernetes v1.37.1\\n")
output.chmod(0o755)
"""

GO_MOD = """\
module drakit.invalid/kubernetes

go 1.26.6

tool (
\tgithub.com/containernetworking/plugins/plugins/main/bridge
)
"""


@dataclass(frozen=True)
class FakeGo:
    """What the ``go`` in PATH does and was asked to do."""

    state: Path

    @classmethod
    def make(cls, state: Path) -> FakeGo:
        """Write the command; ``bin`` below ``state`` is to be in PATH."""
        executable = state / "bin" / "go"
        executable.parent.mkdir(parents=True)
        executable.write_text(_FAKE_GO.format(python=sys.executable, state=str(state)))
        executable.chmod(0o755)
        fake = cls(state)
        fake.version("go1.26.8")
        fake.behave()
        return fake

    def version(self, version: str) -> None:
        """What it says its version is."""
        (self.state / "version").write_text(version)

    def behave(self, **behaviour: str) -> None:
        """For a binary or ``mod``: ``fail``, ``hang`` (a compiler ignores SIGINT), or ``wait`` until ``go_on``."""
        (self.state / "behaviour").write_text(json.dumps(behaviour))

    def go_on(self) -> None:
        """End ``wait``."""
        (self.state / "go-on").touch()

    @property
    def calls(self) -> list[dict[str, Any]]:
        """All builds so far."""
        path = self.state / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def built(self) -> list[str]:
        """The names of what was built or tried, in order."""
        return [Path(call["arguments"][call["arguments"].index("-o") + 1]).name for call in self.calls]


def write_module(modules: Path, version: str, names: list[str], go_mod: str = GO_MOD) -> Release:
    """A pinned module as small as can be."""
    directory = modules / version
    for name in names:
        (directory / "cmd" / name).mkdir(parents=True)
        (directory / "cmd" / name / "main.go").write_text(f"package main // {name}\n")
    (directory / "go.mod").write_text(go_mod)
    (directory / "go.sum").write_text("")
    return Release(version, directory)
