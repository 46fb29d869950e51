"""``make e2e-matrix``: run the matrix on its backends and write what it showed.

With options of pytest, such as ``-k 1.36.3``, only some rows run, and the page in docs/ stays as it is.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from drakit_kind.cluster import COMPONENTS, KUBERNETES_VERSION, ClusterError, ClusterSpec
from drakit_kind.clusters.flags import PROGRAMS
from drakit_kind.clusters.readable_errors import readable_errors
from drakit_kind.kind.docker import check_daemon
from drakit_kind.kind.node_images import images
from drakit_kind.kubernetes.assets import find_assets
from e2e.interchange.combination import COMBINATIONS
from e2e.interchange.kubernetes_driver import JUDGED_ON
from e2e.interchange.kubernetes_driver import PROGRAM as TEST_DRIVER
from e2e.matrix import table
from e2e.matrix.revision import revision
from e2e.matrix.row import Row
from e2e.matrix.rows import ROWS

_ROOT = Path(__file__).parents[2]
_RESULTS = _ROOT / "build" / "matrix"
_PAGE = _ROOT / "docs" / "compatibility.md"
_BINARIES = "binaries"
_BACKENDS = ("embedded", _BINARIES)
_KIND = "kind"
# A gate and an emulated version, an older kubelet, another version of everything: all rows would take an hour, as each
# waits for its cluster of containers.
_IN_KIND = ("prioritized-list-emulating-1.36", "kubelet-1.36.3", "upgrade-1.36.3-1.37.1")
_COMBINATIONS = "interchange"
# Statuses of pytest that say that tests ran.
_RAN = (0, 1)


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--cluster",
    "backends",
    multiple=True,
    type=click.Choice((*_BACKENDS, _KIND)),
    help=f"May be repeated. Default: {' and '.join(_BACKENDS)}.",
)
@click.option("--jobs", default="2", show_default=True, metavar="N", help="Rows at a time; 0: in this process.")
@click.argument("pytest_options", nargs=-1, type=click.UNPROCESSED)
def main(backends: tuple[str, ...], jobs: str, pytest_options: tuple[str, ...]) -> None:
    """Run the rows of the matrix, some also in kind where Docker is, and every combination of fake and real parts.

    Exit status: 0 if all is as it should be, 1 otherwise.
    """
    whole = not backends and not pytest_options
    backends = backends or _BACKENDS
    sources = revision(_ROOT)
    if _BINARIES in backends:
        with readable_errors():
            _build(ROWS if whole else _chosen(pytest_options), combinations=whole)
    _RESULTS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    good = [_run("matrix", backend, backend, jobs, pytest_options) for backend in backends]
    if whole:
        missing = _missing_for_kind()
        if not missing:
            good.append(_run("matrix", _KIND, _KIND, "0", ["-k", " or ".join(_IN_KIND)]))
        good.append(_run("interchange", _COMBINATIONS, _BINARIES, jobs, pytest_options))
        today = datetime.now(UTC).date()
        _write(table.Making(day=today, seconds=time.monotonic() - began, revision=sources), missing)
    for name in (*backends, *([_KIND, _COMBINATIONS] if whole else [])):
        click.echo(f"{name}: {table.summary(table.read(_result(name)))}")
    sys.exit(0 if all(good) else 1)


def _chosen(options: Sequence[str]) -> list[Row]:
    """The rows that options of pytest choose; none where it does not understand them, as it will say itself."""
    command = [sys.executable, "-m", "pytest", "e2e/matrix", "--drakit-cluster", _BINARIES]
    command += ["--collect-only", *options, "--verbosity=-1"]
    listed = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    return [row for row in ROWS if any(line.endswith(f"[{row.name}]") for line in listed)]


def _versions(rows: Sequence[Row]) -> set[str]:
    return {version for row in rows for component in COMPONENTS for version in row.versions_of(component)}


def _build(rows: Sequence[Row], *, combinations: bool) -> None:
    """Build what is missing of any version; a directory that the user names comes first, as everywhere."""
    versions = _versions(rows)
    # The newest comes first: what is not of Kubernetes, such as etcd, is built with it for all of them.
    for version in sorted({*versions, KUBERNETES_VERSION} if versions else (), reverse=True):
        programs = {program for component in COMPONENTS for program in PROGRAMS[component]}
        if combinations and version == KUBERNETES_VERSION:
            programs.add(TEST_DRIVER)
        assets = find_assets(version)
        if any(assets.find(program) is None for program in programs):
            subprocess.run([sys.executable, "-m", "drakit_kind", "kubernetes", "build", version], check=True)


def _missing_for_kind() -> str:
    """Why no row can be told in kind here; or "", when all images are made, which takes longer than a row may."""
    if importlib.util.find_spec("pytest_kind") is None:
        return "not run: pytest-kind is not installed, `make setup-kind`"
    try:
        check_daemon()
        for version in sorted(_versions([row for row in ROWS if row.name in _IN_KIND])):
            images.node_images(ClusterSpec(version=version), None, _say)
        for name, _ in images.pod_images(_say):
            _say(f"{name} is there")
    except ClusterError as error:
        return f"not run: {error}"
    return ""


def _say(text: str) -> None:
    click.echo(f"kind: {text}")


def _run(directory: str, name: str, backend: str, jobs: str, options: Sequence[str]) -> bool:
    """One run of pytest; whether nothing is wrong."""
    command = [sys.executable, "-m", "pytest", f"e2e/{directory}", "--drakit-cluster", backend, "-n", jobs, "-rsx"]
    command += [f"--junitxml={_result(name)}", *options]
    _result(name).unlink(missing_ok=True)
    status = subprocess.run(command, cwd=_ROOT, check=False).returncode
    if status not in _RAN:
        sys.exit(status)
    return status != 1


def _result(name: str) -> Path:
    return _RESULTS / f"{name}.xml"


def _write(making: table.Making, missing: str) -> None:
    _PAGE.write_text(table.page(ROWS, _shown(missing), making), encoding="utf-8")
    click.echo(f"written: {_PAGE.relative_to(_ROOT)}")


def _shown(missing: str) -> table.Shown:
    """What the runs have left; ``missing`` is why there was none in kind."""
    in_kind = {} if missing else table.read(_result(_KIND))
    mixed = table.read(_result(_COMBINATIONS))
    return table.Shown(
        rows={backend: table.read(_result(backend)) for backend in _BACKENDS},
        in_kind={name: in_kind.get(name, table.Outcome("not run", 0, missing)) for name in _IN_KIND},
        combinations={name: mixed.get(name, table.NOT_RUN) for name in map(str, COMBINATIONS)},
        judged={name: mixed.get(name, table.NOT_RUN) for name in JUDGED_ON},
    )


if __name__ == "__main__":
    main()
