"""kind's Docker network, which kind makes with a first cluster and never removes: it goes with the last of ours.

One that was there before drakit's first cluster is somebody else's and stays.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from drakit_client.files.user_cache import cache_directory
from drakit_kind.cluster import ClusterError, silent
from drakit_kind.kind.docker import docker
from drakit_kind.processes.turns import one_at_a_time

_NETWORK = "kind"
_NOTE = "network-is-new"


def note_if_new(directory: Path) -> None:
    """Note in a cluster's directory, just before kind creates the cluster, whether kind will make the network."""
    note = directory / _NOTE
    if _network_id():
        note.unlink(missing_ok=True)
    else:
        note.touch()


def release(directory: Path) -> None:
    """Remove the network if a cluster of ours has made it, once the nodes of the one in ``directory`` are gone.

    If a container uses it, running or not, the network's id is remembered for the next cluster of ours that ends.
    """
    note, made = directory / _NOTE, cache_directory() / "kind" / "network"
    with one_at_a_time(made.with_suffix(".lock"), silent):
        network = _network_id()
        if network and (note.exists() or (made.exists() and made.read_text() == network)):
            made.write_text(network)
            if not docker("ps", "--all", "--quiet", "--filter", f"network={network}").strip():
                with suppress(ClusterError):  # somebody has come meanwhile
                    docker("network", "rm", network)
                    made.unlink()
        note.unlink(missing_ok=True)


def _network_id() -> str:
    return docker("network", "ls", "--quiet", "--no-trunc", "--filter", f"name=^{_NETWORK}$").strip()
