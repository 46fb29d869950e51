"""Running tests: a process for each, so that each has a log of its own and none can spoil another.

A test mostly waits: for 30 seconds a kubelet keeps the slices of a driver that has gone. So more of them run at a time
than there are processors.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.processes.process import tied
from e2e.upstream.clusters import Clusters
from e2e.upstream.specs import Spec, leaves

State = Literal["passed", "failed", "skipped"]
_MINUTES = 10  # for one test; of those that do not call themselves slow the slowest takes two
# One waits until a page of a list has expired, which takes up to ten minutes.
_MINUTES_OF_SLOW = 15
# For one that is expected to fail: most of those wait five minutes for a pod, and would pass in one.
_MINUTES_OF_FAILURES = 3
_FILE_LETTERS = 150
_KILL_SECONDS = 60.0  # after those, for its clean-up


@dataclass(frozen=True)
class Outcome:
    """What became of a test; ``message`` is why it failed or was skipped."""

    spec: Spec
    state: State
    seconds: float
    message: str
    log: Path


@dataclass(frozen=True)
class Runner:
    """Runs tests; ``fail`` are names of those that are expected to."""

    program: Path
    clusters: Clusters
    logs: Path
    fail: Collection[str]

    async def run(self, specs: Sequence[Spec], *, jobs: int, told: Callable[[Outcome], None]) -> list[Outcome]:
        """Run tests, ``jobs`` at a time, first those that will take longest; ``told`` of each."""
        self.logs.mkdir(parents=True, exist_ok=True)
        free = asyncio.Semaphore(jobs)

        async def one(spec: Spec) -> Outcome:
            async with free:
                try:
                    async with self._cluster(spec, shared) as home:
                        outcome = await self._run_one(spec, home)
                except ClusterError as error:
                    outcome = Outcome(spec, "failed", 0.0, str(error), self.logs)
            told(outcome)
            return outcome

        async with AsyncExitStack() as stack:
            shared = {
                needs_gates: await stack.enter_async_context(
                    self.clusters.running("gates" if needs_gates else "default", with_gates=needs_gates)
                )
                for needs_gates in {spec.needs_gates for spec in specs if not spec.is_serial}
            }
            async with asyncio.TaskGroup() as group:
                ordered = sorted(specs, key=lambda spec: not spec.is_slow and spec.name not in self.fail)
                tasks = [group.create_task(one(spec)) for spec in ordered]
        return [task.result() for task in tasks]

    def _cluster(self, spec: Spec, shared: Mapping[bool, ClusterHome]) -> AbstractAsyncContextManager[ClusterHome]:
        if spec.is_serial:
            return self.clusters.running(file_name(spec.name), with_gates=spec.needs_gates)
        return nullcontext(shared[spec.needs_gates])

    async def _run_one(self, spec: Spec, home: ClusterHome) -> Outcome:
        name = file_name(spec.name)
        log, report = self.logs / f"{name}.log", self.logs / f"{name}.json"
        minutes = self._minutes(spec)
        began = time.monotonic()
        await _ended(self._command(spec, home, report, minutes), log, minutes * 60 + _KILL_SECONDS)
        state, message = _result(report, log)
        return Outcome(spec, state, time.monotonic() - began, message, log)

    def _minutes(self, spec: Spec) -> int:
        if spec.name in self.fail:
            return _MINUTES_OF_FAILURES
        return _MINUTES_OF_SLOW if spec.is_slow else _MINUTES

    def _command(self, spec: Spec, home: ClusterHome, report: Path, minutes: int) -> list[str]:
        return [
            str(self.program),
            f"--kubeconfig={home.kubeconfig}",
            *self._of_clusters(home),
            "--provider=skeleton",  # no cloud
            "--allowed-not-ready-nodes=-1",  # no system pods either
            f"--ginkgo.focus={re.escape(spec.name)}$",
            f"--ginkgo.timeout={minutes}m",
            f"--ginkgo.json-report={report}",
            "--ginkgo.v",
            "--ginkgo.no-color",
        ]

    def _of_clusters(self, home: ClusterHome) -> Iterator[str]:
        """What these clusters need of the program."""
        if "apiserver" not in self.clusters.real:
            yield "--kube-api-content-type=application/json"  # drakit's answers lists and watches in nothing else
        if "kubelet" not in self.clusters.real:
            yield f"--node-directories={home.nodes}"  # no containers: it does what they would


async def _ended(command: Sequence[str], log: Path, seconds: float) -> None:
    """Run a command, its output to ``log``, and wait until it has ended; after some seconds it is killed."""
    with log.open("wb") as output, tempfile.TemporaryDirectory(prefix="drakit-") as scratch:
        process = await asyncio.create_subprocess_exec(
            *tied(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, "TMPDIR": scratch},  # the tests leave files there
        )
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), seconds)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


def file_name(name: str) -> str:
    """A name of a test as that of a file: letters, digits and dashes; of a long one the last words, which differ."""
    words = re.findall(r"[A-Za-z0-9]+", name)
    while len("-".join(words)) > _FILE_LETTERS and len(words) > 1:
        del words[0]
    return "-".join(words)[-_FILE_LETTERS:]


def _result(report: Path, log: Path) -> tuple[State, str]:
    """What the report says of the one test that ran; of one that did not come so far, what its log ends with."""
    ran = _ran(report)
    if len(ran) != 1:
        return "failed", f"it ended before its test did: {_last_line(log)}"
    message = " ".join((ran[0].get("Failure") or {}).get("Message", "").split())
    match ran[0]["State"]:
        case "passed":
            return "passed", ""
        case "skipped":
            return "skipped", message
        case "timedout" | "interrupted":
            return "failed", f"it was still running when its time was over: {message}"
    return "failed", message


def _ran(report: Path) -> list[Mapping[str, Any]]:
    """The tests that the report tells of and that were not left out by their names."""
    if not report.exists() or report.stat().st_size == 0:
        return []
    return [item for item in leaves(report) if item["State"] != "skipped" or "Failure" in item]


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")
