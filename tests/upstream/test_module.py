"""The Go module of Kubernetes' tests, beside that of its components."""

from __future__ import annotations

import re
from pathlib import Path

from drakit_kind.cluster import KUBERNETES_VERSION
from drakit_kind.kubernetes.releases import pinned_release

MODULE = Path(__file__).parents[2] / "e2e" / "upstream" / "module"


def versions(go_mod: Path) -> dict[str, str]:
    """Required modules and their versions."""
    return dict(re.findall(r"^\t(\S+) (v\S+)", go_mod.read_text(), re.MULTILINE))


def test_what_tests_and_components_have_in_common_is_compiled_once() -> None:
    tests = versions(MODULE / "go.mod")
    components = versions(pinned_release(KUBERNETES_VERSION).directory / "go.mod")
    assert tests["k8s.io/kubernetes"] == f"v{KUBERNETES_VERSION}"
    common = tests.keys() & components.keys()
    assert len(common) > 100
    assert {path: tests[path] for path in common} == {path: components[path] for path in common}
