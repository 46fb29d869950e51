"""Where projects publish the programs that drakit can also build: one table of files, checksums and what is in them.

Kubernetes' own programs are single files on dl.k8s.io (https://kubernetes.io/releases/download). etcd, containerd, the
CNI plugins and kind are on their projects' pages at GitHub, in the versions that the release's go.mod requires.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from drakit_kind.kubernetes.cache import host_platform
from drakit_kind.kubernetes.mains import NAMES, OF_KUBERNETES, PLUGINS
from drakit_kind.kubernetes.releases import Release

KUBERNETES_URL = "https://dl.k8s.io"
GITHUB_URL = "https://github.com"


@dataclass(frozen=True)
class Hosts:
    """What the URLs of files begin with: mirrors have the same paths below."""

    kubernetes: str = KUBERNETES_URL
    github: str = GITHUB_URL


@dataclass(frozen=True)
class PublishedFile:
    """One file to download.

    ``programs`` has the path in the archive of each program, or None where the file is the program itself. ``whose``
    is for messages, e.g. "etcd v3.7.3".
    """

    url: str
    checksum_url: str
    programs: Mapping[str, str | None]
    whose: str

    @property
    def name(self) -> str:
        """The file's name, as files of checksums have it."""
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class _Project:
    """What one project publishes at GitHub, as patterns.

    ``{tag}`` is the version with its v, ``{number}`` without, ``{arch}`` Go's name of the architecture, and in
    ``checksum`` ``{file}`` the name of the file.
    """

    repository: str
    module: str
    file: str
    checksum: str
    programs: Mapping[str, str | None]


_PROJECTS = (
    _Project(
        "etcd-io/etcd",
        "go.etcd.io/etcd/server/v3",
        "etcd-{tag}-linux-{arch}.tar.gz",
        "SHA256SUMS",
        {"etcd": "etcd-{tag}-linux-{arch}/etcd"},
    ),
    # The static one, like drakit's own build: the other needs the C library of a recent distribution.
    _Project(
        "containerd/containerd",
        "github.com/containerd/containerd/v2",
        "containerd-static-{number}-linux-{arch}.tar.gz",
        "{file}.sha256sum",
        {name: f"bin/{name}" for name in ("containerd", "containerd-shim-runc-v2", "ctr")},
    ),
    _Project(
        "containernetworking/plugins",
        "github.com/containernetworking/plugins",
        "cni-plugins-linux-{arch}-{tag}.tgz",
        "{file}.sha256",
        {name: name for name in PLUGINS},
    ),
    _Project("kubernetes-sigs/kind", "sigs.k8s.io/kind", "kind-linux-{arch}", "{file}.sha256sum", {"kind": None}),
)
# Kubernetes publishes pause and its test driver as images only.
UNPUBLISHED = tuple(
    name for name in NAMES if name not in OF_KUBERNETES and all(name not in each.programs for each in _PROJECTS)
)


def published_files(release: Release, names: Sequence[str], hosts: Hosts) -> list[PublishedFile]:
    """Return the files that have these programs of a release, for this machine's architecture.

    Raises ``ClusterError`` for a module without the version of a project that is asked for.
    """
    return [*_of_kubernetes(release, names, hosts.kubernetes), *_of_others(release, names, hosts.github)]


def _of_kubernetes(release: Release, names: Iterable[str], host: str) -> Iterator[PublishedFile]:
    for name in names:
        if name in OF_KUBERNETES:
            url = f"{host}/v{release.version}/bin/linux/{host_platform()[1]}/{name}"
            yield PublishedFile(url, f"{url}.sha256", {name: None}, f"Kubernetes {release.version}")


def _of_others(release: Release, names: Sequence[str], host: str) -> Iterator[PublishedFile]:
    for project in _PROJECTS:
        wanted = {name: path for name, path in project.programs.items() if name in names}
        if not wanted:
            continue
        tag = release.required_version(project.module)
        words = {"tag": tag, "number": tag.removeprefix("v"), "arch": host_platform()[1]}
        file = project.file.format(**words)
        directory = f"{host}/{project.repository}/releases/download/{tag}"
        yield PublishedFile(
            f"{directory}/{file}",
            f"{directory}/{project.checksum.format(file=file)}",
            {name: path and path.format(**words) for name, path in wanted.items()},
            f"{project.repository.rpartition('/')[2]} {tag}",
        )
