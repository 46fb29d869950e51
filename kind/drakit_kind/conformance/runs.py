"""One run of the suite for one configuration: which pytest is started, and what it left."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from drakit_kind.cluster import COMPONENTS, KUBERNETES_VERSION
from drakit_kind.clusters.backends import Backend, real_components
from drakit_kind.conformance.pytest_options import any_driver_only
from drakit_kind.conformance.records import CHOSEN, NAMES, RECORDS, STOPPED, Record, read
from drakit_kind.interrupts import held_back
from drakit_kind.testing.features_off import NEEDED

_HERE = Path(__file__).parent
# Exit statuses of pytest: all passed, some failed, none was chosen. Anything else is a run that could not be done, but
# for one that stops at its first failure.
_DONE = (0, 1, 5)
_FAILED, _STOPPED = 1, 2
# All that the suite is run with: what else there is in the user's environment may change the order, or repeat tests.
_PLUGINS = ("drakit_kind.pytest_plugin", "pytest_timeout", "xdist.plugin")
# A suite that a terminal or a CI system gives up shall still take its namespaces with it.
_TEARDOWN_SECONDS = 60.0
# The first story waits for the cluster, and that for its images to be in all nodes.
_KIND_STORY_SECONDS = 900

NO_STORY = "no story was run"
INTERRUPTED = "interrupted"


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What the suite is run on: a cluster to start, or that of a ``kubeconfig`` with a ``driver`` to judge.

    ``version`` is of the cluster to start, or what the other one behaves like; ``gates`` are as of pytest's
    ``--drakit-feature-gates``.
    ``matrix``: instead of the suite, the rows of its matrix, each of which says its own versions and gates.
    ``real`` and ``emulated`` are what pytest's ``--drakit-real`` and ``--drakit-emulated-version`` say.
    """

    backend: Backend = "embedded"
    version: str = KUBERNETES_VERSION
    gates: str = ""
    kubeconfig: Path | None = None
    driver: str | None = None
    matrix: bool = False
    real: str | None = None
    emulated: str | None = None

    @property
    def label(self) -> str:
        """As a column's head: ``binaries 1.36.3 DRADeviceTaints=false``."""
        if self.driver is not None:
            return f"driver {self.driver} on {self.version}"
        if self.matrix:
            return f"{self.backend}, gates and versions changed"
        gates = "with the gates that stories need" if self.gates == NEEDED else self.gates.replace(",", " ")
        version = self.version + (f" as {self.emulated}" if self.emulated else "")
        return f"{self.backend} {version} {gates}".strip()

    @property
    def place(self) -> str:
        """The cluster, or the driver that is judged in one."""
        return self.backend if self.driver is None else f"driver {self.driver}"

    @property
    def described_version(self) -> str:
        """The Kubernetes version of a run, as its column shows it."""
        if self.matrix:
            return "changed while pods run"
        return self.version + (f", emulating {self.emulated}" if self.emulated else "")

    @property
    def described_gates(self) -> str:
        """The gates of a run, as its column shows them; of somebody else's cluster they are not known."""
        if self.kubeconfig is not None:
            return "as the cluster has them"
        if self.matrix:
            return "changed while pods run"
        if self.gates == NEEDED:
            return "those that stories need, else the version's own"
        return self.gates.replace(",", ", ") or "the version's own"

    @property
    def at_once(self) -> int:
        """How many stories are told at a time where nobody says it."""
        if self.kubeconfig is not None:
            return 1  # They share one driver, and would take each other's devices.
        if self.matrix:
            return 2  # Each starts and restarts the components of a cluster of its own, which takes a core.
        cores = len(os.sched_getaffinity(0))
        if self.backend == "embedded":
            return cores + 1  # Each worker has a cluster of its own, and waits now and then.
        return 3 * cores  # They share one cluster, and wait most of the time for containers to start and to end.

    @property
    def components(self) -> str:
        """Which components are Kubernetes' and which drakit's (root has other ones); "" where we start none."""
        if self.kubeconfig is not None:
            return ""
        real = real_components(self.backend, self.real)
        parts = {
            "Kubernetes'": [each for each in COMPONENTS if each in real],
            "drakit's": [each for each in COMPONENTS if each not in real],
        }
        return "; ".join(f"{owner} {', '.join(names)}" for owner, names in parts.items() if names)

    def options(self) -> list[str]:
        """Return the pytest options that make this configuration."""
        if self.kubeconfig is not None:
            judged = ["--drakit-subject-driver", self.driver] if self.driver else []
            return ["--drakit-cluster-kubeconfig", str(self.kubeconfig), *judged]
        options = ["--drakit-cluster", self.backend]
        if self.backend == "kind":
            options += ["-o", f"timeout={_KIND_STORY_SECONDS}"]
        if self.real is not None:
            options += ["--drakit-real", self.real]
        if not self.matrix:
            options += ["--drakit-kubernetes-version", self.version, "--drakit-feature-gates", self.gates]
        return options


@dataclass(frozen=True)
class Run:
    """What one configuration showed.

    ``problem`` is why there is no judgement; ``junit`` is where pytest has written, if it came to that; ``seconds`` are
    by the clock.
    """

    configuration: Configuration
    records: list[Record]
    problem: str = ""
    junit: Path | None = None
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether there were stories, and none of them failed."""
        return not self.problem and bool(self.records) and all(each.outcome != "failed" for each in self.records)

    @property
    def counted(self) -> str:
        """As ``11 passed, 1 failed``."""
        outcomes = [record.outcome for record in self.records]
        return ", ".join(f"{outcomes.count(each)} {name}" for each, name in NAMES.items() if each in outcomes)


def suite() -> Path:
    """Return the directory of the stories: in the source tree, or in the installed package."""
    tree = _HERE.parents[2] / "e2e"
    return tree if tree.is_dir() else _HERE / "suite" / "e2e"


def run(configuration: Configuration, directory: Path, *, jobs: int | None = None, extra: Sequence[str] = ()) -> Run:
    """Run the suite, its progress on our own output; files of the run go to ``directory``.

    ``jobs`` stories at a time; None is what the configuration allows. A run that is interrupted is given time to take
    away what it made, and has the ``problem`` ``INTERRUPTED``.
    """
    directory = directory.absolute()  # pytest takes some paths as relative to the suite
    directory.mkdir(parents=True, exist_ok=True)
    record, junit = directory / RECORDS, directory / "junit.xml"
    stopped = directory / STOPPED
    for old in (record, junit, stopped, directory / CHOSEN):
        old.unlink(missing_ok=True)
    shutil.rmtree(directory / "logs", ignore_errors=True)
    plugins = (*_PLUGINS, "drakit_kind.conformance.recorder", "drakit_kind.conformance.workers")
    command = [*_pytest(configuration, directory, plugins), "--record", str(record)]
    command += ["--drakit-keep-logs", str(directory / "logs")]
    command += ["--junit-xml", str(junit), "-o", "junit_suite_name=" + configuration.label]
    command += [*_at_once(configuration, jobs), *configuration.options(), *extra]
    if configuration.kubeconfig is not None:
        command += any_driver_only(extra)
    began = time.monotonic()
    try:
        status = _ended(command)
    except KeyboardInterrupt:
        problem = INTERRUPTED
    else:
        problem = stopped.read_text() if stopped.exists() else _problem(status, read(record))
    why = problem or "the run ended before it"
    records = [replace(one, reason=why) if one.outcome == "unrun" else one for one in read(record)]
    return Run(configuration, records, problem, junit, time.monotonic() - began)


def told(configuration: Configuration, extra: Sequence[str]) -> list[str]:
    """List the stories that a run would include, by pytest's names; none if pytest refuses the options."""
    with tempfile.TemporaryDirectory() as directory:
        command = [*_pytest(configuration, Path(directory), _PLUGINS), *configuration.options(), *extra]
        command += ["--collect-only", "--verbosity=-1", "-n", "0"]
        listed = subprocess.run(command, capture_output=True, text=True, check=False, env=_environment())
    return [line for line in listed.stdout.splitlines() if "::" in line]


def _pytest(configuration: Configuration, directory: Path, plugins: Sequence[str]) -> list[str]:
    command = [sys.executable, "-m", "pytest", *_stories(configuration), "-o", f"cache_dir={directory / 'cache'}", "-q"]
    return command + [option for plugin in plugins for option in ("-p", plugin)]


def _stories(configuration: Configuration) -> list[str]:
    chosen = suite() / "matrix" if configuration.matrix else suite()
    # Imports work as in the source tree: `from e2e.ledger import ...`.
    path = ["-o", f"pythonpath={shlex.quote(str(suite().parent))}"]  # a list, which pytest splits as a shell does
    return [str(chosen), "-c", str(_HERE / "pytest.ini"), "--rootdir", str(suite()), *path]


def _at_once(configuration: Configuration, jobs: int | None) -> list[str]:
    chosen = jobs or configuration.at_once
    # If stories run one at a time, pytest's own process is enough.
    return ["-n", "0"] if chosen == 1 else ["-n", str(chosen), "--dist", "worksteal"]


def _problem(status: int, records: Sequence[Record]) -> str:
    failed = [record for record in records if record.outcome == "failed"]
    if status == _FAILED and not failed:
        # For example a module that cannot be imported in a worker, or a story that ended the process.
        return "pytest failed outside of any story; what it says stands above"
    if status not in _DONE and not (status == _STOPPED and failed):
        return f"pytest ended with status {status}; what it says stands above"
    if not records:
        return NO_STORY
    if all(record.outcome in ("skipped", "unrun") for record in records):
        return f"every story was left out, the first because: {records[0].reason}"
    if failed and all(record.no_cluster for record in failed):
        return f"the cluster did not start: {failed[0].no_cluster}"
    return ""


def _ended(command: Sequence[str]) -> int:
    """Run a command, and return its status. When we are interrupted so is it, with a minute to end in order."""
    # In a process group of its own: Ctrl-C in a terminal interrupts only this process, which interrupts pytest once.
    process = None
    with _interruptible():
        try:
            with held_back():
                process = subprocess.Popen(command, process_group=0, env=_environment())
            return process.wait()
        except KeyboardInterrupt:
            if process is not None:
                _end(process)
            raise


def _environment() -> dict[str, str]:
    """Return ours without what the user's own tests are run with, nor modules of the directory that the user is in."""
    from drakit_kind.testing.settings.options import BY_NAME

    settings = {option.variable for name, option in BY_NAME.items() if name != "kubernetes-dir"}
    theirs = {"PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_TIMEOUT", *settings}
    kept = {name: value for name, value in os.environ.items() if name not in theirs}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONSAFEPATH": "1"}


def _end(process: subprocess.Popen[bytes]) -> None:
    print("interrupted: the suite takes away what it made; once more ends it at once", file=sys.stderr, flush=True)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)  # its workers too, as a terminal does
    try:
        with _raising():  # what comes after the first signal does nothing by itself
            process.wait(_TEARDOWN_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """SIGINT interrupts us and what we start: a script's background job ignores it, and so would its children."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    with _raising() if ignored else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def _raising() -> Iterator[None]:
    """Let SIGINT raise, whatever it does otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
