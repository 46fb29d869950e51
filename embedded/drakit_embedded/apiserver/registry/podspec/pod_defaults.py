"""Defaults of the parts of a container that only kubelets look at: probes and hooks.

They are set because clients count on them; ``kubectl describe`` follows some without looking. After SetDefaults_Probe
and its neighbours in k8s.io/kubernetes/pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.podspec.containers.probe_rules import PROBES

_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def default_probes(container: Object) -> None:
    """Set the defaults of probes, and of the HTTP requests that probes and hooks make."""
    probes = [container[name] for name in PROBES if container.get(name) is not None]
    for probe in probes:
        for key, value in _PROBE.items():
            probe[key] = probe.get(key) or value
        if probe.get("grpc") is not None:
            probe["grpc"].setdefault("service", "")
    hooks = (container.get("lifecycle") or {}).values()
    for action in (*probes, *filter(None, (hook for hook in hooks if isinstance(hook, dict)))):
        if action.get("httpGet") is not None:
            action["httpGet"]["path"] = action["httpGet"].get("path") or "/"
            action["httpGet"]["scheme"] = action["httpGet"].get("scheme") or "HTTP"
