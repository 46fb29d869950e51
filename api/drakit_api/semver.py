"""Version attributes of devices as selectors read them: strict semver 2.0.0.

CEL compares them by ``github.com/blang/semver/v4``, which is stricter than the ``semver`` library in a single point: a
number must fit into 64 bits. The API server goes by a regular expression without that bound, so it takes versions that
no selector can compare (``drakit_api.validation.slices.attributes``); a layout may not have them.
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
