"""kind's own Go module: the entrypoint, units and configuration of its nodes are read from there, never kept here.

The version is that of drakit's own kind, which builds the node image, so that the two always fit. Another kind that
starts the nodes (``--drakit-kind-bin``) gets them as they are, like any node image.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from drakit_kind.cluster import ClusterError
from drakit_kind.images import Entry
from drakit_kind.kubernetes.toolchain import environment, find_go
from drakit_kind.processes.command_output import output

_VERSION_SECONDS = 30.0
_DOWNLOAD_SECONDS = 300.0
_VERSION = re.compile(r"kind (v\d+\.\d+\.\d+\S*)")
_IMAGE = re.compile(r'^const \w*Image = "([^"]+)"', re.MULTILINE)
_SANDBOX_IMAGE = re.compile(r'sandbox_image\s*=\s*"([^"]+)"')
# Any Go that is still supported can download a module.
_OLDEST_GO = "1.21"


@dataclass(frozen=True)
class KindModule:
    """The unpacked module of one version of kind, e.g. ``v0.33.0``."""

    version: str
    directory: Path

    def entries(self) -> Iterator[Entry]:
        """Yield the files that kind's base image copies into a node, with the same paths and modes."""
        files = self.directory / "images" / "base" / "files"
        for file in sorted(files.rglob("*")):
            path = file.relative_to(files)
            if file.is_file() and path.parts[0] != "LICENSES":
                mode = 0o755 if path.parts[:2] == ("kind", "bin") or path.parts[0] == "usr" else 0o644
                yield Entry(path=str(path), contents=file, mode=mode)

    @property
    def sandbox_image(self) -> str:
        """The image of pod sandboxes that its containerd is configured with."""
        config = (self.directory / "images/base/files/etc/containerd/config.toml").read_text()
        return self._found(_SANDBOX_IMAGE.findall(config), "sandbox image")[0]

    @property
    def addon_images(self) -> list[str]:
        """The images of its own network and storage, without which it builds no node image."""
        sources = sorted((self.directory / "pkg/build/nodeimage").glob("const_*.go"))
        return self._found([name for source in sources for name in _IMAGE.findall(source.read_text())], "add-on images")

    def _found(self, names: list[str], what: str) -> list[str]:
        if not names:
            raise ClusterError(f"kind {self.version} names its {what} elsewhere than the versions that drakit knows")
        return names


def kind_version(executable: Path) -> str:
    """Return the version of a kind binary, e.g. ``v0.33.0``; raise ``ClusterError`` if it is not kind."""
    printed = output([str(executable), "version"], timeout=_VERSION_SECONDS)
    if (found := _VERSION.match(printed)) is None:
        raise ClusterError(f"{executable} is no kind: `kind version` prints {printed.strip()!r}")
    return found[1]


def kind_module(version: str) -> KindModule:
    """Find the Go module of this version of kind in Go's cache, or download it."""
    go = find_go(_OLDEST_GO, f"reading kind {version}'s node files")
    printed = output(
        [str(go.executable), "mod", "download", "-json", f"sigs.k8s.io/kind@{version}"],
        timeout=_DOWNLOAD_SECONDS,
        environment=environment([]),
        directory=Path("/"),  # outside of any other module
    )
    return KindModule(version, Path(msgspec.json.decode(printed)["Dir"]))
