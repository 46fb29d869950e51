"""A Kubernetes release as kind builds a node image from it, around binaries of this machine.

kind takes a release's ``kubernetes-server.tar.gz``; this writes one with just what it reads: three binaries, the
version, and four docker archives, of which the last has whatever else must be in a node.
"""

from __future__ import annotations

import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from drakit_images.debian import PackageFiles
from drakit_images.kind_module import KindModule
from drakit_kind.cluster import ClusterError
from drakit_kind.images import Entry, Image, write_images
from drakit_kind.kind.node_images.component_images import BASE, write_component
from drakit_kind.kubernetes.assets import Assets
from drakit_kind.processes.command_output import output

_BINARIES = ("kubeadm", "kubelet", "kubectl")
_STATIC = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
# Every extension of iptables comes with it, and libc with libm: a missing library breaks Services without a message.
_PROXY_PACKAGES = ("iptables", "nftables", "conntrack", "kmod")
# Links that update-alternatives has made in the root belong to no package.
_PROXY_LINKS = {
    f"usr/sbin/{family}{suffix}": "xtables-nft-multi"
    for family in ("iptables", "ip6tables")
    for suffix in ("", "-save", "-restore")
}
_LIST_SECONDS = 30.0


def write_server_tar(file: Path, assets: Assets, module: KindModule, root: Path, scratch: Path) -> None:
    """Write ``kubernetes-server.tar.gz`` to ``file``; ``scratch`` is a directory for what goes into it.

    ``root`` is a Debian root as a tar file. Raises ``ClusterError`` for a binary that is missing.
    """
    names = _names(assets)
    for component in _STATIC:
        write_component(scratch / f"{component}.tar", component, assets, name=names[component])
    write_images(scratch / "kube-proxy.tar", _others(assets, module, names, root, scratch))
    version = scratch / "version"
    version.write_text(f"v{assets.version}\n")
    with tarfile.open(file, "w:gz", compresslevel=0) as tar:  # kind unpacks it at once
        for name in _BINARIES:
            tar.add(assets.path(name), f"kubernetes/server/bin/{name}")
        for component in (*_STATIC, "kube-proxy"):
            tar.add(scratch / f"{component}.tar", f"kubernetes/server/bin/{component}.tar")
        tar.add(version, "kubernetes/version")


def _names(assets: Assets) -> Mapping[str, str]:
    """Map the last part of each image name that kubeadm asks for to the full name."""
    kubeadm = str(assets.path("kubeadm"))
    version = f"v{assets.version}"
    listed = output([kubeadm, "config", "images", "list", "--kubernetes-version", version], timeout=_LIST_SECONDS)
    names = {line.rpartition("/")[2].partition(":")[0]: line for line in listed.split()}
    if missing := {*_STATIC, "kube-proxy", "etcd", "coredns"} - set(names):
        raise ClusterError(f"{kubeadm} asks for no image {', '.join(sorted(missing))}; is it Kubernetes {version}?")
    return names


def _others(assets: Assets, module: KindModule, names: Mapping[str, str], root: Path, scratch: Path) -> Sequence[Image]:
    base = scratch / "proxy-base.layer"
    with base.open("wb") as stream:
        PackageFiles(root).write_layer(stream, _PROXY_PACKAGES)
    links = [Entry(path=path, link=target) for path, target in _PROXY_LINKS.items()]
    proxy = [Entry(path="usr/local/bin/kube-proxy", contents=assets.path("kube-proxy")), *links]
    etcd = [Entry(path="usr/local/bin/etcd", contents=assets.path("etcd"))]
    pause = [Entry(path="pause", contents=assets.path("pause"))]
    # kind builds no image without these, although what asks for them is never created: see node_files.MANIFESTS.
    unused = [names["coredns"], *module.addon_images]
    return [
        Image([names["kube-proxy"]], [base, proxy]),
        Image([names["etcd"]], [BASE, etcd]),
        Image([module.sandbox_image, *unused], [pause], entrypoint=["/pause"], user="65535:65535"),
    ]
