"""The order of API versions: GA before beta before alpha, the newest first, other names last and by the alphabet.

k8s.io/apimachinery/pkg/version/helpers.go CompareKubeAwareVersionStrings.
"""

from __future__ import annotations

import re

_KUBE_LIKE = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STAGES = {"alpha": 2, "beta": 1, None: 0}


def rank(version: str) -> tuple[int, int, int, str]:
    """Compute the sort key of a version; the lowest is preferred."""
    match = _KUBE_LIKE.fullmatch(version)
    if match is None:
        return 3, 0, 0, version
    major, stage, minor = match.groups()
    return _STAGES[stage], -int(major), -int(minor or 0), ""
