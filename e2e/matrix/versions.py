"""Which version a component is, by what it says itself: that it was asked to be one is no proof.

Kubernetes' programs print theirs when they start, before they are healthy, whatever else they are told to print. Ours
say what they behave like where Kubernetes has a field for it: the API server in ``/version``, kubelets in their nodes.
"""

from __future__ import annotations

import re

from drakit_kind.cluster import Component, minor_version

# cmd/kube-apiserver/app/server.go, cmd/kube-controller-manager/app/controllermanager.go,
# cmd/kube-scheduler/app/server.go and cmd/kubelet/app/server.go, the same from 1.34 to 1.37.
_PRINTED: dict[Component, str] = {
    "apiserver": r"\] Version: v(\S+)$",
    "controllers": r'\] "Starting" version="v([^"]+)"$',
    "scheduler": r'\] "Starting Kubernetes Scheduler" version="v([^"]+)"$',
    "kubelet": r'\] "Kubelet version" kubeletVersion="v([^"]+)"$',
}


def last_started(component: Component, log: str) -> str | None:
    """The version, as "1.37.1", that a real component said at its last start; None if it never did."""
    started = re.findall(_PRINTED[component], log, re.MULTILINE)
    return started[-1] if started else None


def starts(component: Component, log: str) -> set[str]:
    """The lines of a log, each with its time, with which a component says that it starts; ours, that it has started."""
    said = rf"^.*{_PRINTED[component]}|^.* I drakit: {component} started$"
    return {line[0] for line in re.finditer(said, log, re.MULTILINE)}


def is_at_least(version: str, minor: str) -> bool:
    """Whether "1.37.1" is of the minor version "1.36" or a later one."""
    return _numbers(minor_version(version)) >= _numbers(minor)


def _numbers(minor: str) -> tuple[int, ...]:
    return tuple(map(int, minor.split(".")))
