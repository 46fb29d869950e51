"""What webhooks and policies have made of an object, as an object again."""

from __future__ import annotations

from typing import Any

import msgspec

from drakit_api.golang import gojson
from drakit_api.golang.gostrings import marshaled
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching import changed_custom
from drakit_embedded.apiserver.admission.matching.shown import taken
from drakit_embedded.apiserver.scheme.kinds import Kind, handled
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.wire import bodies


def read_back(
    patched: Any, attributes: Attributes, shown_as: Kind, cluster: GuardedCluster, *, strict: bool = False
) -> Object:
    """Read a patched object by the types of its kind; ``strict`` where unknown fields are an error.

    Raises:
        StatusError: 500 if it cannot be read, as upstream.
    """
    _check_type(patched)
    expected = handled(shown_as, attributes.subresource)
    kind = expected.kind
    if shown_as.definition is not None and expected == handled(shown_as, ""):
        return _custom(patched, attributes, shown_as, cluster)
    if "metadata" not in patched and attributes.operation != "CONNECT":
        patched["metadata"] = {}
    try:
        if expected == handled(shown_as, ""):
            patched = bodies.typed(patched, shown_as)
        return taken(patched, attributes, shown_as, cluster, strict=strict)
    except StatusError as error:
        _, found, why = error.message.partition(f"cannot be handled as a {kind}: ")
        raise statuses.internal(why if found else error.message) from None
    except msgspec.ValidationError as error:
        raise statuses.internal(str(error)) from None


def _check_type(patched: Any) -> None:
    try:
        bodies.check_type(patched)
    except gojson.JsonError as error:
        raise statuses.internal(f"couldn't get version/kind; json parse error: {error}") from None
    except bodies.BodyError as error:
        raise statuses.internal(str(error)) from None


def _custom(made: Object, attributes: Attributes, kind: Kind, cluster: GuardedCluster) -> Object:
    if not made.get("kind"):
        raise statuses.internal(f"Object 'Kind' is missing in '{marshaled(made)}'")
    if (literal := gojson.too_large(made)) is not None:
        raise statuses.internal(gojson.of_float(literal))
    return taken(changed_custom.checked(made, attributes, kind), attributes, kind, cluster)
