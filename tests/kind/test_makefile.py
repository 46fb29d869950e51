"""``make``: what a variable says that no cluster of the target reads is refused before anything is done."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from itertools import product
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).parents[2]
# What the make that runs these tests, or its user, says to others.
_THEIRS = {
    "MAKEFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "CLUSTER",
    "KIND_IMAGE",
    "VERSION",
    "GATES",
    "ARGS",
    "DRAKIT_KUBERNETES_DIR",
}
_REAL = ("binaries", "kind")


def _make(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What it would do."""
    environment = {name: value for name, value in os.environ.items() if name not in _THEIRS} | variables
    command = ["make", "--dry-run", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["e2e", "CLUSTER=foo"], "CLUSTER=foo: for make e2e there are embedded binaries kind"),
        (["e2e-upstream", "CLUSTER=foo"], "CLUSTER=foo: for make e2e-upstream there are embedded binaries kind"),
        (["e2e-leftovers", "CLUSTER=foo"], "CLUSTER=foo: for make e2e-leftovers there are binaries kind"),
        (["e2e-leftovers", "CLUSTER=embedded"], "CLUSTER=embedded: for make e2e-leftovers there are binaries kind"),
        (
            ["e2e", "KIND_IMAGE=x:v1.36.3"],
            "KIND_IMAGE=x:v1.36.3 is of kind clusters; add CLUSTER=kind, or leave it out",
        ),
        (["e2e-leftovers", "CLUSTER=binaries", "KIND_IMAGE=x"], "KIND_IMAGE=x is of kind clusters; add CLUSTER=kind"),
    ],
)
def test_what_no_cluster_of_the_target_reads_is_refused(arguments: list[str], says: str) -> None:
    refused = _make(*arguments)
    assert refused.returncode == 2, refused.stdout
    assert says in refused.stderr
    assert refused.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        (["e2e"], "e2e --drakit-cluster embedded --drakit-kubernetes-version 1.37.1 "),
        (["e2e", "CLUSTER=kind", "KIND_IMAGE=x:v1.36.3"], "e2e --drakit-cluster kind  --drakit-feature-gates"),
        (["e2e-upstream"], "e2e.upstream --cluster embedded"),
        (["e2e-upstream", "CLUSTER=binaries"], "e2e.upstream --cluster binaries"),
        (["e2e-upstream", "CLUSTER=kind", "KIND_IMAGE=x"], "--kind-image x "),
        (["e2e-leftovers"], "e2e/machine --drakit-cluster binaries "),
        (["e2e-leftovers", "CLUSTER=kind"], "e2e/machine --drakit-cluster kind "),
        (["test", "CLUSTER=foo", "KIND_IMAGE=x"], "pytest tests "),
    ],
)
def test_a_target_runs_what_its_variables_say(arguments: list[str], runs: str) -> None:
    would = _make(*arguments)
    assert would.returncode == 0, would.stderr
    assert runs in would.stdout


@pytest.mark.parametrize(
    ("target", "backend"),
    [
        *((f"ready-{each}", each) for each in _REAL),
        *product(("e2e", "e2e-leftovers", "e2e-upstream"), _REAL),
    ],
)
def test_what_a_directory_of_the_users_lacks_is_built(target: str, backend: str) -> None:
    cluster = [] if target.startswith("ready-") else [f"CLUSTER={backend}"]
    would = _make(target, *cluster, "VERSION=1.36.3", DRAKIT_KUBERNETES_DIR="/downloaded")
    built = re.findall(r"drakit kubernetes build .*", would.stdout)
    assert built == [f"drakit kubernetes build 1.36.3 --lacking {backend}"]
    would = _make(target, *cluster, "VERSION=1.36.3")
    assert "kubernetes build 1.36.3 && " in would.stdout
    assert "kubernetes build 1.37.1 && " in would.stdout


@pytest.mark.parametrize(
    ("said", "runs"),
    [
        ([], ["e2e"]),
        (["CLUSTER=binaries"], ["e2e", "--drakit-cluster", "binaries"]),
        (["VERSION=1.36.3"], ["e2e", "--drakit-kubernetes-version", "1.36.3"]),
        (["GATES=A=true,B=false"], ["e2e", "--drakit-feature-gates", "A=true,B=false"]),
    ],
)
@pytest.mark.parametrize("option", ["--drakit-cluster-kubeconfig", "--cluster-kubeconfig"])
def test_a_cluster_that_is_there_gets_only_what_is_said_of_it(said: list[str], runs: list[str], option: str) -> None:
    """pytest refuses that beside it; defaults are for a cluster that is started."""
    would = _make("e2e", *said, f"ARGS={option} config -k pool")
    assert would.returncode == 0, would.stderr
    words = shlex.split(would.stdout[would.stdout.index("pytest e2e ") :].replace("\\\n", ""))
    assert words[1 : words.index("-n")] == runs
    assert words[-4:] == [option, "config", "-k", "pool"]
    assert "drakit kubernetes build" not in would.stdout


@pytest.mark.parametrize(
    ("arguments", "needs_kind"),
    [([], True), (["ARGS=--cluster embedded -k prioritized"], False), (["ARGS=--cluster kind -k upgrade"], True)],
    ids=["whole", "on ours", "in kind"],
)
def test_the_matrix_has_what_its_rows_in_kind_need(arguments: list[str], needs_kind: bool) -> None:
    would = _make("--always-make", "e2e-matrix", *arguments)
    assert would.returncode == 0, would.stderr
    assert ("--editable '.[kind]'" in would.stdout) == needs_kind
