"""``--runtime-config``: which API versions are served besides the default ones, and what is refused in such a list.

Beside the API server and not in it, so that a command can check what it was given without loading a server.
(k8s.io/apiserver/pkg/server/resourceconfig/helpers.go, pkg/server/options/api_enablement.go)
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from drakit_embedded.api_groups import PRIORITIES

RuntimeConfig = Mapping[str, str]

_STAGES = {
    "api/all": re.compile(""),
    "api/ga": re.compile(r"^v\d+$"),
    "api/beta": re.compile(r"^v\d+beta\d+$"),
    "api/alpha": re.compile(r"^v\d+alpha\d+$"),
}
_TRUE = {"1", "t", "T", "TRUE", "true", "True", ""}
_FALSE = {"0", "f", "F", "FALSE", "false", "False"}
# Of most groups this server has only what its components need: asking for more of them is no error, so that one
# configuration serves for both.
_GROUPS = PRIORITIES.keys() - {""}
_RESOURCE_VERSIONS = PRIORITIES["resource.k8s.io"][1].keys()


class RuntimeConfigError(ValueError):
    """An entry that kube-apiserver would refuse too."""


def parse(text: str) -> dict[str, str]:
    """Parse ``a=true,b=false`` and ``a`` to a mapping; raises ``RuntimeConfigError`` for what names no API."""
    entries = [entry.strip().partition("=") for entry in text.split(",") if entry.strip()]
    config = {key: value for key, _, value in entries}
    check(config)
    return config


def check(config: RuntimeConfig) -> None:
    """Raise ``RuntimeConfigError`` for a key that names no API of Kubernetes 1.37, or a value that is no boolean."""
    for key, value in config.items():
        if value not in _TRUE | _FALSE:
            raise RuntimeConfigError(f"--runtime-config {key}={value}: the value must be true or false")
        if key in _STAGES:
            continue
        group, *rest = key.split("/")
        if not 1 <= len(rest) <= 2:
            raise RuntimeConfigError(
                f"--runtime-config invalid key {key}: write GROUP/VERSION or GROUP/VERSION/RESOURCE, "
                "e.g. resource.k8s.io/v1beta1=true"
            )
        if group not in _GROUPS:
            raise RuntimeConfigError(f"--runtime-config {key}: unknown api groups {group}/{rest[0]}")
        if group == "resource.k8s.io" and rest[0] not in _RESOURCE_VERSIONS:
            raise RuntimeConfigError(
                f"--runtime-config {key}: group version {group}/{rest[0]} that has not been registered; "
                f"there are {', '.join(sorted(_RESOURCE_VERSIONS))}"
            )


def enabled(api_version: str, plural: str, config: RuntimeConfig) -> bool:
    """Check whether a kind is served in its version: the most specific entry decides; the default is GA only."""
    version = api_version.rpartition("/")[2]
    stages = [key for key, pattern in _STAGES.items() if pattern.match(version)]
    served = "api/ga" in stages
    for key in (*stages, api_version, f"{api_version}/{plural}"):
        if key in config:
            served = config[key] in _TRUE
    return served
