"""What an API server does with patches, found out with some that it does not store: those of dry runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from drakit_allocator.installation import InstallationError
from drakit_allocator.webhook.configuration import IN_CLUSTER
from drakit_allocator.webhook.deployment import NAMESPACE
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import REQUEST_FAILURES, ApiError
from drakit_client.resources import RESOURCE_SLICE_PATCHES

# A wait is told of when it has taken so long.
QUIET_SECONDS = 2.0
_PAUSE = 0.2
# Not that it mattered in a dry run: nobody has such devices.
_DRIVER = "nobody.drakit.dev"
_ATTRIBUTE = "drakit.dev/tried"
_WRONG = "devise.driver == 'x'"
# In the refusal of a webhook that has compiled it. There are other refusals, such as that of one that is away.
_FAULT = "selectors[0].cel.expression"


async def drops_attributes(connection: Connection) -> bool:
    """Tell whether attributes of new patches get lost, as Kubernetes' servers do it with fields of disabled gates.

    Who may install need not be one who may patch, so where no patch can be tried, the answer is no.
    """
    try:
        made = await _tried(connection, {"attributes": {_ATTRIBUTE: {"bool": True}}})
    except REQUEST_FAILURES:
        return False
    return _ATTRIBUTE not in (made["spec"]["devices"].get("attributes") or {})


async def until_selectors_are_checked(
    connection: Connection, seconds: float, *, image: str, tell: Callable[[str], None]
) -> str:
    """Wait until a patch whose selector does not compile is refused, and return ""; if nobody can know, say why.

    That the pod of the webhook is ready is not enough: nodes learn a moment later where its Service leads.

    Raises:
        InstallationError: if it is not refused in that time.
    """
    waiting = f"waiting up to {seconds:g} s until selectors of patches are checked"
    told = asyncio.get_running_loop().call_later(QUIET_SECONDS, tell, waiting)
    found = ""
    try:
        async with asyncio.timeout(seconds):
            while _FAULT not in (found := await _refusal(connection)):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(_PAUSE)
    except TimeoutError:
        raise InstallationError(_unchecked(seconds, image, found)) from None
    except _NotAllowed as error:
        return str(error)
    finally:
        told.cancel()
    return ""


class _NotAllowed(Exception):
    """Whoever asks may not make patches."""


async def _refusal(connection: Connection) -> str:
    """Try a patch whose selector does not compile, and say why it is refused, or not answered; "" if it is taken."""
    try:
        await _tried(connection, {}, selectors=[{"cel": {"expression": _WRONG}}])
    except REQUEST_FAILURES as error:
        text = str(error) or type(error).__name__
        if isinstance(error, ApiError) and error.is_denied and _FAULT not in text:
            raise _NotAllowed(text) from None
        return text
    return ""


def _unchecked(seconds: float, image: str, refusal: str) -> str:
    """Say what is wrong, and what to do, if selectors are not checked after so many seconds."""
    found = f"refuses every patch ({refusal})" if refusal else "takes a patch whose selector does not compile"
    freed = f"; `kubectl delete validatingwebhookconfiguration {IN_CLUSTER}` lets patches pass again" if refusal else ""
    return (
        f"the objects are there, but after {seconds:g} s the API server still {found}; look at `kubectl -n {NAMESPACE} "
        f"get pods` (can its node get the image {image}?); on a cluster whose pods run no containers, such as an "
        f"embedded one, use `drakit webhook patches --register`{freed}"
    )


async def _tried(connection: Connection, devices: Object, **selecting: object) -> Object:
    """Return a new patch as it would be stored. Raises what a request can fail with."""
    patch = {
        "apiVersion": RESOURCE_SLICE_PATCHES.api_version,
        "kind": RESOURCE_SLICE_PATCHES.kind,
        "metadata": {"generateName": "drakit-trial-"},
        "spec": {"devices": {"filter": {"driver": _DRIVER, **selecting}, **devices}},
    }
    return await connection.json("POST", RESOURCE_SLICE_PATCHES.path(), patch, params={"dryRun": "All"})
