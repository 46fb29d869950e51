"""The tags of images, which decide when a kubelet pulls them.

After ParseImageName in k8s.io/kubernetes/pkg/util/parsers/parsers.go and the grammar of
github.com/distribution/reference.
"""

from __future__ import annotations

import re

_LATEST = "latest"
_COMPONENT = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"(?:{_COMPONENT}(?:\.{_COMPONENT})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?P<name>(?:{_HOST}/)?{_PART}(?:/{_PART})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?"
    r"(?P<digest>@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}))?",
    re.ASCII,
)
_LONGEST_NAME = 255
_IDENTIFIER = re.compile("[a-f0-9]{64}")


def pull_policy(image: str) -> str:
    """Default the pull policy: ``Always`` for a tag ``latest``, given or implied (SetDefaults_Container)."""
    match = None if _IDENTIFIER.fullmatch(image) else _IMAGE.fullmatch(image)
    if match is None or len(match["name"]) > _LONGEST_NAME:
        return "IfNotPresent"
    tag = match["tag"] or ("" if match["digest"] else _LATEST)
    return "Always" if tag == _LATEST else "IfNotPresent"
