"""Which tests there are, as Ginkgo lists them in a dry run."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drakit_kind.cluster import ClusterError

_SERIAL, _SLOW = "Serial", "Slow"
# The label of tests of what is off in a cluster with default gates.
_OFF_BY_DEFAULT = "Feature:OffByDefault"


@dataclass(frozen=True)
class Spec:
    """One test: ``name`` is all that Ginkgo prints of it, ``labels`` as in ``FeatureGate:DRADeviceTaints``."""

    name: str
    labels: frozenset[str]

    @property
    def is_serial(self) -> bool:
        """Whether no other test may run in its cluster."""
        return _SERIAL in self.labels

    @property
    def is_slow(self) -> bool:
        """Whether it says itself that it takes long."""
        return _SLOW in self.labels

    @property
    def needs_gates(self) -> bool:
        """Whether it tests what is off by default."""
        return _OFF_BY_DEFAULT in self.labels


def specs_with(program: Path, labels: Iterable[frozenset[str]]) -> list[Spec]:
    """All tests that have all labels of one of ``labels``, by name."""
    wanted = list(labels)
    return [spec for spec in _all_specs(program) if any(each <= spec.labels for each in wanted)]


def _all_specs(program: Path) -> list[Spec]:
    with tempfile.TemporaryDirectory(prefix="drakit-") as directory:
        report = Path(directory) / "specs.json"
        command = [str(program), "--ginkgo.dry-run", f"--ginkgo.json-report={report}", "--kubeconfig=/dev/null"]
        listed = subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory)
        if listed.returncode:
            raise ClusterError(f"{program} cannot list its tests:\n{listed.stderr[-2000:] or listed.stdout[-2000:]}")
        found = [_spec(item) for item in leaves(report)]
    return sorted(found, key=lambda spec: spec.name)


def leaves(report: Path) -> list[Mapping[str, Any]]:
    """What a JSON report of Ginkgo says of each test, without what is around tests."""
    (suite,) = json.loads(report.read_text())
    return [item for item in suite["SpecReports"] or () if item["LeafNodeType"] == "It"]


def _spec(item: Mapping[str, Any]) -> Spec:
    labels = [item["LeafNodeLabels"], *(item["ContainerHierarchyLabels"] or ())]
    name = " ".join([*(item["ContainerHierarchyTexts"] or ()), item["LeafNodeText"]])
    return Spec(name, frozenset(label for group in labels for label in group or ()))
