"""Pin a Kubernetes version: write ``kind/kubernetes/<version>`` from the go.mod of the release itself.

``python -m drakit_kind.kubernetes.pin 1.37.2`` is all that a maintainer does to add a version. ``k8s.io/kubernetes``
can be imported once its staging modules are replaced by their released versions, and a module that starts from the
release's own requirements gets the same versions of everything else. The newest version also gets etcd, containerd, the
CNI plugins and kind, so that what they share with Kubernetes is compiled once; what they raise over the release's own
versions is printed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from semver import Version

from drakit_kind.cluster import ClusterError
from drakit_kind.kubernetes import mains, toolchain
from drakit_kind.kubernetes.releases import checked_version, modules_directory, pinned_releases

# Modules besides Kubernetes that the newest version's module requires.
BESIDES = {
    "github.com/containerd/containerd/v2": "v2.4.2",
    "github.com/containernetworking/plugins": "v1.9.1",
    "go.etcd.io/etcd/server/v3": "v3.7.3",
    "sigs.k8s.io/kind": "v0.33.0",
}
_OLDEST_GO = "1.24.0"  # knows tool directives


@click.command()
@click.argument("version")
@click.option(
    "--besides/--no-besides",
    default=None,
    help="Also etcd, containerd, CNI plugins and kind.  [default: if no newer version is pinned]",
)
def pin(version: str, besides: bool | None) -> None:
    """Write the Go module of a Kubernetes VERSION, or write it anew."""
    try:
        version = checked_version(version)
        newest = all(Version.parse(version) >= Version.parse(release.version) for release in pinned_releases())
        raised = write_module(version, modules_directory(), besides=newest if besides is None else besides)
    except ClusterError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"pinned Kubernetes {version} in {modules_directory() / version}")
    for path, (before, after) in raised.items():
        click.echo(f"  raised over the release's own: {path} {before} -> {after}")


def write_module(version: str, modules: Path, *, besides: bool) -> dict[str, tuple[str, str]]:
    """Write ``<modules>/<version>``, replacing one that is there; nothing is changed if that fails.

    Returns the requirements that are newer than the release's own: module path -> (the release's version, ours).
    """
    go = toolchain.find_go(_OLDEST_GO, "pinning a version").executable
    final = modules / version
    with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=modules) as directory:
        new = Path(directory) / version
        new.mkdir()
        upstream = _read_go_mod(go, _download_go_mod(go, version, new))
        (new / "go.mod").write_text(go_mod(version, upstream, besides=besides))
        for name in (*mains.OF_KUBERNETES, *(mains.BESIDES if besides else ())):
            main = new / "cmd" / name / "main.go"
            main.parent.mkdir(parents=True)
            main.write_text(mains.source(name))
        _run(go, ["mod", "tidy"], new, "-mod=mod")
        # This fails if a build needs anything that is not in go.mod and go.sum.
        packages = ["./cmd/...", *(mains.PLUGINS.values() if besides else ())]
        _run(go, ["list", "-deps", "-f", "", *packages], new, "-mod=readonly")
        raised = _raised(upstream, _read_go_mod(go, new / "go.mod"))
        if final.exists():
            shutil.move(final, Path(directory) / "old")
        new.rename(final)
    return raised


def go_mod(version: str, upstream: Mapping[str, Any], *, besides: bool) -> str:
    """Make the first go.mod from ``upstream``, the release's own as ``go mod edit -json`` prints it."""
    staged = _staged(version, upstream)
    required = {need["Path"]: need["Version"] for need in upstream["Require"]}
    required |= staged | {"k8s.io/kubernetes": f"v{version}"} | (BESIDES if besides else {})
    settings = [f"{setting['Key']}={setting['Value']}" for setting in upstream.get("GoDebug") or []]
    blocks = [
        f"// Written by `python -m drakit_kind.kubernetes.pin {version}`.",
        "module drakit.invalid/kubernetes",
        f"go {upstream['Go']}",
        *([_block("godebug", settings)] if settings else []),
        *([_block("tool", sorted(mains.PLUGINS.values()))] if besides else []),
        _block("require", [f"{path} {number}" for path, number in sorted(required.items())]),
        _block("replace", [f"{path} => {path} {number}" for path, number in sorted(staged.items())]),
    ]
    return "\n\n".join(blocks) + "\n"


def _staged(version: str, upstream: Mapping[str, Any]) -> dict[str, str]:
    """Map the release's staging modules that it requires to the versions they are published as."""
    published = f"v0.{version.partition('.')[2]}"
    staging = {path["Old"]["Path"] for path in upstream["Replace"] if path["New"]["Path"].startswith("./staging/")}
    return {need["Path"]: published for need in upstream["Require"] if need["Path"] in staging}


def _block(keyword: str, lines: Sequence[str]) -> str:
    return f"{keyword} (\n" + "".join(f"\t{line}\n" for line in lines) + ")"


def _raised(upstream: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    before = {need["Path"]: need["Version"] for need in upstream["Require"] if need["Version"] != "v0.0.0"}
    return {
        need["Path"]: (before[need["Path"]], need["Version"])
        for need in ours["Require"]
        if before.get(need["Path"], need["Version"]) != need["Version"]
    }


def _download_go_mod(go: Path, version: str, directory: Path) -> Path:
    answer = json.loads(_run(go, ["mod", "download", "-json", f"k8s.io/kubernetes@v{version}"], directory))
    return Path(answer["GoMod"])


def _read_go_mod(go: Path, path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(_run(go, ["mod", "edit", "-json", str(path)], path.parent))
    return read


def _run(go: Path, arguments: Sequence[str], directory: Path, *flags: str) -> str:
    """Run a command of Go, its messages to stderr as they come; return what it prints."""
    done = subprocess.run(
        [go, *arguments],
        cwd=directory,
        env=toolchain.environment(flags, GOOS="linux", CGO_ENABLED="0"),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ClusterError(f"`go {' '.join(arguments)}` ended with status {done.returncode} {done.stdout.strip()}")
    return done.stdout


if __name__ == "__main__":
    pin()
