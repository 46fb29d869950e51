"""What an API server does with patches, found out with some that it does not store: those of dry runs."""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES
from drakit_client.resources import RESOURCE_SLICE_PATCHES

# Not that it mattered in a dry run: nobody has such devices.
_DRIVER = "nobody.drakit.dev"
_ATTRIBUTE = "drakit.dev/tried"


async def drops_attributes(connection: Connection) -> bool:
    """Tell whether attributes of new patches get lost, as Kubernetes' servers do it with fields of disabled gates.

    Who may install need not be one who may patch, so where no patch can be tried, the answer is no.
    """
    try:
        made = await _tried(connection, {"attributes": {_ATTRIBUTE: {"bool": True}}})
    except REQUEST_FAILURES:
        return False
    return _ATTRIBUTE not in (made["spec"]["devices"].get("attributes") or {})


async def _tried(connection: Connection, devices: Object, **selecting: object) -> Object:
    """Return a new patch as it would be stored. Raises what a request can fail with."""
    patch = {
        "apiVersion": RESOURCE_SLICE_PATCHES.api_version,
        "kind": RESOURCE_SLICE_PATCHES.kind,
        "metadata": {"generateName": "drakit-trial-"},
        "spec": {"devices": {"filter": {"driver": _DRIVER, **selecting}, **devices}},
    }
    return await connection.json("POST", RESOURCE_SLICE_PATCHES.path(), patch, params={"dryRun": "All"})
