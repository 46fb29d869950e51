"""The columns of policies, their bindings, and webhook configurations.

One entry a kind, as in ``columns``.
"""

from __future__ import annotations

from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.scheme.metadata import AGE_DESCRIPTION, NAME_DESCRIPTION
from drakit_embedded.apiserver.wire.columns import Cells, age_of, name_of

GROUP, _UNSET = "admissionregistration.k8s.io", "<unset>"
# What each column means (k8s.io/kubernetes/pkg/printers/internalversion/printers.go).
DESCRIPTIONS = {
    "Name": NAME_DESCRIPTION,
    "Webhooks": "Webhooks indicates the number of webhooks registered in this configuration",
    "Validations": "Validations indicates the number of validation rules defined in this configuration",
    "Mutations": "Mutation indicates the number of mutations rules defined in this configuration",
    "ParamKind": "ParamKind specifies the kind of resources used to parameterize this policy",
    "PolicyName": "PolicyName indicates the policy definition which the policy binding binded to",
    "ParamRef": "ParamRef indicates the param resource which sets the configuration param",
    "Age": AGE_DESCRIPTION,
}


def _webhooks(obj: Object) -> list[Any]:
    return [name_of(obj), len(obj.get("webhooks") or ()), age_of(obj)]


def _policy(counted: str) -> Cells:
    def cells(obj: Object) -> list[Any]:
        spec = obj.get("spec") or {}
        kind = spec.get("paramKind")
        shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else _UNSET
        return [name_of(obj), len(spec.get(counted) or ()), shown, age_of(obj)]

    return cells


def _binding(obj: Object) -> list[Any]:
    spec = obj.get("spec") or {}
    reference = spec.get("paramRef") or {}
    shown = _UNSET
    if reference.get("name"):
        shown = f"{reference.get('namespace') or '*'}/{reference['name']}"
    elif reference.get("selector") is not None:
        shown = _selector(reference["selector"])
    return [name_of(obj), spec.get("policyName", ""), shown, age_of(obj)]


def _selector(selector: Object) -> str:
    """Print a selector as the generated ``String`` of its Go type does."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{each.get('key', '')},Operator:{each.get('operator', '')},"
        f"Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )


_WEBHOOKS = (("Name", "Webhooks#", "Age"), _webhooks)
_BINDING = (("Name", "PolicyName", "ParamRef", "Age"), _binding)
PRINTERS: dict[tuple[str, str], tuple[tuple[str, ...], Cells]] = {
    (GROUP, "validatingwebhookconfigurations"): _WEBHOOKS,
    (GROUP, "mutatingwebhookconfigurations"): _WEBHOOKS,
    (GROUP, "validatingadmissionpolicies"): (
        ("Name", "Validations#", "ParamKind", "Age"),
        _policy("validations"),
    ),
    (GROUP, "validatingadmissionpolicybindings"): _BINDING,
    (GROUP, "mutatingadmissionpolicies"): (("Name", "Mutations#", "ParamKind", "Age"), _policy("mutations")),
    (GROUP, "mutatingadmissionpolicybindings"): _BINDING,
}
