"""Which programs a real component is, and how a cluster's versions and gates become their flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drakit_api.features import FeatureGates
from drakit_kind.cluster import ClusterError, ClusterSpec, Component, minor_version

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
    def of(cls, spec: ClusterSpec, component: Component, change: Change = Change()) -> Behaviour:
        """Combine a cluster's spec with a change; ``ClusterError`` for the emulated version of a real kubelet."""
        if component == "kubelet" and component in spec.real and change.emulated_version is not None:
            raise ClusterError("a kubelet has no emulated version; name a version")
        return cls(
            version=change.version or spec.version_of(component),
            emulated_version=change.emulated_version or spec.emulated_version,
            gates=dict(spec.gates if change.gates is None else change.gates),
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


def gates_flag(gates: Mapping[str, bool]) -> str:
    """Write gates as ``A=true,B=false`` for a real component; ``ClusterError`` for one that only drakit has."""
    kit_only = {gate.name for gate in FeatureGates().known() if gate.kit_only}
    if unknown := sorted(kit_only & gates.keys()):
        raise ClusterError(
            f"feature gate {unknown[0]} exists in drakit's own components only; "
            "leave it out where the component is Kubernetes' own"
        )
    return gates_text(gates)


def gates_text(gates: Mapping[str, bool]) -> str:
    """Write gates as ``A=true,B=false``, sorted by name."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(gates.items()))


def arguments(flags: Mapping[str, object]) -> list[str]:
    """Write each flag as ``--name=value``."""
    return [f"--{name}={value}" for name, value in flags.items()]
