"""MutatingAdmissionPolicy: one policy after the other, each on what the ones before made of the object.

After k8s.io/apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from drakit_api.cel import admission as cel
from drakit_api.golang.gostrings import quote
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.matching.conditions import ConditionsError
from drakit_embedded.apiserver.admission.matching.reading_back import read_back
from drakit_embedded.apiserver.admission.matching.shown import shown
from drakit_embedded.apiserver.admission.policies.bound import Binding, BoundPolicies
from drakit_embedded.apiserver.admission.policies.invocations import Invocation, Misconfiguration, invocations
from drakit_embedded.apiserver.admission.policies.merges import UnknownTypeError
from drakit_embedded.apiserver.admission.policies.mutations import MutatingPolicy, Mutation, MutationError
from drakit_embedded.apiserver.admission.policies.scenes import Scene
from drakit_embedded.apiserver.admission.reinvocations import Reinvocations
from drakit_embedded.apiserver.registry.custom.unreadable import ConversionError
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError

_NAME = "MutatingAdmissionPolicy"
_UNKNOWN = (
    "Resource kind {} not found. There can be a delay between when CustomResourceDefinitions are created and when they "
    "are available."
)
# A policy, its binding, and namespace and name of the params.
_Key = tuple[str, str, str, str]


class _Failure(NamedTuple):
    message: str
    # Empty for a misconfiguration, which is forbidden rather than invalid.
    reason: str = ""


def admit(policies: BoundPolicies[MutatingPolicy], attributes: Attributes, cluster: GuardedCluster) -> None:
    """Change the object of a write as the policies say that it concerns.

    Raises:
        StatusError: if one fails that may not.
    """
    found = list(invocations(policies, attributes, cluster))
    if not found:
        return
    reinvocations: Reinvocations[_Key] = Reinvocations.of(attributes, _NAME)
    reinvocations.begin(attributes)
    run = _Run(attributes, cluster, reinvocations)
    failures = [failure for each in found if isinstance(each, Misconfiguration) for failure in _misconfigured(each)]
    failures += [failure for each in found if isinstance(each, Invocation) for failure in run.invoke(each)]
    if run.has_mutated:
        # Whatever was made of the object, each policy that asks for it sees the result.
        reinvocations.changed()
        attributes.changed = True
    reinvocations.end(attributes)
    if failures:
        raise _refusal(attributes, failures)


def _misconfigured(found: Misconfiguration[MutatingPolicy]) -> list[_Failure]:
    if found.policy.ignores_failures:
        return []
    if found.binding is None:
        return [_Failure(f"policy {quote(found.policy.name)} denied request: {found.why}")]
    return [_Failure(f"{_named(found.policy, found.binding)} denied request: {found.why}")]


def _named(policy: MutatingPolicy, binding: Binding) -> str:
    return f"policy '{policy.name}' with binding '{binding.name}'"


def _refusal(attributes: Attributes, failures: list[_Failure]) -> StatusError:
    error = attributes.refused("")
    error.message = failures[0].message
    error.reason = failures[0].reason or error.reason
    error.details = {**(error.details or {}), "causes": [{"message": failure.message} for failure in failures]}
    return error


class _Run:
    """One run of the policies over one write."""

    def __init__(self, attributes: Attributes, cluster: GuardedCluster, reinvocations: Reinvocations[_Key]) -> None:
        self._attributes, self._cluster, self._reinvocations = attributes, cluster, reinvocations
        self._scenes: list[Scene] = []
        # Whether any mutation was carried out, whatever came of it.
        self.has_mutated = False

    def invoke(self, found: Invocation[MutatingPolicy]) -> list[_Failure]:
        """Carry out the mutations of a policy; returns why some were not."""
        policy = found.policy
        try:
            scene = self._scene(found.kind)
            if policy.conditions and not policy.conditions.hold(scene.condition_values(found.params, policy.names)):
                return []
        except ConversionError as error:
            return _misconfigured(Misconfiguration(policy, None, f"failed to configure policy: {error.message}"))
        except ConditionsError as error:
            return self._failed(found, str(error))
        key = _key(found)
        if not self._reinvocations.is_due(key, self._attributes):
            return []
        before = scene.object
        failures = [failure for mutation in policy.mutations for failure in self._mutate(found, mutation, scene)]
        if scene.object != before:
            self._reinvocations.changed()
        if policy.reinvoked:
            self._reinvocations.called(key)
        return failures

    def _scene(self, kind: Kind) -> Scene:
        for scene in self._scenes:
            if scene.kind is kind:
                return scene
        self._scenes.append(Scene(self._attributes, kind, self._cluster))
        return self._scenes[-1]

    def _mutate(self, found: Invocation[MutatingPolicy], mutation: Mutation, scene: Scene) -> list[_Failure]:
        if scene.object is None:
            return []
        meter = cel.Meter(cel.POLICY_BUDGET)
        values = found.policy.programs.with_variables(scene.values(found.params, found.policy.names), meter)
        try:
            made = mutation.result(scene, values, meter, self._attributes.subresource)
            self._check_version(scene.kind)
        except MutationError as error:
            return self._failed(found, str(error))
        except UnknownTypeError as error:
            raise statuses.unavailable(_UNKNOWN.format(error)) from None
        self.has_mutated = True
        if made != scene.object:
            self._take(made, scene, strict=not mutation.merges)
        return []

    def _check_version(self, kind: Kind) -> None:
        """Fail where a policy sees another version than that of the request, which upstream does not convert back."""
        asked = self._attributes.kind
        if kind.definition is None and kind != asked:
            versions = f"({kind.version}.{kind.kind}) to ({asked.version}.{asked.kind})"
            raise MutationError(f"converting {versions}: unknown conversion")

    def _take(self, made: Any, scene: Scene, *, strict: bool) -> None:
        """Make the object of the write what a policy has made of it."""
        attributes, cluster = self._attributes, self._cluster
        after = read_back(made, attributes, scene.kind, cluster, strict=strict)
        cluster.default(after, attributes.kind, attributes.subresource)
        attributes.replace(after)
        scene.object = shown(attributes.object, attributes, scene.kind, cluster)
        self._scenes = [scene]

    def _failed(self, found: Invocation[MutatingPolicy], why: str) -> list[_Failure]:
        if found.policy.ignores_failures:
            return []
        return [_Failure(f"{_named(found.policy, found.binding)} denied request: {why}", "Invalid")]


def _key(found: Invocation[MutatingPolicy]) -> _Key:
    meta = (found.params or {}).get("metadata") or {}
    return found.policy.name, found.binding.name, meta.get("namespace", ""), meta.get("name", "")
