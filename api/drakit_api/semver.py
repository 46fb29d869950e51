"""Version attributes of devices: strict semver 2.0.0.

The API server validates them (``k8s.io/kubernetes`` 1.37 ``pkg/apis/resource/validation``) with the parser that CEL
selectors compare them with, ``github.com/blang/semver/v4``. That one is stricter than the ``semver`` library in a
single point: a number must fit into 64 bits. Wrapped here so that validation and selectors cannot drift apart.
"""

from __future__ import annotations

from semver import Version

__all__ = ["Version", "parse"]

_UINT64_MAX = 2**64 - 1


def parse(text: str) -> Version:
    """Read ``MAJOR.MINOR.PATCH[-PRE][+BUILD]``.

    Raises ``ValueError`` for anything else, ``v1.2.3`` and ``1.2`` included.
    """
    if not text.isascii():
        raise ValueError(f"{text!r} is not a semantic version: it has characters outside of ASCII")
    version = Version.parse(text)
    numbers = [version.major, version.minor, version.patch]
    numbers += [int(part) for part in (version.prerelease or "").split(".") if part.isdigit()]
    if max(numbers) > _UINT64_MAX:
        raise ValueError(f"{text!r} is not a semantic version: a number in it does not fit into 64 bits")
    return version
