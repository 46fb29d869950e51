"""What Kubernetes makes of new objects of every kind that is stored: of the least one there is, and of richer ones.

A line of ``api/defaults`` has a ``name``, the ``path`` of the collection, the ``object`` that is sent (without kind and
apiVersion), and ``stored``: the answer's object, as ``comparable`` shows it. "The least" object has what validation
wants; the others were grown by chance, field by field, as long as the real server took them. Those that are ``kept``
are made and read once more, the others are dry runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import aiohttp

from drakit_embedded.apiserver.scheme.kinds import REVIEWS, Kind, all_kinds
from tests.vectors import recordings
from tests.vectors.exchanges import UID, bare, without_times

Vector = dict[str, Any]

FILE = "defaults"
# Answered by the server itself, or served by none of its default groups.
_NOT_MADE = REVIEWS | {"apiservices", "componentstatuses", "customresourcedefinitions", "resourcepoolstatusrequests"}
_GENERATED = re.compile("(kube-api-access|[0-9]+\\.)-?[a-z0-9]{5}$")
# Who it was that asked for a certificate.
_REQUESTER = ("username", "uid", "groups", "extra")
# Set by the server, also where a client has sent another one.
_TIMES = frozenset({"lastPhaseTransitionTime", "lastTransitionTime"})
_TIME = "now"
# A controller inside kube-apiserver writes to the status of these, within 10 ms of their creation
# (k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go).
WRITTEN_AT_ONCE = frozenset({"FlowSchema"})


class RefusedError(Exception):
    """An object that the server does not take; the message is the server's."""


def recorded() -> tuple[Vector, ...]:
    """All lines."""
    return recordings.recorded(f"api/{FILE}")


def kinds() -> Iterator[Kind]:
    """Every kind that a client can make."""
    return (kind for kind in all_kinds() if kind.plural not in _NOT_MADE)


def path_of(kind: Kind) -> str:
    """The collection of a kind, in the namespace ``default``."""
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    return f"{root}/namespaces/default/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"


async def stored(session: aiohttp.ClientSession, token: str, vector: Vector) -> Any:
    """What a server makes of an object. Raises ``RefusedError``."""
    path, obj = vector["path"], vector["object"]
    kept = vector.get("kept", False)
    headers = {"Authorization": f"Bearer {token}"}
    query = {"fieldValidation": "Strict"} if kept else {"fieldValidation": "Strict", "dryRun": "All"}
    async with session.post(path, json=obj, params=query, headers=headers) as answer:
        made = await answer.json()
    if answer.status != 201:
        raise RefusedError(f"{path}: {made.get('message')}")
    if kept:
        place = f"{path}/{made['metadata']['name']}"
        async with session.get(place, headers=headers) as answer:
            made = await answer.json()
        async with session.delete(place, headers=headers, params={"gracePeriodSeconds": "0"}):
            pass
    return comparable(made)


def comparable(obj: Vector) -> Any:
    """A stored object without what differs from server to server and from time to time."""
    found = _without_chance(without_times(bare(obj)))
    if found.get("kind") == "CertificateSigningRequest":
        for field in _REQUESTER:
            found["spec"].pop(field, None)
    if found.get("kind") in WRITTEN_AT_ONCE:
        found.get("status", {}).pop("conditions", None)
    return found


def _without_chance(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _TIME if key in _TIMES and item else _without_chance(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_chance(item) for item in value]
    return _GENERATED.sub(r"\1-xxxxx", UID.sub("UID", value)) if isinstance(value, str) else value
