"""What the server itself puts into metadata: times, UIDs and generated names."""

from __future__ import annotations

import secrets
import time
import uuid

_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_LONGEST_GENERATED = 63

_clock: tuple[int, str] = (0, "")


def timestamp(offset: int = 0) -> str:
    """Now, or some seconds later, as ``metav1.Time`` prints it."""
    global _clock
    now = int(time.time())
    if offset:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + offset))
    if _clock[0] != now:
        _clock = (now, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)))
    return _clock[1]


def new_uid() -> str:
    """A random UID."""
    return str(uuid.uuid4())


def generated_name(base: str) -> str:
    """``generateName`` and five random characters (k8s.io/apiserver/pkg/storage/names/generate.go)."""
    return base[: _LONGEST_GENERATED - _SUFFIX_LENGTH] + random_suffix()


def random_suffix() -> str:
    """Five random characters that spell no word."""
    return "".join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(_SUFFIX_LENGTH))
