"""Which programs a real component is, and how a cluster's versions and gates become their flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drakit_api.features import NEWEST_EMULATED, OLDEST_EMULATED, FeatureGateError, FeatureGates, Gate
from drakit_kind.cluster import ClusterError, ClusterSpec, Component, DriverSpec, minor_version

# What each component runs; etcd goes with the API server, and stays while that is restarted.
PROGRAMS: dict[Component, tuple[str, ...]] = {
    "apiserver": ("etcd", "kube-apiserver"),
    "controllers": ("kube-controller-manager",),
    "scheduler": ("kube-scheduler",),
    "kubelet": ("kubelet", "containerd", "containerd-shim-runc-v2", "ctr", "bridge", "host-local", "loopback", "pause"),
}

# component-base's own, of every version.
_OF_A_STAGE = ("AllAlpha", "AllBeta")


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What one component is (``version``, "1.37.1"), behaves like ("1.36"; None is its own) and has switched."""

    version: str
    emulated_version: str | None = None
    gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def minor(self) -> str:
        """The minor version that it behaves like, e.g. "1.36"."""
        return self.emulated_version or minor_version(self.version)

    @classmethod
    def of(
        cls,
        spec: ClusterSpec,
        component: Component,
        *,
        version: str | None = None,
        gates: Mapping[str, bool] | None = None,
        emulated_version: str | None = None,
    ) -> Behaviour:
        """What a cluster's spec says of a component, but for what is given here, as to ``Cluster.restart``."""
        if component == "kubelet" and component in spec.real and emulated_version is not None:
            raise ClusterError("a kubelet has no emulated version; name a version")
        return cls(
            version=version or spec.version_of(component),
            emulated_version=emulated_version or spec.emulated_version,
            gates=dict(spec.gates if gates is None else gates),
        )

    def feature_gates(self) -> FeatureGates:
        """The gates of one of our components; raises ``FeatureGateError`` where Kubernetes would refuse them."""
        return FeatureGates(self.minor, self.gates)

    def flags(self) -> dict[str, str]:
        """``--feature-gates`` and ``--emulated-version`` of a real component of the control plane.

        Raises ``ClusterError`` for a gate that only drakit's components know.
        """
        flags = {"feature-gates": gates_flag(self.gates)} if self.gates else {}
        if self.minor != minor_version(self.version):
            flags["emulated-version"] = f"kube={self.minor}"
        return flags


def gates_flag(gates: Mapping[str, bool]) -> str:
    """``A=true,B=false`` for a real component; raises ``ClusterError`` for a gate of the kit."""
    kit_only = {gate.name for gate in FeatureGates().known() if gate.kit_only}
    if unknown := sorted(kit_only & gates.keys()):
        raise ClusterError(
            f"feature gate {unknown[0]} exists in drakit's own components only; "
            "leave it out where the component is Kubernetes' own"
        )
    return gates_text(gates)


def gates_known(version: str) -> dict[str, Gate]:
    """The gates of DRA that a version has ("1.37.1" or "1.37"), by name; none where drakit does not know the version.

    Such a version can be that of real components, from a directory that the user names.
    """
    try:
        return {gate.name: gate for gate in FeatureGates(minor_version(version)).known()}
    except FeatureGateError:
        return {}


def driver_gates(spec: ClusterSpec, driver: DriverSpec) -> FeatureGates:
    """The gates of one of a cluster's own drivers, as on its kubelets; raises ``ClusterError`` for its own wrong ones.

    It is ours, so of what real components may know besides it gets what drakit knows, of the nearest version.
    """
    oldest, newest = _numbers(OLDEST_EMULATED), _numbers(NEWEST_EMULATED)
    major, minor = min(max(_numbers(spec.behaves_as("kubelet")), oldest), newest)
    known = gates_known(f"{major}.{minor}")
    of_cluster = {name: on for name, on in spec.gates.items() if name in known or name in _OF_A_STAGE}
    try:
        return FeatureGates(f"{major}.{minor}", of_cluster | dict(driver.gates))
    except FeatureGateError as error:
        raise ClusterError(f"driver {driver.name or driver.profile}: {error}") from None


def _numbers(version: str) -> tuple[int, int]:
    major, minor = minor_version(version).split(".")
    return int(major), int(minor)


def gates_text(gates: Mapping[str, bool]) -> str:
    """``A=true,B=false``, as on a command line."""
    return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(gates.items()))


def arguments(flags: Mapping[str, object]) -> list[str]:
    """``--name=value`` for each flag."""
    return [f"--{name}={value}" for name, value in flags.items()]
