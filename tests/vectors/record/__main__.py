"""Asks Kubernetes' own components all that is recorded of them, and records what they answer: see ``--help``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable

import aiohttp
import click

from drakit_kind.cluster import KUBERNETES_VERSION, ClusterError, Component
from drakit_kind.clusters.flags import PROGRAMS
from drakit_kind.kubernetes.assets import find_assets
from tests.vectors.record import go_answers
from tests.vectors.record.go_modules import release_of
from tests.vectors.record.outcome import Outcome, of_both
from tests.vectors.record.parts import PARTS, Part
from tests.vectors.recordings import keep, line, path_of, recorded

_COMPONENTS: tuple[Component, ...] = ("apiserver", "controllers")
_LIBRARIES = {"allocator", "cel", "quantities", "texts"}

_version = click.option(
    "--version", default=KUBERNETES_VERSION, show_default=True, metavar="V", help="The Kubernetes version to ask."
)
_files = click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Choice([part.file for part in PARTS]))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Recorded answers of Kubernetes' own components.

    Tests replay the files below tests/vectors against drakit. These commands ask Kubernetes itself: kube-apiserver with
    etcd, a cluster of API server and controllers, and the libraries of allocator, CEL, quantities and texts as programs
    in Go. README.md in tests/vectors says what each FILE holds, e.g. api/create; without one, all are asked, which
    takes about ten minutes on two cores. What is answered otherwise is asked once more, and told if it is so again.

    For the next Kubernetes version, e.g. 1.38.0:

    \b
      python -m drakit_kind.kubernetes.pin 1.38.0              # once: its Go modules
      drakit kubernetes build 1.38.0                           # once: its programs
      python -m tests.vectors.record check --version 1.38.0    # what is answered otherwise?
      python -m tests.vectors.record again --version 1.38.0    # record it, and see what `make test` says

    New questions to a server: `python -m tests.vectors.record.apiserver --help`.
    """


@main.command()
@_version
@_files
def check(version: str, files: tuple[str, ...]) -> None:
    """Ask all that is recorded, and print the names of what is answered otherwise; exit status 1 if anything is."""
    sys.exit(1 if sum([_told(part, outcome) for part, outcome in _asked(version, files)]) else 0)


@main.command()
@_version
@_files
def again(version: str, files: tuple[str, ...]) -> None:
    """Ask all that is recorded, and record what is answered now.

    A line of which the answer says the same stays as it is. A file with a question that cannot be asked any more is
    left as it was, and the names of these are printed; the exit status is then 1.
    """
    sys.exit(1 if sum([_recorded(part, outcome) for part, outcome in _asked(version, files)]) else 0)


@main.command()
@_version
@click.argument("library", type=click.Choice(sorted(_LIBRARIES)))
def ask(version: str, library: str) -> None:
    """Read questions to a library from standard input, a line of JSON each, and print them with their answers.

    What a question looks like is told at the top of main.go of the library's recorder.
    """
    questions = [json.loads(text) for text in sys.stdin]
    try:
        found = go_answers.answers(go_answers.Recorder(library), questions, version)
    except ClusterError as error:
        raise click.ClickException(str(error)) from error
    for question, answer in zip(questions, found, strict=True):
        print(line({**question, "answer": answer}), end="")


def _asked(version: str, files: Iterable[str]) -> Iterable[tuple[Part, Outcome | None]]:
    """Each file and what came of it; None is one that could not be asked, which is told.

    A file of which anything is answered otherwise is asked a second time, which shows what was by chance.
    """
    wanted = [part for part in PARTS if part.file in files or not files]
    _refuse_unready(version, wanted)
    for part in wanted:
        print(f"{part.file} ...", end=" ", flush=True)
        began = time.monotonic()
        try:
            outcome = part.ask(version)
            if outcome.different:
                print(f"{len(outcome.different)} otherwise, once more ...", end=" ", flush=True)
                outcome = of_both(outcome, part.ask(version), recorded(part.file))
        except (ClusterError, aiohttp.ClientError, OSError, LookupError, ValueError) as error:
            print(f"Kubernetes {version} cannot be asked: {type(error).__name__}: {error}", flush=True)
            yield part, None
        else:
            total = len(outcome.vectors) + len(outcome.refused)
            print(f"{len(outcome.different) + len(outcome.refused)} of {total} otherwise", end=", ")
            print(f"{time.monotonic() - began:.0f} s", flush=True)
            yield part, outcome


def _told(part: Part, outcome: Outcome | None) -> bool:
    """Print what is answered otherwise; whether anything is."""
    if outcome is None:
        return True
    for name in outcome.different:
        print(f"  otherwise: {name!r}")
    for name in outcome.refused:
        print(f"  cannot be asked any more: {name!r}")
    return bool(outcome.different or outcome.refused)


def _recorded(part: Part, outcome: Outcome | None) -> bool:
    """Write the file if anything is answered otherwise; whether that was not possible."""
    changed = _told(part, outcome)
    if outcome is None or outcome.refused:
        print(f"  {part.file} stays as it was")
        return True
    if changed:
        keep(part.file, outcome.vectors)
        print(f"  written to {path_of(part.file)}")
    return False


def _refuse_unready(version: str, wanted: Iterable[Part]) -> None:
    """Say what is missing before anything is asked."""
    served = {part.served for part in wanted}
    try:
        if False in served:
            release_of(version)
        for program in (each for component in _COMPONENTS for each in PROGRAMS[component] if True in served):
            find_assets(version).path(program)
    except ClusterError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
