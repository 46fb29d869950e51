"""What webhooks may answer wrongly: scripts for the hooks of a story.

A reply is a text with ``${uid}`` and the like in it, for which the hooks put what they were asked.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.vectors.malformed import damage, requests, trees, vocabulary

Script = dict[str, Any]

_PATCHES: tuple[Any, ...] = (
    [],
    [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}],
    [{"op": "replace", "path": "/spec", "value": {}}],
    [{"op": "remove", "path": "/spec"}],
    [{"op": "add", "path": "/metadata/labels/a~1b", "value": "c"}, {"op": "test", "path": "/kind", "value": "x"}],
    [{"op": "copy", "from": "/metadata", "path": "/spec/a"}, {"op": "move", "from": "/spec/a", "path": "/spec/b"}],
)
_TYPES = (
    "text/plain",
    "",
    "application/yaml",
    "application/json; charset=latin1",
    "application/vnd.kubernetes.protobuf",
)
_CODES = (
    100,
    201,
    202,
    204,
    206,
    299,
    300,
    301,
    304,
    400,
    401,
    403,
    404,
    409,
    410,
    413,
    418,
    422,
    429,
    500,
    502,
    503,
    504,
    599,
)
_LARGE = 8 * 1024 * 1024
# A webhook is given two seconds; a converting program always has thirty, which would be a long time to wait for.
_SLOW_SECONDS, _TOO_SLOW_SECONDS = 0.3, 20.0


def admission(body: Any, chance: Random) -> Script:
    """Answer an AdmissionReview of an object like ``body``."""
    response: Script = {"uid": "${uid}", "allowed": chance.random() < 0.75}
    if chance.random() < 0.6:
        response |= {"patchType": "JSONPatch", "patch": _patch(body, chance)}
    if chance.random() < 0.4:
        response["status"] = {"code": 403, "message": "no", "reason": "Forbidden"}
    if chance.random() < 0.2:
        response |= {"warnings": ["a warning"], "auditAnnotations": {"a": "b"}}
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
    return _sent(review, (_SLOW_SECONDS, _TOO_SLOW_SECONDS), chance)


def conversion(body: Any, chance: Random) -> Script:
    """Answer a ConversionReview of an object like ``body``."""
    metadata = {"name": "${name}", "namespace": "${namespace}", "uid": "${objectUID}", "labels": {"a": "b"}}
    made = {**body, "apiVersion": "${desired}", "kind": "${objectKind}", "metadata": metadata}
    if chance.random() < 0.6:
        made = damage.damaged(made, vocabulary.OBJECT, chance)
    response = {"uid": "${uid}", "result": {"status": "Success"}, "convertedObjects": [made]}
    review = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response}
    return _sent(review, (_SLOW_SECONDS,), chance)


def _patch(body: Any, chance: Random) -> str:
    """Encode a patch, which may be wrong as a value, as a text, or as base64."""
    if chance.random() < 0.6:
        tree = requests.operations(body, vocabulary.OBJECT, chance)
    else:
        tree = damage.damaged(chance.choice(_PATCHES), vocabulary.OBJECT, chance)
    text = trees.text(tree)
    if chance.random() < 0.15:
        text = requests.torn(text, chance)
    encoded = base64.b64encode(text.encode(errors="surrogateescape")).decode()
    if chance.random() < 0.9:
        return encoded
    return chance.choice(
        (encoded.rstrip("=") + "=", encoded[:-1], encoded + "\n", encoded.replace("/", "_"), "!" + encoded)
    )


def _sent(review: Script, delays: Sequence[float], chance: Random) -> Script:
    """Send a review, damaged or not, in one of the ways in which it may come."""
    if chance.random() < 0.75:
        review = damage.damaged(review, vocabulary.REPLY, chance)
    text = trees.text(review)
    script: Script = {"filled": text}
    match chance.randrange(20):
        case 0:
            script["filled"] = requests.torn(text, chance)
        case 1:
            script["http"] = chance.choice(_CODES)
        case 2:
            script["type"] = chance.choice(_TYPES)
        case 3:
            script["delay"] = chance.choice(delays)
        case 4:
            script["cut"] = chance.choice((0, 1, len(text) // 2))
        case 5:
            script |= {
                "http": chance.choice((301, 302, 307, 308)),
                "headers": {"Location": chance.choice(("/", "http://a.invalid"))},
            }
        case 6 if chance.random() < 0.3:
            script["filled"] = text[:-1] + ',"x":"' + "x" * _LARGE + '"}'
        case 7:
            script |= {"http": chance.choice(_CODES), "filled": json.dumps(_status(chance))}
        case _:
            pass
    return script


def _status(chance: Random) -> Any:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": "told",
        "reason": "Gone",
        "code": 410,
    }
    return json.loads(trees.text(status)) if chance.random() < 0.5 else {"message": "none"}
