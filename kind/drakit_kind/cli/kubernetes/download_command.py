"""``drakit kubernetes download``: the published binaries of a version, where there is no Go or no time for a build."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from drakit_kind.cli.kubernetes import wanted
from drakit_kind.cli.kubernetes.command_options import cache_option, complete_name, version_argument
from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.readable_errors import readable_errors
from drakit_kind.interrupts import continued_by_the_same_command
from drakit_kind.kubernetes.assets import DIRECTORY_VARIABLE
from drakit_kind.kubernetes.cache import CacheEntry
from drakit_kind.kubernetes.published import GITHUB_URL, KUBERNETES_URL, UNPUBLISHED

if TYPE_CHECKING:
    from drakit_kind.clusters.backends import Backend
    from drakit_kind.kubernetes.releases import Release


@click.command()
@version_argument
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_name,
    help="Download this binary only; may be repeated.  [default: all that are published]",
)
@click.option(
    "--lacking",
    type=click.Choice(("binaries", "kind")),
    is_flag=False,
    flag_value="binaries",
    help="Download only what `--cluster binaries` needs here (for root also kubelets and containerd), or `kind` to "
    f"make a node image, and is neither in ${DIRECTORY_VARIABLE} nor in the cache; etcd and the like as pinned with "
    "the newest version.  [of --lacking alone: binaries]",
)
@click.option(
    "--url",
    default=KUBERNETES_URL,
    show_default=True,
    help="A mirror of Kubernetes' own programs: it has URL/vVERSION/bin/linux/ARCH/NAME, and NAME.sha256 beside it.",
)
@click.option(
    "--github-url",
    default=GITHUB_URL,
    show_default=True,
    help="A mirror of the releases of etcd, containerd, the CNI plugins and kind: it has "
    "URL/OWNER/NAME/releases/download/TAG/FILE.",
)
@click.option("--replace", is_flag=True, help="Download also what is there, and put it in the place of that.")
@cache_option
def download(
    version: str,
    only: tuple[str, ...],
    lacking: Backend | None,
    url: str,
    github_url: str,
    replace: bool,
    cache: Path | None,
) -> None:
    """Download the published binaries of a Kubernetes VERSION, as far as they are not there yet.

    \b
    drakit kubernetes download 1.37.1                  all that is published; some 0.6 GB to download
    drakit kubernetes download 1.36.3 --lacking        what `--cluster binaries` needs and is nowhere
    drakit kubernetes download 1.36.3 --only kubelet --only kube-scheduler
    drakit kubernetes download 1.37.1 --url https://mirror.example.com/kubernetes

    They go to the cache of `drakit kubernetes build`, so clusters find them, and either command goes on where the other
    stopped. Download for the very files of a release, and where there is no Go. Build where only a Go module proxy can
    be reached, and for what is published as an image only: pause, which real nodes and node images of kind need
    (`drakit kubernetes build 1.37.1 --only pause` takes seconds and downloads nothing), and dra-test-driver.

    Each file's checksum is fetched from beside it and must match before anything is put in place. HTTPS_PROXY,
    HTTP_PROXY and NO_PROXY are heeded. Only https is used, unless --url or --github-url says http. Ctrl-C at any time:
    what is complete by then is kept, and the same command continues from it.
    """
    with readable_errors():
        if lacking and only:
            raise ClusterError(f"--only {only[0]}: --lacking says itself what is downloaded; leave one of them out")
        if lacking and replace:
            raise ClusterError("--replace: --lacking downloads what is nowhere; leave one of them out")
        found = wanted.lacking(version, lacking, cache) if lacking else wanted.named(version, only)
        for release, names in found.by_release:
            published = names if only else [name for name in names if name not in UNPUBLISHED]
            if published:
                _download(release, published, CacheEntry.of(release, cache), (url, github_url), replace)
    for line in found.nowhere:
        click.echo(line, err=True)
    _tell_unpublished(found, cache)
    if not found.by_release and not found.nowhere:
        click.echo(f"clusters of Kubernetes {version} have all that they need, nothing was to be done")


def _download(release: Release, names: Sequence[str], entry: CacheEntry, urls: tuple[str, str], replace: bool) -> None:
    # Imported here: the other commands need no HTTP client.
    from drakit_kind.cli.kubernetes.download_progress import DownloadProgress
    from drakit_kind.cli.kubernetes.live_progress import mib
    from drakit_kind.kubernetes import download as downloading
    from drakit_kind.kubernetes.fetching import checked_host
    from drakit_kind.kubernetes.published import Hosts

    hosts = Hosts(*map(checked_host, urls))
    with continued_by_the_same_command("what is complete"), DownloadProgress() as progress:
        done = downloading.download(release, names, entry, progress, hosts=hosts, replace=replace)
    here = sum(entry.has(name) for name in release.names)
    news = "" if done else ", nothing was to be done"
    click.echo(
        f"Kubernetes {release.version} has {here} of {len(release.names)} binaries{news}: "
        f"{entry.binaries} ({mib(entry.size())})"
    )


def _tell_unpublished(found: wanted.Wanted, cache: Path | None) -> None:
    from drakit_kind.kubernetes.download import without_release

    for release, names in found.by_release:
        entry = CacheEntry.of(release, cache)
        if missing := [name for name in names if name in UNPUBLISHED and not entry.has(name)]:
            click.echo(without_release(release, missing), err=True)
