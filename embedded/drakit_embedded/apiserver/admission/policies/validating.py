"""ValidatingAdmissionPolicy: all policies are asked, and the first that denies is the one that the client hears of.

After k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go.
"""

from __future__ import annotations

from typing import NamedTuple

from drakit_embedded.apiserver.admission.attributes import Attributes, GuardedCluster
from drakit_embedded.apiserver.admission.policies.bound import Binding, BoundPolicies
from drakit_embedded.apiserver.admission.policies.invocations import Invocation, Misconfiguration, invocations
from drakit_embedded.apiserver.admission.policies.judgements import Denial, ValidatingPolicy
from drakit_embedded.apiserver.admission.policies.scenes import Scene
from drakit_embedded.apiserver.registry.custom.unreadable import ConversionError
from drakit_embedded.apiserver.statuses import StatusError

_CODES = {"Forbidden": 403, "RequestEntityTooLarge": 413}
_UNPROCESSABLE = 422
_UNCONVERTED = "failed to configure binding: failed to convert object version"


class _Refusal(NamedTuple):
    policy: ValidatingPolicy
    # None if the policy itself is at fault.
    binding: Binding | None
    denial: Denial

    def error(self, attributes: Attributes) -> StatusError:
        """Build the answer to the client."""
        bound = f" with binding '{self.binding.name}'" if self.binding is not None else ""
        message = f"ValidatingAdmissionPolicy '{self.policy.name}'{bound} denied request: {self.denial.message}"
        error = attributes.refused(message)
        error.reason = self.denial.reason
        error.code = _CODES.get(error.reason, _UNPROCESSABLE)
        error.details = {**(error.details or {}), "causes": [{"message": message}]}
        return error


def validate(policies: BoundPolicies[ValidatingPolicy], attributes: Attributes, cluster: GuardedCluster) -> None:
    """Ask the policies that a write concerns.

    Raises:
        StatusError: if one denies it.
    """
    scene: Scene | None = None
    refusals: list[_Refusal] = []
    for found in invocations(policies, attributes, cluster):
        policy, binding = found.policy, found.binding
        if isinstance(found, Misconfiguration):
            if not policy.ignores_failures:
                refusals.append(_Refusal(policy, binding, Denial(found.why)))
            continue
        try:
            if scene is None or scene.kind is not found.kind:
                scene = Scene(attributes, found.kind, cluster)
            for denial in policy.denials(scene, found.params):
                refusals += _acted(found, denial, attributes)
        except ConversionError as error:
            if not policy.ignores_failures:
                refusals.append(_Refusal(policy, binding, Denial(f"{_UNCONVERTED}: {error.message}")))
    if refusals:
        raise refusals[0].error(attributes)


def _acted(found: Invocation[ValidatingPolicy], denial: Denial, attributes: Attributes) -> list[_Refusal]:
    """Do what the binding says: warn, or refuse; an audit, where it would be recorded, is nobody's here."""
    policy, binding = found.policy, found.binding
    if "Warn" in binding.actions and not denial.always:
        named = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
        attributes.warn(f"Validation failed for {named}: {denial.message}")
    return [_Refusal(policy, binding, denial)] if denial.always or "Deny" in binding.actions else []
