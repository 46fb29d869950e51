"""What a run of pytest is about: which version, which gates, and which stories cannot be told with them.

Everything that depends on the version or the gates of a run asks here, so that a story is left out exactly when the
cluster that the fixtures start does not have its feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from drakit_api.features import KIT_GATES, FeatureGateError, FeatureGates, parse_gates
from drakit_kind.cluster import COMPONENTS, KUBERNETES_VERSION, minor_version, tagged_version
from drakit_kind.clusters.backends import real_components
from drakit_kind.clusters.known_gates import is_kit_gate_of, known_gates
from drakit_kind.testing.settings.values import backend, text

# The value of --drakit-feature-gates that means: whatever the chosen stories need.
NEEDED = "needed"
_GATES: pytest.StashKey[Mapping[str, bool]] = pytest.StashKey()


def run_version(config: pytest.Config) -> str:
    """Return the Kubernetes version of a run: the user's, that of the kind node image's tag, or the default."""
    if version := text(config, "kubernetes-version"):
        return version
    image = text(config, "kind-image") if backend(config) == "kind" else None
    return tagged_version(image or "") or KUBERNETES_VERSION


def run_gates(session: pytest.Session) -> Mapping[str, bool]:
    """Return a run's gates, once its tests are collected; raise ``FeatureGateError`` for an invalid setting."""
    if _GATES not in session.stash:
        # Each test asks, and to answer may be to look at all tests.
        session.stash[_GATES] = _gates(session)
    return session.stash[_GATES]


def _gates(session: pytest.Session) -> Mapping[str, bool]:
    said = text(session.config, "feature-gates") or ""
    if said != NEEDED:
        return parse_gates(said)
    needed = {gate for item in session.items if _uses_the_cluster(item) for gate in _settable_gates(item)}
    return to_turn_on(needed, _behaves_as(session.config))


def needed_gates(item: pytest.Item) -> list[str]:
    """List the gates of a story's markers ``capability(..., gates=[...])`` and ``needs_gates(...)``."""
    capability = item.get_closest_marker("capability")
    gates = list(capability.kwargs.get("gates", ())) if capability else []
    gates += [gate for marker in item.iter_markers("needs_gates") for gate in marker.args]
    return list(dict.fromkeys(gates))


def _settable_gates(item: pytest.Item) -> list[str]:
    """List those by which the cluster's components can act: Kubernetes' own do not know those of drakit.

    A story that needs one of these brings the component that has it, where the cluster has none.
    """
    real = real_components(backend(item.config), text(item.config, "real"), option="--drakit-real")
    ours = set(COMPONENTS) - real
    return [gate for gate in needed_gates(item) if gate not in KIT_GATES or is_kit_gate_of(gate, ours)]


def why_left_out(item: pytest.Item) -> str:
    """Say why a story is not run, i.e. which of its gates is off in this run's cluster; "" if it is run.

    Nothing is known of a cluster that is not ours, nor of one that a story starts for itself.
    """
    needed = _settable_gates(item)
    if not needed or not _uses_the_cluster(item) or text(item.config, "cluster-kubeconfig") is not None:
        return ""
    try:
        gates = run_gates(item.session)
        if backend(item.config) != "embedded":
            gates = known_gates(gates)  # Kubernetes' own components have more
        return _missing_gate(needed, _behaves_as(item.config), gates)
    except FeatureGateError:
        return ""  # the cluster refuses to start, and says why


def _missing_gate(needed: Iterable[str], minor: str, gates: Mapping[str, bool]) -> str:
    """Say which of these gates is off first in a minor version with ``gates`` set; "" if none is."""
    on = FeatureGates(minor, gates)
    there = {gate.name for gate in on.known()}
    for gate in needed:
        if gate not in there:
            return f"needs feature gate {gate}, which Kubernetes {minor} does not have"
        if not on.enabled(gate):
            hint = "" if gate in gates else f"; --drakit-feature-gates {NEEDED} turns it on"
            return f"needs feature gate {gate}, which is off in Kubernetes {minor} as it is configured here{hint}"
    return ""


def to_turn_on(needed: Iterable[str], minor: str) -> dict[str, bool]:
    """Return the gates to set so that these are on: those that are off by default, and what they depend on."""
    known = {gate.name: gate for gate in FeatureGates(minor).known()}
    wanted, left = {}, sorted(needed)
    while left:
        gate = known.get(left.pop(0))
        if gate is not None and not gate.enabled and gate.name not in wanted:
            wanted[gate.name] = True
            left += gate.depends_on
    return wanted


def _behaves_as(config: pytest.Config) -> str:
    return text(config, "emulated-version") or minor_version(run_version(config))


def _uses_the_cluster(item: pytest.Item) -> bool:
    return "cluster" in getattr(item, "fixturenames", ())
