"""The one place that knows pytest-kind, and a process of its own: ``python -m drakit_kind.kind.pytest_kind_adapter``.

pytest-kind is GPL-3.0-or-later, and drakit is not: nothing else imports it, it is loaded when a cluster is made or
removed and only then, and it comes with the extra ``drakit[kind]`` alone. It would download a kind and a kubectl that
are years old where they are not: so kind is always named, and kubectl is never run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click


@click.command()
@click.argument("action", type=click.Choice(["create", "delete"]))
@click.option("--name", required=True)
@click.option("--directory", type=click.Path(path_type=Path), required=True)
@click.option("--kubeconfig", type=click.Path(path_type=Path), required=True)
@click.option("--kind", "kind_path", type=click.Path(path_type=Path), required=True)
@click.option("--config", type=click.Path(path_type=Path))
def main(
    action: str,
    name: str,
    directory: Path,
    kubeconfig: Path,
    kind_path: Path,
    config: Path | None,
) -> None:
    """Create or delete one kind cluster."""
    try:
        from pytest_kind import KindCluster
    except ImportError:
        sys.exit("pytest-kind is not installed; `pip install drakit[kind]`")
    os.chdir(directory)  # it makes a directory for downloads wherever it is
    # What exists is not downloaded; this is no kubectl, so if a version of pytest-kind should run it, that is seen.
    cluster = KindCluster(name, kubeconfig=kubeconfig, kind_path=kind_path, kubectl_path=kind_path)
    try:
        if action == "create":
            cluster.create(config)
        else:
            cluster.delete()
    except subprocess.CalledProcessError as error:
        sys.exit(f"`kind {action} cluster` failed with status {error.returncode}")


if __name__ == "__main__":
    main()
