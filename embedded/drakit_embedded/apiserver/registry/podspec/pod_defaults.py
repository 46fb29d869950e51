"""Defaults of the parts of a pod that only kubelets look at: volumes, probes and hooks.

They are set because clients count on them; ``kubectl describe`` follows some without looking. After SetDefaults_Volume,
SetDefaults_Probe and their neighbours in k8s.io/kubernetes/pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from drakit_embedded.apiserver.registry.podspec.image_names import pull_policy
from drakit_embedded.apiserver.registry.podspec.probe_rules import PROBES
from drakit_embedded.apiserver.registry.strategy import Object

_READABLE = 0o644
_TOKEN_SECONDS = 3600
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def default_volumes(spec: Object) -> None:
    """A volume of no sort is empty; files from objects are readable by all."""
    for volume in spec.get("volumes") or ():
        if not any(value is not None for key, value in volume.items() if key != "name"):
            volume["emptyDir"] = {}
        for source in ("secret", "configMap", "downwardAPI", "projected"):
            if volume.get(source) is not None:
                volume[source].setdefault("defaultMode", _READABLE)
        if volume.get("hostPath") is not None:
            volume["hostPath"].setdefault("type", "")
        if volume.get("image") is not None:
            volume["image"]["pullPolicy"] = volume["image"].get("pullPolicy") or pull_policy(
                volume["image"].get("reference") or ""
            )
        if (template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate")) is not None:
            template.setdefault("metadata", {})
            template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        _default_projections(volume)


def _default_projections(volume: Object) -> None:
    if volume.get("projected") is not None:
        volume["projected"].setdefault("sources", None)
    projections = (volume.get("projected") or {}).get("sources") or ()
    for projection in projections:
        if projection.get("serviceAccountToken") is not None:
            projection["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
    for source in (volume, *projections):
        for item in (source.get("downwardAPI") or {}).get("items") or ():
            if item.get("fieldRef") is not None:
                item["fieldRef"].setdefault("apiVersion", "v1")


def default_probes(container: Object) -> None:
    """How often a probe asks and how long it waits, and where an HTTP request goes."""
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
