"""``python -m bench [NAMES...]``: run benchmarks one after the other, since two at a time would measure each other."""

from __future__ import annotations

import importlib
import itertools
import os
import platform
import signal
import sys
import weakref
from types import FrameType
from typing import Protocol, cast

import click
from rich.console import Console

from bench.report import Interrupted, Progress, Report, Step

_NAMES = (
    "startup",
    "latency",
    "apiserver",
    "extensions",
    "footprint",
    "cycles",
    "scheduler",
    "workloads",
    "adversarial",
    "memory",
    "patches",
    "cel",
)
_GROUPS = {
    "api": ("apiserver", "extensions", "footprint", "cycles"),
    "allocator": ("workloads", "adversarial", "memory", "patches", "cel"),
}
_WIDTH = 120  # of tables that go to a file or pipe
# From here on, somebody else's work is on the cores as much as ours.
_HIGH_LOAD = 0.5


class _Benchmark(Protocol):
    """What each module of a name above has."""

    __doc__: str

    def run(self, step: Step, *, quick: bool = False) -> Report: ...


class _Interruption:
    """Handles SIGINT as Python does, but where that would be lost: then it is heard at the next step.

    Python drops what is raised in the callback of a weak reference, which the allocator's tables have thousands of.
    """

    def __init__(self) -> None:
        self._is_told = False

    def __call__(self, _: int, frame: FrameType | None) -> None:
        self._is_told = True
        if frame is None or frame.f_code.co_filename != weakref.__file__:
            raise KeyboardInterrupt

    def heard_before(self, step: Step) -> Step:
        """The same step, but none after Ctrl-C."""

        def heard(what: str) -> None:
            if self._is_told:
                raise KeyboardInterrupt
            step(what)

        return heard


def _benchmark(name: str) -> _Benchmark:
    """Imported when it is wanted: together they need half of drakit."""
    return cast("_Benchmark", importlib.import_module(f"bench.{name}"))


def _print_list(console: Console) -> None:
    for name in _NAMES:
        summary = _benchmark(name).__doc__.partition("\n")[0]
        console.print(f"{name:11} {summary}", highlight=False, markup=False, soft_wrap=True)
    for name, members in _GROUPS.items():
        console.print(f"{name:11} All of these: {', '.join(members)}.", highlight=False, markup=False, soft_wrap=True)


def _print_machine(console: Console) -> None:
    load, cores = os.getloadavg(), os.cpu_count() or 1
    averages = " ".join(f"{value:.2f}" for value in load)
    console.print(f"machine: {cores} cores, Python {platform.python_version()}, load average {averages}")
    if load[0] > _HIGH_LOAD * cores:
        console.print("The machine is busy with other work: these figures are only indicative.", style="yellow")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAMES]...", type=click.Choice([*_NAMES, *_GROUPS]))
@click.option("--list", "listing", is_flag=True, help="Name the benchmarks and stop.")
@click.option("--quick", is_flag=True, help="The smallest settings: to see that everything works, not how fast.")
def main(names: tuple[str, ...], listing: bool, quick: bool) -> None:
    """Run the named benchmarks, or all of them, and print a table of each.

    \b
    python -m bench
    python -m bench apiserver scheduler
    python -m bench allocator

    Ctrl-C ends it; what was measured until then is printed.
    """
    # SIGTERM, too, stops what was started; and Ctrl-C also where a shell that started this in the background had it
    # ignored.
    interruption = _Interruption()
    signal.signal(signal.SIGINT, interruption)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    tables, progress = Console(width=None if sys.stdout.isatty() else _WIDTH), Console(stderr=True)
    if listing:
        _print_list(tables)
        return
    wrong = False
    for name in _chosen(names):
        _print_machine(tables)
        try:
            with Progress(progress, name) as shown:
                report = _benchmark(name).run(interruption.heard_before(shown.step), quick=quick)
        except Interrupted as interrupted:
            interrupted.report.print(tables)
            raise
        report.print(tables)
        wrong = wrong or bool(report.errors)
    sys.exit(1 if wrong else 0)


def _chosen(names: tuple[str, ...]) -> list[str]:
    """Each benchmark once, in the order in which they are named first."""
    members = (_GROUPS.get(name, (name,)) for name in names or _NAMES)
    return list(dict.fromkeys(itertools.chain.from_iterable(members)))


if __name__ == "__main__":
    main(prog_name="python -m bench")
