"""Images of nodes, taken from archives of this machine, as no registry can be reached from them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from drakit_kind import bounds
from drakit_kind.cluster import ClusterError
from drakit_kind.control_plane.programs import Binaries
from drakit_kind.nodes.containerd_config import snapshotter
from drakit_kind.nodes.mounts import mount_of, mounts

SOCKET = "containerd.sock"
_NAMESPACE = "k8s.io"  # where the kubelet's images and containers are in containerd


def snapshotter_in(directory: Path) -> str:
    """Return the snapshotter for a containerd that keeps everything below ``directory``."""
    mounted = mount_of(directory.resolve(), mounts())
    return snapshotter(mounted.kind if mounted else "")


async def import_images(binaries: Binaries, directory: Path, archive: Path, *, node: str) -> None:
    """Give the node whose containerd is in ``directory`` all images of an archive.

    Raises ``ClusterError`` with the names of both if that fails or takes longer than ``bounds.IMAGE_IMPORT``.
    """
    command = [str(binaries.path("ctr")), "--address", str(directory / SOCKET), "--namespace", _NAMESPACE]
    command += ["images", "import", "--local", "--snapshotter", snapshotter_in(directory), str(archive)]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(bounds.IMAGE_IMPORT):
            output, _ = await process.communicate()
    except TimeoutError:
        raise ClusterError(f"containerd of {node} does not take {archive} within {bounds.IMAGE_IMPORT:.0f} s") from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode:
        raise ClusterError(f"containerd of {node} does not take {archive}: {output.decode().strip()}")
