"""What kind is told about a cluster: its nodes, their images, and the flags of every component.

kind's own ``featureGates`` gives the same gates to all components, which Kubernetes refuses as soon as versions differ
or are emulated; so each component gets its own here, through kubeadm's configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import yaml

from drakit_api.features import FeatureGateError, FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Component
from drakit_kind.clusters.flags import Behaviour, Change
from drakit_kind.clusters.known_gates import known_gates
from drakit_kind.nodes.kubelet_config import SYNC_FREQUENCY, settable_gates

# The longest name of a cluster: drakit-NAME-abcdef-control-plane is a host name (man 7 hostname).
_NAME_LENGTH = 35
# Names of the components in kubeadm's ClusterConfiguration.
_SECTIONS: Mapping[Component, str] = {
    "apiserver": "apiServer",
    "controllers": "controllerManager",
    "scheduler": "scheduler",
}
# The program of each component, after which static pods and their containers are named.
MAIN_PROGRAMS: Mapping[Component, str] = {
    "apiserver": "kube-apiserver",
    "controllers": "kube-controller-manager",
    "scheduler": "kube-scheduler",
    "kubelet": "kubelet",
}
# A test changes components often; waiting for a lease to expire after each restart, or for watches to end before it,
# would be most of its time.
_QUICK: Mapping[Component, Mapping[str, str]] = {
    "apiserver": {"shutdown-send-retry-after": "true"},
    "controllers": {"leader-elect": "false"},
    "scheduler": {"leader-elect": "false"},
}


def kind_config(spec: ClusterSpec, images: Mapping[str, str], *, dns: bool) -> Object:
    """Make kind's Cluster object. ``images`` are node images by Kubernetes version; ``dns``: whether they have CoreDNS.

    The workers carry the names of ``spec.nodes``.
    """
    config: Object = {
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "kind": "Cluster",
        "networking": {"apiServerAddress": "127.0.0.1"} | ({"apiServerPort": spec.port} if spec.port else {}),
        "kubeadmConfigPatches": [_text(patch) for patch in _patches(spec, dns=dns)],
        "nodes": [{"role": "control-plane", "image": images[spec.version]}],
    }
    if spec.runtime_config:
        config["runtimeConfig"] = dict(spec.runtime_config)
    worker = images[spec.version_of("kubelet")]
    for name in spec.nodes:
        registration = _text({"kind": "JoinConfiguration", "nodeRegistration": {"name": name}})
        config["nodes"].append({"role": "worker", "image": worker, "kubeadmConfigPatches": [registration]})
    return config


def behaviour_of(spec: ClusterSpec, component: Component, change: Change | None = None) -> Behaviour:
    """Combine a cluster's spec with a change of a program that kind starts: these are all Kubernetes' own.

    drakit's scheduler is always beside them, and takes kube-scheduler's place where the spec says so.
    """
    started = replace(spec, real=frozenset(COMPONENTS))
    return Behaviour.of(started, component, change or Change(), beside={"scheduler"})


def component_flags(component: Component, behaviour: Behaviour) -> dict[str, str]:
    """Return the control plane component's flags that depend on version and gates, by name."""
    return {**behaviour.flags(), **_QUICK.get(component, {})}


def at_creation(spec: ClusterSpec, component: Component) -> Behaviour:
    """Return how kind starts a component: a control plane has the version of its node image.

    A component of another version is restarted as that later, see ``Restarts.settle``; its gates and emulated version
    apply from then on.
    """
    asked = behaviour_of(spec, component)
    is_static_pod = component in _SECTIONS
    return Behaviour(version=spec.version) if is_static_pod and asked.version != spec.version else asked


def gates_of_our_scheduler(spec: ClusterSpec) -> FeatureGates:
    """Return the cluster's gates that drakit's scheduler knows; raise ``FeatureGateError`` for settings it refuses."""
    return FeatureGates(spec.behaves_as("scheduler"), known_gates(spec.gates))


def check_components(spec: ClusterSpec) -> None:
    """Raise ``ClusterError`` for what kind cannot have."""
    if len(spec.name) > _NAME_LENGTH:
        raise ClusterError(
            f"cluster name {spec.name!r}: in kind use at most {_NAME_LENGTH} characters, as names of nodes are made of "
            "it and Linux allows 63 for those"
        )
    if missing := sorted({"apiserver", "controllers", "kubelet"} - spec.real):
        raise ClusterError(
            f"in kind, only the scheduler can be drakit's: real must have {', '.join(missing)} too; for other "
            "combinations use the backend binaries"
        )
    if not spec.scheduler:
        raise ClusterError("in kind, drakit's drivers are pods, which a scheduler has to place: scheduler must be True")
    if spec.token is not None or not spec.tls:
        raise ClusterError("in kind, kubeadm makes the certificates that clients need: leave token and tls as they are")
    _patches(spec, dns=True)  # which finds gates of drakit's that no component here would act by
    try:
        gates_of_our_scheduler(spec)
    except FeatureGateError as error:
        raise ClusterError(f"drakit's scheduler, which every cluster in kind has: {error}") from None


def _patches(spec: ClusterSpec, *, dns: bool) -> list[Object]:
    sections: Object = {}
    for component, section in _SECTIONS.items():
        if flags := component_flags(component, at_creation(spec, component)):
            sections[section] = {"extraArgs": flags}
    # Without fsync a crash of the machine may cost a test cluster its data; with it, each write waits for the disk.
    sections["etcd"] = {"local": {"extraArgs": {"unsafe-no-fsync": "true"}}}
    patches = [{"kind": "ClusterConfiguration", **sections}, _kubelet(spec)]
    if not dns:
        # A list in a patch replaces the one of kind, which leaves the checks out.
        patches.append({"kind": "InitConfiguration", "skipPhases": ["preflight", "addon/coredns"]})
    return patches


def _kubelet(spec: ClusterSpec) -> Object:
    """One configuration for all kubelets, so it has the gates that each of them can be told."""
    gates = behaviour_of(spec, "kubelet").gates
    for version in {spec.version, spec.version_of("kubelet")}:
        gates, _ = settable_gates(Behaviour(version=version, emulated_version=spec.emulated_version, gates=gates))
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "syncFrequency": SYNC_FREQUENCY,
        **({"featureGates": dict(gates)} if gates else {}),
    }


def _text(patch: Object) -> str:
    return yaml.safe_dump(patch, sort_keys=False)
