"""One run of the suite for one configuration: which pytest is started, and what it left."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from drakit_kind.cluster import KUBERNETES_VERSION
from drakit_kind.conformance.records import Record, read

_HERE = Path(__file__).parent
# Exit statuses of pytest: all passed, some failed, none was chosen. Anything else is a run that could not be done.
_DONE = (0, 1, 5)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What the suite is run on: a cluster to start, or that of a ``kubeconfig`` with a ``driver`` to judge.

    ``version`` is of the cluster to start, or what the other one behaves like.
    """

    backend: str = "embedded"
    version: str = KUBERNETES_VERSION
    gates: Mapping[str, bool] = field(default_factory=dict)
    kubeconfig: Path | None = None
    driver: str | None = None

    @property
    def label(self) -> str:
        """As a column's head: ``binaries 1.36.3 DRADeviceTaints=false``."""
        if self.driver is not None:
            return f"driver {self.driver} on {self.version}"
        return " ".join([self.backend, self.version, *self._gate_texts()])

    def options(self) -> list[str]:
        """Options of pytest."""
        if self.kubeconfig is not None:
            judged = ["--subject-driver", self.driver] if self.driver else []
            return ["-m", "any_driver", "--cluster-kubeconfig", str(self.kubeconfig), *judged]
        options = ["--cluster", self.backend, "--kubernetes-version", self.version]
        options += ["--feature-gates", ",".join(self._gate_texts())] if self.gates else []
        return options

    def _gate_texts(self) -> list[str]:
        return [f"{name}={str(on).lower()}" for name, on in self.gates.items()]


@dataclass(frozen=True)
class Run:
    """What one configuration showed; ``problem`` is why there is no judgement."""

    configuration: Configuration
    records: list[Record]
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether there were stories, and none of them failed."""
        return not self.problem and bool(self.records) and all(each.outcome != "failed" for each in self.records)


def suite() -> Path:
    """The directory of the stories: beside the source tree, or what travels with an installed drakit."""
    tree = _HERE.parents[2] / "e2e"
    return tree if tree.is_dir() else _HERE / "suite" / "e2e"


def run(configuration: Configuration, directory: Path, *, jobs: str, extra: Sequence[str] = ()) -> Run:
    """Run the suite, its progress on our own output; files of the run go to ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    record = directory / "records.jsonl"
    record.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", str(suite()), "-c", str(_HERE / "pytest.ini"), "--rootdir", str(suite())]
    command += ["-o", f"pythonpath={suite().parent}", "-o", f"cache_dir={directory / 'cache'}", "-q"]
    command += ["-p", "drakit_kind.conformance.recorder", "--record", str(record)]
    command += ["--junit-xml", str(directory / "junit.xml"), "-o", "junit_suite_name=" + configuration.label]
    command += ["-n", jobs, "--dist", "loadgroup", *configuration.options(), *extra]
    status = subprocess.run(command, check=False).returncode
    records = read(record)
    if status not in _DONE:
        return Run(configuration, records, f"pytest ended with status {status}; what it says stands above")
    return Run(configuration, records, "" if records else "no story was run")
