"""Which programs a real component is, and how a cluster's versions and gates become their flags."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from drakit_api.features import FeatureGates
from drakit_kind.cluster import ClusterError, ClusterSpec, Component, minor_version
from drakit_kind.clusters.backends import started_components
from drakit_kind.clusters.known_gates import ACTING, is_kit_gate_of

# The programs of each component; etcd starts and stops with the cluster's API server, but stays while that restarts.
PROGRAMS: dict[Component, tuple[str, ...]] = {
    "apiserver": ("etcd", "kube-apiserver"),
    "controllers": ("kube-controller-manager",),
    "scheduler": ("kube-scheduler",),
    "kubelet": ("kubelet", "containerd", "containerd-shim-runc-v2", "ctr", "bridge", "host-local", "loopback", "pause"),
}


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a restart changes of a component; what is None becomes as the cluster was started."""

    version: str | None = None
    gates: Mapping[str, bool] | None = None
    emulated_version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """The version that a component is ("1.37.1"), the one that it emulates ("1.36"; None is its own), its gates."""

    version: str
    emulated_version: str | None = None
    gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def minor(self) -> str:
        """The minor version that it behaves like, e.g. "1.36"."""
        return self.emulated_version or minor_version(self.version)

    @classmethod
    def of(
        cls, spec: ClusterSpec, component: Component, change: Change = Change(), *, beside: Collection[Component] = ()
    ) -> Behaviour:
        """Combine a cluster's spec with a change; ``ClusterError`` for the emulated version of a real kubelet.

        Of the cluster's gates, a real component is not told those that only drakit has, if one of ours acts by them, be
        it in a slot of the cluster or ``beside`` it. What a change says of gates is for this component, as it is.
        """
        if component == "kubelet" and component in spec.real and change.emulated_version is not None:
            raise ClusterError("a kubelet has no emulated version; name a version")
        return cls(
            version=change.version or spec.version_of(component),
            emulated_version=change.emulated_version or spec.emulated_version,
            gates=dict(_cluster_gates(spec, component, beside) if change.gates is None else change.gates),
        )

    def feature_gates(self) -> FeatureGates:
        """Return the gates of a drakit component; raise ``FeatureGateError`` where Kubernetes would refuse them."""
        return FeatureGates(self.minor, self.gates)

    def flags(self) -> dict[str, str]:
        """Return ``feature-gates`` and ``emulated-version``, where needed, of a real control plane component.

        Raises ``ClusterError`` for a gate that only drakit's components know.
        """
        flags = {"feature-gates": gates_flag(self.gates)} if self.gates else {}
        if self.minor != minor_version(self.version):
            flags["emulated-version"] = f"kube={self.minor}"
        return flags


def _cluster_gates(spec: ClusterSpec, component: Component, beside: Collection[Component]) -> Mapping[str, bool]:
    if component not in spec.real:
        return spec.gates
    ours = ({*started_components(spec)} - spec.real) | {*beside}
    return {name: on for name, on in spec.gates.items() if not is_kit_gate_of(name, ours)}


def gates_flag(gates: Mapping[str, bool]) -> str:
    """Write gates as ``A=true,B=false`` for a real component; ``ClusterError`` for one that only drakit has."""
    kit_only = {gate.name for gate in FeatureGates().known() if gate.kit_only}
    if unknown := sorted(kit_only & gates.keys()):
        raise ClusterError(
            f"feature gate {unknown[0]} exists in drakit's own components only, for {_listed(unknown[0])}; "
            "leave it out where the component is Kubernetes' own"
        )
    return gates_text(gates)


def _listed(gate: str) -> str:
    return " and ".join(sorted(ACTING[gate]))


def gates_text(gates: Mapping[str, bool]) -> str:
    """Write gates as ``A=true,B=false``, sorted by name."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(gates.items()))


def arguments(flags: Mapping[str, object]) -> list[str]:
    """Write each flag as ``--name=value``."""
    return [f"--{name}={value}" for name, value in flags.items()]
