"""Writing ResourceClaims back although their spec may not change, not even by a space.

The API server keeps opaque parameters as the text that they came in, prints them anew in JSON answers, and compares
texts when a claim is updated. So a claim that was created with ``{"k": 1}``, as Python's ``json.dumps`` writes it,
cannot be read in JSON and written again: ``spec: field is immutable``, or ``status.allocation: field is immutable``
where the text is in an allocation. A patch of its metadata fails in the same way. Kubernetes' own components do not
notice, because they read and write protobuf, which has the text as it is.

Claims are written in JSON here as everything else is; only one that is refused as invalid is read again in protobuf,
changed there, and sent back. What is not changed keeps its bytes.

Sources: kubernetes ``pkg/apis/resource/validation/validation.go`` (ValidateResourceClaimUpdate), k8s.io/apimachinery
``pkg/runtime/extension.go`` and ``pkg/runtime/serializer/protobuf/protobuf.go``. ``stored_claim_pb2`` is generated, in
the folder ``api``::

    python -m grpc_tools.protoc -I . --python_out=. --pyi_out=. drakit_client/claim_writes/*.proto
    sed -i '1i # mypy: disable-error-code="type-arg"' drakit_client/claim_writes/*_pb2.pyi
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from drakit_api.typed_objects import (
    ObjectMeta,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
    as_claim,
)
from drakit_client.connection import Connection
from drakit_client.errors import Conflict, Invalid
from drakit_client.resources import RESOURCE_CLAIMS

if TYPE_CHECKING:
    from drakit_client.claim_writes.stored_claim_pb2 import Claim, Envelope

_MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"


async def replace(connection: Connection, claim: ResourceClaim, subresource: str | None = None) -> ResourceClaim:
    """Write a claim as it was read, with other finalizers and annotations, or (``status``) another status.

    Raises what the server answers, e.g. ``Conflict`` when the claim has changed since it was read.
    """
    try:
        namespace = claim["metadata"]["namespace"]
        return as_claim(await connection.replace(RESOURCE_CLAIMS, claim, namespace, subresource=subresource))
    except Invalid as refusal:
        envelope, stored = await _stored(connection, claim, refusal)
        if stored.metadata.resource_version != claim["metadata"]["resourceVersion"]:
            raise _conflict(f"claim {claim['metadata']['name']} has changed since it was read") from refusal
        if subresource is None:
            _set_metadata(stored, claim["metadata"])
        elif not _set_status(stored, claim.get("status") or {}):
            raise
        return await _send(connection, claim, envelope, stored, subresource)


async def annotate(connection: Connection, claim: ResourceClaim, annotations: dict[str, str]) -> ResourceClaim:
    """Add annotations to a claim, whatever else has changed. Raises ``Conflict`` for another claim of that name."""
    metadata = claim["metadata"]
    patch = {"metadata": {"uid": metadata["uid"], "annotations": annotations}}
    try:
        return as_claim(await connection.patch(RESOURCE_CLAIMS, metadata["name"], patch, metadata["namespace"]))
    except Invalid as refusal:
        envelope, stored = await _stored(connection, claim, refusal)
        stored.metadata.annotations.update(annotations)
        return await _send(connection, claim, envelope, stored, None)


async def _stored(connection: Connection, claim: ResourceClaim, refusal: Invalid) -> tuple[Envelope, Claim]:
    """Read the claim in protobuf. Raises the refusal again where a server does not write protobuf."""
    # Imported here, as few processes ever need it.
    from google.protobuf.message import DecodeError

    from drakit_client.claim_writes.stored_claim_pb2 import Claim, Envelope

    metadata = claim["metadata"]
    path = RESOURCE_CLAIMS.path(metadata["namespace"], metadata["name"])
    raw = await connection.request("GET", path, accept=_MEDIA_TYPE)
    try:
        envelope = Envelope.FromString(raw.removeprefix(_MAGIC))
        stored = Claim.FromString(envelope.raw)
    except DecodeError:
        raise refusal from None
    if stored.metadata.uid != metadata["uid"]:
        raise _conflict(f"another claim is called {metadata['name']} now")
    return envelope, stored


def _conflict(message: str) -> Conflict:
    return Conflict(409, {"reason": "Conflict", "message": message})


async def _send(
    connection: Connection, claim: ResourceClaim, envelope: Envelope, stored: Claim, subresource: str | None
) -> ResourceClaim:
    envelope.raw = stored.SerializeToString()
    path = RESOURCE_CLAIMS.path(claim["metadata"]["namespace"], claim["metadata"]["name"], subresource)
    body = _MAGIC + envelope.SerializeToString()
    answer: ResourceClaim = msgspec.json.decode(await connection.request("PUT", path, body, content_type=_MEDIA_TYPE))
    return answer


def _set_metadata(stored: Claim, metadata: ObjectMeta) -> None:
    stored.metadata.annotations.clear()
    stored.metadata.annotations.update(metadata.get("annotations") or {})
    stored.metadata.finalizers[:] = metadata.get("finalizers") or []


def _set_status(stored: Claim, status: ResourceClaimStatus) -> bool:
    """Set reservations as wanted, and keep or drop the allocation; False if it is one that is not stored."""
    allocated = bool(status.get("allocation"))
    if allocated and not stored.status.HasField("allocation"):
        return False
    if not allocated:
        stored.status.ClearField("allocation")
    if not status.get("devices"):
        stored.status.ClearField("devices")
    del stored.status.reserved_for[:]
    for consumer in status.get("reservedFor") or []:
        _add_consumer(stored, consumer)
    return True


def _add_consumer(stored: Claim, consumer: ResourceClaimConsumerReference) -> None:
    stored.status.reserved_for.add(
        api_group=consumer.get("apiGroup") or "",
        resource=consumer.get("resource") or "",
        name=consumer.get("name") or "",
        uid=consumer.get("uid") or "",
    )
