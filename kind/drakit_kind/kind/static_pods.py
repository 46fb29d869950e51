"""The manifest of a component of the control plane, as an administrator would edit it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy

from drakit_api.kubernetes_objects import Object

MANIFESTS = "/etc/kubernetes/manifests"
# The flags that a restart may set or remove; others stay as kubeadm wrote them.
_CHANGING = ("feature-gates", "emulated-version")


def changed(manifest: Object, flags: Mapping[str, str], *, image: str | None = None) -> Object:
    """Copy a manifest with other flags, and perhaps another image."""
    new = deepcopy(manifest)
    (container,) = new["spec"]["containers"]
    kept = [word for word in container["command"] if _name(word) not in {*flags, *_CHANGING}]
    container["command"] = kept + [f"--{name}={value}" for name, value in flags.items()]
    if image is not None:
        container["image"] = image
    if probe := container.get("startupProbe"):
        # kubeadm looks every ten seconds, and for the first time after ten; as long as before, but every second.
        seconds = probe.get("initialDelaySeconds", 0) + probe.get("periodSeconds", 10) * probe.get(
            "failureThreshold", 3
        )
        probe |= {"initialDelaySeconds": 0, "periodSeconds": 1, "failureThreshold": seconds}
    return new


def health_address(manifest: Object) -> tuple[str, str]:
    """Return where the kubelet asks whether the component is ready, e.g. ``https://127.0.0.1:10259``, ``/readyz``.

    Those without a readiness probe are asked whether they have started (cmd/kubeadm/app/phases/controlplane).
    """
    (container,) = manifest["spec"]["containers"]
    probe = (container.get("readinessProbe") or container["startupProbe"])["httpGet"]
    ports = {port.get("name"): port["containerPort"] for port in container.get("ports", ())}
    port = ports.get(probe["port"], probe["port"])
    return f"{probe.get('scheme', 'HTTP').lower()}://{probe['host']}:{port}", probe["path"]


def _name(word: str) -> str:
    return word.removeprefix("--").partition("=")[0] if word.startswith("--") else ""
