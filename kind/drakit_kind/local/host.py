"""The process that supervises a cluster on this machine: ``python -m drakit_kind.local.host DIRECTORY``.

What starts in it is in ``components``, which this module loads only when all is set for a quick start.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from pathlib import Path

from drakit_api.features import FeatureGateError
from drakit_client.processes import control
from drakit_client.processes.readiness import announce_failure, announce_ready, told_to_stop
from drakit_embedded.serving import descriptors
from drakit_kind.cluster import ClusterError, with_notes
from drakit_kind.clusters.home import CLUSTER_VARIABLE, ClusterHome
from drakit_kind.processes.concurrency import first_of
from drakit_kind.processes.spawn import restore_authorities

log = logging.getLogger("drakit")


async def _serve(home: ClusterHome) -> None:
    from drakit_kind.local.components import Components

    restore_authorities()
    spec = home.read_spec()
    if spec is None:
        raise ClusterError(f"{home.spec_file} does not exist; start clusters with `drakit cluster up`")
    stopping = told_to_stop()
    components = Components(spec, home)
    listener = await control.listen(home.control, components.handle)
    try:
        await first_of(components.start(), stopping.wait())
        if stopping.is_set():
            raise SystemExit("told to stop before it was ready")
        home.never_ready.unlink(missing_ok=True)  # its starter may have been killed, and could not say so
        announce_ready()
        gc.freeze()
        gc.set_threshold(20_000)  # one slice is thousands of objects, which are no garbage while it is worked at
        gc.enable()
        await stopping.wait()
    finally:
        listener.close()
        await components.stop()
        home.control.unlink(missing_ok=True)


def main() -> None:
    """Entry point of the process; the directory must hold ``cluster.json``."""
    # What is loaded at the start stays for good: looking through it for garbage takes a tenth of the start.
    gc.disable()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname).1s %(name)s: %(message)s")
    home = ClusterHome(Path(sys.argv[1]))
    os.environ[CLUSTER_VARIABLE] = str(home.directory)
    descriptors.raise_limit()
    lock = home.lock()
    if lock is None:
        raise SystemExit(f"{home.directory}: this cluster is running already")
    with lock:
        try:
            asyncio.run(_serve(home))
        except Exception as error:
            if not _says_what_is_wrong(error):
                raise
            log.error("%s", with_notes(error))
            announce_failure(with_notes(error))
            raise SystemExit(1) from None


def _says_what_is_wrong(error: Exception) -> bool:
    """Whether its text is for users, who need no traceback."""
    from drakit_driver.plugin.sockets import PluginError
    from drakit_driver.preparing.checkpoint import CheckpointError
    from drakit_embedded.apiserver import JournalError, ServerError
    from drakit_embedded.kubelet.claims import CheckpointError as KubeletCheckpointError

    drivers = (PluginError, CheckpointError, TimeoutError)  # one that is not ready in time says what is missing
    known = (ClusterError, FeatureGateError, JournalError, ServerError, KubeletCheckpointError, *drivers)
    return isinstance(error, known) and str(error) != ""


if __name__ == "__main__":
    main()
