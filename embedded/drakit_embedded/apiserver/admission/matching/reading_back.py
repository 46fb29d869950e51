"""What webhooks and policies have made of an object, as an object again."""

from __future__ import annotations

from typing import Any

import msgspec

from drakit_api.golang import gojson
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching.shown import taken
from drakit_embedded.apiserver.scheme.kinds import Kind, handled
from drakit_embedded.apiserver.statuses import StatusError


def read_back(
    patched: Any, attributes: Attributes, shown_as: Kind, cluster: GuardedCluster, *, strict: bool = False
) -> Object:
    """Read a patched object by the types of its kind; ``strict`` where unknown fields are an error.

    Raises:
        StatusError: 500 if it cannot be read, as upstream.
    """
    kind, meta = handled(shown_as, attributes.subresource).kind, None
    if isinstance(patched, dict):
        meta = patched.get("metadata")
    if not isinstance(patched, dict) or not isinstance(meta, dict | None):
        why = f"json: cannot unmarshal {gojson.name_of(patched if meta is None else meta)} into Go value of type {kind}"
        raise statuses.internal(why)
    if "metadata" not in patched and attributes.operation != "CONNECT":
        patched["metadata"] = {}
    try:
        return taken(patched, attributes, shown_as, cluster, strict=strict)
    except StatusError as error:
        _, found, why = error.message.partition(f"cannot be handled as a {kind}: ")
        raise statuses.internal(why if found else error.message) from None
    except msgspec.ValidationError as error:
        raise statuses.internal(str(error)) from None
