"""Which of Kubernetes' tests are run here: each suite is chosen by labels and has a list of what fails of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.upstream import expectations
from e2e.upstream.expectations import Known

_LISTS = Path(__file__).parent


@dataclass(frozen=True)
class Suite:
    """The tests that have all of some ``labels``; ``list`` is the file with those that are known to fail."""

    labels: frozenset[str]
    list: Path


SUITES: Mapping[str, Suite] = {
    # The API conformance tests of resource.k8s.io are among them.
    "dra": Suite(frozenset({"DRA"}), _LISTS / "expected.yaml"),
    "api-machinery": Suite(frozenset({"sig-api-machinery", "Conformance"}), _LISTS / "expected-api-machinery.yaml"),
}


def known_failures(names: list[str], columns: list[str], column: str) -> dict[str, Known]:
    """Read what is known of the tests of some suites with one combination of components."""
    found: dict[str, Known] = {}
    for name in names:
        found |= expectations.read(SUITES[name].list, columns)[column]
    return found
