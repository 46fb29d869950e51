"""Feature gates of Dynamic Resource Allocation by emulated version, and drakit's own.

Every component is configured with an emulated version and overrides, and must refuse what the Kubernetes components
refuse, in the same words; a test matrix over versions is worthless if the fake parts are more lenient than the real
ones. Sources, both of 1.37.1: ``k8s.io/kubernetes`` ``pkg/features/kube_features.go`` (what each gate is in which
version, and what it depends on) and ``k8s.io/component-base`` ``featuregate/feature_gate.go`` (the rules and messages).
Of the gates outside of DRA only those are known that have to do with these by dependency, or that the embedded API
server asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from drakit_api.golang.goerrors import aggregated

Stage = Literal["ALPHA", "BETA", "GA", "PRE-ALPHA"]
Version = tuple[int, int]

OLDEST_EMULATED = "1.34"
NEWEST_EMULATED = "1.37"
MIXINS_GATE = "DRAResourceSliceMixins"  # ResourceSlices with spec.mixins, stored as they are
PATCHES_GATE = "DRAAdminControlledDeviceAttributes"  # ResourceSlicePatches, which change attributes of devices
_GLOBAL = {"AllAlpha": "ALPHA", "AllBeta": "BETA"}
_TRUE = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE = {"0", "f", "F", "FALSE", "false", "False"}


class FeatureGateError(ValueError):
    """A gate that cannot be set this way; the message is that of component-base."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What a gate is from a version on.

    With ``min_compatibility`` it is so only while all components of the control plane are at least that new.
    """

    since: Version
    default: bool
    stage: Stage
    locked: bool = False
    min_compatibility: Version | None = None


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate at one emulated version, as ``FeatureGates.known`` lists it."""

    name: str
    spec: Spec
    enabled: bool
    depends_on: tuple[str, ...]
    kit_only: bool


def _alpha(minor: int) -> Spec:
    return Spec((1, minor), False, "ALPHA")


def _beta(minor: int, *, default: bool = True) -> Spec:
    return Spec((1, minor), default, "BETA")


def _ga(minor: int, *, locked: bool) -> Spec:
    return Spec((1, minor), True, "GA", locked)


_PRE_ALPHA = Spec((0, 0), False, "PRE-ALPHA")

_SPECS: dict[str, tuple[Spec, ...]] = {
    "AuthorizePodWebsocketUpgradeCreatePermission": (_beta(35),),
    "CSIVolumeHealth": (_alpha(21),),
    "CompositePodGroup": (_alpha(37),),
    "ConstrainedImpersonation": (_alpha(35), _beta(36)),
    "DRAAdminAccess": (_alpha(32), _beta(34), _ga(36, locked=True)),
    "DRAConsumableCapacity": (_alpha(34), _beta(36)),
    "DRADerivedAttributes": (_alpha(37),),
    "DRADeviceBindingConditions": (_alpha(34), _beta(36)),
    "DRADeviceCompatibilityGroups": (_alpha(37),),
    "DRADeviceTaintRules": (_alpha(35), _beta(36, default=False), _ga(37, locked=False)),
    "DRADeviceTaints": (_alpha(33), _beta(36), _ga(37, locked=False)),
    "DRAExtendedResource": (_alpha(34), _beta(36), _ga(37, locked=True)),
    "DRAFractionalCapacityRange": (_beta(37, default=False), Spec((1, 37), True, "BETA", min_compatibility=(1, 37))),
    "DRAListTypeAttributes": (_alpha(36),),
    "DRANodeAllocatableResources": (_alpha(36),),
    "DRAOptionalNodeOperations": (_alpha(37),),
    "DRAPartitionableDevices": (_alpha(33), _beta(36)),
    "DRAPartitionableDevicesType": (_alpha(37),),
    "DRAPrioritizedList": (_alpha(33), _beta(34), _ga(36, locked=False), _ga(37, locked=True)),
    "DRAResourceClaimDeviceStatus": (_alpha(32), _beta(33), _ga(37, locked=True)),
    "DRAResourceClaimGranularStatusAuthorization": (_beta(36),),
    "DRAResourcePoolStatus": (_alpha(36),),
    "DRASchedulerFilterTimeout": (_beta(34),),
    "DRAWorkloadResourceClaims": (_alpha(36), _beta(37, default=False)),
    "DynamicResourceAllocation": (_alpha(26), _beta(32, default=False), _ga(34, locked=False), _ga(35, locked=True)),
    "ExtendWebSocketsToKubelet": (_beta(36),),
    "GenericWorkload": (_alpha(35), _beta(37, default=False)),
    "H2CContainerProbe": (_alpha(37),),
    "InPlacePodLevelResourcesVerticalScaling": (_alpha(35), _beta(36)),
    "InPlacePodVerticalScalingInitContainers": (_beta(36), _ga(37, locked=True)),
    "InPlacePodVerticalScalingMemoryBackedVolumes": (_alpha(37),),
    "NodeDeclaredFeatures": (_alpha(35), _beta(36), _ga(37, locked=True)),
    "PodCertificateRequest": (_alpha(34), _beta(35, default=False), _ga(37, locked=False)),
    "PodGroupPreemptionPolicy": (_alpha(37),),
    "ResourceHealthStatus": (_alpha(31), _beta(36)),
    "ResourceHealthStatusMessage": (_beta(36),),
    "RestartAllContainersOnContainerExits": (_alpha(35), _beta(36)),
    "TopologyAwareWorkloadScheduling": (_alpha(36),),
    "UserNamespacesHostNetworkSupport": (_alpha(35),),
    "WorkloadWithJob": (_alpha(36),),
}

# Gates that no Kubernetes component knows. AllAlpha leaves them alone: it means what it means there.
_KIT_SPECS: dict[str, tuple[Spec, ...]] = {PATCHES_GATE: (_alpha(34),), MIXINS_GATE: (_alpha(34),)}
KIT_GATES = frozenset(_KIT_SPECS)

_DEPENDS_ON: dict[str, tuple[str, ...]] = {
    "CompositePodGroup": ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
    "DRAAdminAccess": ("DynamicResourceAllocation",),
    "DRAConsumableCapacity": ("DynamicResourceAllocation",),
    "DRADerivedAttributes": ("DynamicResourceAllocation",),
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"),
    "DRADeviceCompatibilityGroups": ("DRAPartitionableDevices", "DynamicResourceAllocation"),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRADeviceTaints": ("DynamicResourceAllocation",),
    "DRAExtendedResource": ("DynamicResourceAllocation",),
    "DRAFractionalCapacityRange": ("DRAConsumableCapacity",),
    "DRAListTypeAttributes": ("DynamicResourceAllocation",),
    "DRANodeAllocatableResources": ("DynamicResourceAllocation",),
    "DRAOptionalNodeOperations": ("DynamicResourceAllocation", "NodeDeclaredFeatures"),
    "DRAPartitionableDevices": ("DynamicResourceAllocation",),
    "DRAPartitionableDevicesType": ("DRAPartitionableDevices", "DRAResourcePoolStatus", "DynamicResourceAllocation"),
    "DRAPrioritizedList": ("DynamicResourceAllocation",),
    "DRAResourceClaimGranularStatusAuthorization": ("DRAResourceClaimDeviceStatus", "DynamicResourceAllocation"),
    "DRAResourcePoolStatus": ("DynamicResourceAllocation",),
    "DRASchedulerFilterTimeout": ("DynamicResourceAllocation",),
    "DRAWorkloadResourceClaims": ("DynamicResourceAllocation", "GenericWorkload"),
    "ExtendWebSocketsToKubelet": ("NodeDeclaredFeatures",),
    "H2CContainerProbe": ("NodeDeclaredFeatures",),
    # Some of those outside of DRA depend on more gates, which are not known here.
    "InPlacePodLevelResourcesVerticalScaling": ("NodeDeclaredFeatures",),
    "InPlacePodVerticalScalingInitContainers": ("NodeDeclaredFeatures",),
    "InPlacePodVerticalScalingMemoryBackedVolumes": ("NodeDeclaredFeatures",),
    "PodGroupPreemptionPolicy": ("GenericWorkload",),
    "ResourceHealthStatus": ("DynamicResourceAllocation",),
    "ResourceHealthStatusMessage": ("ResourceHealthStatus",),
    "RestartAllContainersOnContainerExits": ("NodeDeclaredFeatures",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
    "UserNamespacesHostNetworkSupport": ("NodeDeclaredFeatures",),
    "WorkloadWithJob": ("GenericWorkload",),
}

_ALL_SPECS = _SPECS | _KIT_SPECS


class FeatureGates:
    """Which gates are on, for an emulated version ("1.34" to "1.37") and overrides by name.

    ``min_compatibility_version`` is one minor version below the emulated one unless given, but not below "1.34". Raises
    ``FeatureGateError`` for versions out of range, and for overrides that a Kubernetes component would refuse.
    """

    def __init__(
        self,
        emulated_version: str = NEWEST_EMULATED,
        overrides: Mapping[str, bool] | None = None,
        *,
        min_compatibility_version: str | None = None,
    ) -> None:
        self._emulated = _emulated_version(emulated_version)
        self._compatible = _compatible_version(min_compatibility_version, self._emulated)
        self._overrides = dict(overrides or {})
        self._specs = {name: self._spec(specs) for name, specs in _ALL_SPECS.items()}
        self._enabled = self._resolve()

    @property
    def emulated_version(self) -> str:
        """The emulated version, such as "1.36"."""
        return _text(self._emulated)

    @property
    def compatible_since(self) -> Version:
        """The minimum compatibility version, as (1, 36): new objects may use only what that one already knows."""
        return self._compatible

    @property
    def overrides(self) -> dict[str, bool]:
        """The overrides that these gates were made with; a copy."""
        return dict(self._overrides)

    def enabled(self, name: str) -> bool:
        """Tell whether a gate is on. Raises ``FeatureGateError`` for a name that is no gate."""
        try:
            return self._enabled[name]
        except KeyError:
            raise FeatureGateError(f'feature "{name}" is not registered in FeatureGate') from None

    def known(self) -> list[Gate]:
        """List the gates that exist at the emulated version, by name."""
        return [
            Gate(name, spec, self._enabled[name], _DEPENDS_ON.get(name, ()), name in _KIT_SPECS)
            for name, spec in sorted(self._specs.items())
            if spec.stage != "PRE-ALPHA"
        ]

    def _spec(self, specs: tuple[Spec, ...]) -> Spec:
        for spec in reversed(specs):
            compatible = spec.min_compatibility is None or self._compatible >= spec.min_compatibility
            if spec.since <= self._emulated and compatible:
                return spec
        return _PRE_ALPHA

    def _resolve(self) -> dict[str, bool]:
        _raise(error for name in sorted(self._overrides) if (error := self._refusal(name)))
        enabled = {name: spec.default for name, spec in self._specs.items()}
        for toggle, stage in _GLOBAL.items():
            if toggle in self._overrides:
                in_stage = [name for name in _SPECS if self._specs[name].stage == stage]
                enabled |= dict.fromkeys(in_stage, self._overrides[toggle])
        enabled |= {name: value for name, value in self._overrides.items() if name not in _GLOBAL}
        _raise(_unmet_dependencies(enabled))
        return enabled

    def _refusal(self, name: str) -> str:
        """Say why an override cannot be; empty if it can."""
        if name in _GLOBAL:
            return ""
        if name not in self._specs:
            raise FeatureGateError(f"unrecognized feature gate: {name}")
        spec, value = self._specs[name], self._overrides[name]
        setting = f"cannot set feature gate {name} to {_go(value)}, feature is"
        if spec.locked and value != spec.default:
            return f"{setting} locked to {_go(spec.default)}"
        if spec.stage == "PRE-ALPHA":
            emulated, compatible = _text(self._emulated), _text(self._compatible)
            return f"{setting} PreAlpha at emulated version {emulated}, min compatibility version {compatible}"
        return ""


def parse_gates(text: str) -> dict[str, bool]:
    """Read the value of ``--feature-gates``: ``A=true,B=false``. Raises ``FeatureGateError``."""
    gates: dict[str, bool] = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise FeatureGateError(f"missing bool value for {name}")
        if value not in _TRUE | _FALSE:
            raise FeatureGateError(
                f'invalid value of {name}={value}, err: strconv.ParseBool: parsing "{value}": invalid syntax'
            )
        gates[name] = value in _TRUE
    return gates


def _unmet_dependencies(enabled: Mapping[str, bool]) -> list[str]:
    errors = []
    for name, dependencies in _DEPENDS_ON.items():
        disabled = [dependency for dependency in dependencies if not enabled[dependency]]
        if enabled[name] and disabled:
            errors.append(f"{name} is enabled, but depends on features that are disabled: [{' '.join(disabled)}]")
    return errors


def _raise(errors: Iterable[str]) -> None:
    if message := aggregated(errors):
        raise FeatureGateError(message)


def _emulated_version(text: str) -> Version:
    version = _parse_version(text)
    if not _parse_version(OLDEST_EMULATED) <= version <= _parse_version(NEWEST_EMULATED):
        raise FeatureGateError(f"emulation version {text} is not between [{OLDEST_EMULATED}, {NEWEST_EMULATED}.0]")
    return version


def _compatible_version(text: str | None, emulated: Version) -> Version:
    oldest = _parse_version(OLDEST_EMULATED)
    if text is None:
        return max(oldest, (emulated[0], emulated[1] - 1))
    version = _parse_version(text)
    if not oldest <= version <= emulated:
        allowed = f"[{OLDEST_EMULATED}, {_text(emulated)}]"
        raise FeatureGateError(f"minCompatibilityVersion version {text} is not between {allowed}")
    return version


def _parse_version(text: str) -> Version:
    major, dot, minor = text.removeprefix("v").partition(".")
    if not dot or not (major.isdecimal() and minor.isdecimal()):
        raise FeatureGateError(f'"{text}" is not a version: give major and minor, as in "{NEWEST_EMULATED}"')
    return int(major), int(minor)


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def _go(value: bool) -> str:
    return "true" if value else "false"
