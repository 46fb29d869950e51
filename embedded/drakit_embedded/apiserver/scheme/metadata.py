"""What the server itself puts into metadata: times, UIDs and generated names.

All of it is made up once for a request, however often the request is run (``reruns``).
"""

from __future__ import annotations

import secrets
import time
import uuid
from typing import Any

from drakit_embedded.apiserver.reruns import memory

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_LONGEST_GENERATED = 63

# What Kubernetes' documentation says of two of its fields, which tables show as columns.
NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a "
    "client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
AGE_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed "
    "to be set in happens-before order across separate operations. Clients may not set this value. It is represented "
    "in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)

_clock: tuple[int, str] = (0, "")


def timestamp(offset: int = 0) -> str:
    """Print the time now, or ``offset`` seconds later, as ``metav1.Time`` does."""
    global _clock
    now = memory.now()
    if offset:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + offset))
    if _clock[0] != now:
        _clock = (now, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)))
    return _clock[1]


def new_uid() -> str:
    """Generate a random UID."""
    return memory.once("uid", _uid)


def _uid() -> str:
    return str(uuid.uuid4())


def generated_name(base: str) -> str:
    """Append five random characters to ``generateName`` (k8s.io/apiserver/pkg/storage/names/generate.go)."""
    return base[: _LONGEST_GENERATED - _SUFFIX_LENGTH] + random_suffix()


def without_repeated_owners(meta: dict[str, Any], *, patched: bool = False) -> list[str]:
    """Remove repeated owner references from ``meta``; returns the warnings about them.

    dedupOwnerReferencesAndAddWarning of k8s.io/apiserver/pkg/endpoints/handlers/rest.go, which comes later for patches.
    """
    owners = meta.get("ownerReferences") or []
    if len(owners) < 2:
        return []
    # Their values are strings and booleans, so they can be hashed.
    kept: dict[frozenset[tuple[str, Any]], dict[str, Any]] = {}
    repeated = [
        owner.get("uid") or "" for owner in owners if kept.setdefault(frozenset(owner.items()), owner) is not owner
    ]
    if not repeated:
        return []
    meta["ownerReferences"] = list(kept.values())
    when = " after mutating admission happens" if patched else ""
    return [
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and "
        "may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
        + ", ".join(repeated)
    ]


def random_suffix() -> str:
    """Generate five random characters that spell no word."""
    return memory.once("suffix", _suffix)


def _suffix() -> str:
    return "".join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))


def random_below(limit: int) -> int:
    """Choose a number from 0 on, below ``limit``."""
    return memory.once("number", _number) % limit


def _number() -> int:
    # So many bits that the remainder is as good as evenly distributed.
    return secrets.randbits(128)
