"""Changing a running component of the control plane: its static pod's manifest, as an administrator would edit it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

Object = dict[str, Any]

MANIFESTS = "/etc/kubernetes/manifests"
RESTART_ANNOTATION = "drakit.dev/restart"
# What a restart may give or take; other flags stay as kubeadm wrote them.
_CHANGING = ("feature-gates", "emulated-version")


def changed(manifest: Object, flags: Mapping[str, str], *, image: str | None = None) -> tuple[Object, str]:
    """The manifest with other flags, and perhaps another image; and a token that the new pod carries.

    The token is the value of ``RESTART_ANNOTATION``, so that a restart is one also where nothing else changes.
    """
    new = deepcopy(manifest)
    token = secrets.token_hex(4)
    new["metadata"].setdefault("annotations", {})[RESTART_ANNOTATION] = token
    (container,) = new["spec"]["containers"]
    kept = [word for word in container["command"] if _name(word) not in {*flags, *_CHANGING}]
    container["command"] = kept + [f"--{name}={value}" for name, value in flags.items()]
    if image is not None:
        container["image"] = image
    return new, token


def _name(word: str) -> str:
    return word.removeprefix("--").partition("=")[0] if word.startswith("--") else ""
