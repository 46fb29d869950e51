"""``drakit kubernetes``: get the real binaries, and see which ones a cluster would use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drakit_client.files.user_cache import cache_directory
from drakit_client.processes.output_option import Format, output_option
from drakit_kind.cli.kubernetes import wanted
from drakit_kind.cli.kubernetes.build_progress import BuildProgress
from drakit_kind.cli.kubernetes.command_options import cache_option, complete_name, directory_option, version_argument
from drakit_kind.cli.kubernetes.download_command import download
from drakit_kind.cli.kubernetes.live_progress import mib
from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.readable_errors import readable_errors
from drakit_kind.interrupts import continued_by_the_same_command
from drakit_kind.kubernetes import build as building
from drakit_kind.kubernetes.assets import DIRECTORY_VARIABLE, find_assets
from drakit_kind.kubernetes.cache import CacheEntry
from drakit_kind.kubernetes.releases import Release, is_of_kubernetes, pinned_release, pinned_releases

if TYPE_CHECKING:
    from drakit_kind.clusters.backends import Backend


@click.group()
def kubernetes() -> None:
    """Build, download and find the real binaries of a Kubernetes version.

    Clusters of real components (`--cluster binaries`, `--cluster kind`) take their binaries from a directory that you
    name, or from drakit's cache. It is filled by a build: drakit pins each version as a Go module, and your Go (no
    container, no root) builds it. Or by a download of what Kubernetes and the other projects publish.

    \b
    drakit kubernetes list                       what can be built, and what is
    drakit kubernetes build 1.37.1               all of it; about 20 minutes on two cores, once
    drakit kubernetes download 1.37.1            without Go: all but pause and dra-test-driver
    drakit kubernetes build 1.36.3 --only kubelet
    $(drakit kubernetes where 1.37.1 kubectl) version

    \b
    A directory of yours comes first, name by name:
    export DRAKIT_KUBERNETES_DIR=~/kubernetes/server/bin     one version
    export DRAKIT_KUBERNETES_DIR=~/versions                  1.37.1/, 1.36.3/, ... each with its binaries
    drakit kubernetes build 1.37.1 --lacking     a release download has no etcd, containerd, CNI plugins and pause;
                                                 what setup-envtest fetched has kube-apiserver, etcd and kubectl only
    drakit kubernetes build 1.37.1 --lacking kind    the same for a node image of kind
    """


kubernetes.add_command(download)


@kubernetes.command()
@version_argument
@click.option("--only", multiple=True, metavar="NAME", help="Build this binary only; may be repeated.  [default: all]")
@click.option(
    "--lacking",
    type=click.Choice(("binaries", "kind")),
    is_flag=False,
    flag_value="binaries",
    help="Build only what `--cluster binaries` needs here (for root also kubelets and containerd), or `kind` to make a "
    f"node image, and ${DIRECTORY_VARIABLE} lacks; etcd and the like with the newest version.  [of --lacking alone: "
    "binaries]",
)
@cache_option
def build(version: str, only: tuple[str, ...], lacking: Backend | None, cache: Path | None) -> None:
    """Build the binaries of a Kubernetes VERSION with the `go` in PATH, as far as they are not built yet.

    \b
    drakit kubernetes build 1.37.1
    drakit kubernetes build 1.36.3 --only kubelet --only kube-scheduler

    Modules come from where your Go takes them (GOPROXY). Ctrl-C at any time: what is built by then is kept, and the
    same command continues from it. Expect 1 GB of modules, 4 GB of Go's build cache and 0.5 to 0.8 GB of binaries a
    version.
    """
    with readable_errors():
        if lacking and only:
            raise ClusterError(f"--only {only[0]}: --lacking says itself what is built; leave one of them out")
        found = wanted.lacking(version, lacking, cache) if lacking else wanted.named(version, only)
        for release, names in found.by_release:
            entry = CacheEntry.of(release, cache)
            with continued_by_the_same_command("what is built"), BuildProgress() as progress:
                built = building.build(release, names, entry, progress)
            click.echo(_summary(release, entry, built))
    for line in found.nowhere:
        click.echo(line, err=True)
    if not found.by_release and not found.nowhere:
        click.echo(f"clusters of Kubernetes {version} have all that they need, nothing was to be done")


def _summary(release: Release, entry: CacheEntry, built: list[str]) -> str:
    here = sum(entry.has(name) for name in release.names)
    state = "is built" if here == len(release.names) else f"has {here} of {len(release.names)} binaries built"
    news = "" if built else ", nothing was to be done"
    return f"Kubernetes {release.version} {state}{news}: {entry.binaries} ({mib(entry.size())})"


@kubernetes.command(name="list")
@cache_option
@output_option
def list_versions(cache: Path | None, output: Format | None) -> None:
    """Show the versions that can be built, and what is built of each.

    \b
    drakit kubernetes list
    drakit kubernetes list -o json | jq -r '.[] | select(.missing == []).version'
    """
    with readable_errors():
        releases = pinned_releases()
        entries = [CacheEntry.of(release, cache) for release in releases]
        if output:
            _print([_described(*pair) for pair in zip(releases, entries, strict=True)], output)
            return
        for release, entry in zip(releases, entries, strict=True):
            here = sum(entry.has(name) for name in release.names)
            where = f"{mib(entry.size()):>11}  {entry.binaries}" if here else "     -       not built"
            click.echo(f"{release.version:<10} {here:>2} of {len(release.names):<2} {where}")
        if others := _others((cache or cache_directory()).absolute(), entries):
            size = sum(entry.size() for entry in others)
            click.echo(f"of other versions of drakit, {mib(size)}, yours to remove:")
            for entry in others:
                click.echo(f"  {entry.directory}")


def _described(release: Release, entry: CacheEntry) -> dict[str, Any]:
    built = [name for name in release.names if entry.has(name)]
    return {
        "version": release.version,
        "built": built,
        "missing": [name for name in release.names if name not in built],
        "bytes": entry.size() if built else 0,
        "directory": str(entry.binaries) if built else None,
    }


def _print(data: Any, output: Format) -> None:
    from drakit_driver.cli.manifests import dump

    click.echo(dump(data, output), nl=False)


def _others(cache: Path, entries: list[CacheEntry]) -> list[CacheEntry]:
    """List the cache entries that belong to no pinned version."""
    known = {entry.directory for entry in entries}
    return [CacheEntry(path) for path in sorted((cache / "kubernetes").glob("*")) if path not in known]


@kubernetes.command()
@version_argument
@click.argument("name", required=False, shell_complete=complete_name)
@directory_option
@output_option
def where(version: str, name: str | None, directory: Path | None, output: Format | None) -> None:
    """Print the path of the binary NAME that clusters of VERSION use, or of all of them.

    \b
    $(drakit kubernetes where 1.37.1 kubectl) version
    drakit kubernetes where 1.37.1 -o json | jq -r '."kube-apiserver"'
    """
    with readable_errors():
        assets = find_assets(version, directory)
        if name is not None and output:
            _print({name: str(assets.path(name))}, output)
            return
        if name is not None:
            click.echo(assets.path(name))
            return
        found = assets.found()
        if not any(map(is_of_kubernetes, found)):
            pinned_release(assets.version)  # which says what to do about a version that cannot be built
            raise ClusterError(f"there are no binaries of Kubernetes {assets.version}; {_advice(assets.version)}")
        if output:
            _print({known: str(path) for known, path in found.items()}, output)
            return
        for known, path in found.items():
            click.echo(f"{known:<24} {path}")


def _advice(version: str) -> str:
    return f"build them with `drakit kubernetes build {version}`, or name their directory in ${DIRECTORY_VARIABLE}"
