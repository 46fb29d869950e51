"""The rules of ValidatingAdmissionPolicyBinding and MutatingAdmissionPolicyBinding.

After validateValidatingAdmissionPolicyBindingSpec and validateMutatingAdmissionPolicyBindingSpec in
k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from drakit_api import formats
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.errors import Errors, duplicate, forbidden, invalid, not_supported, required
from drakit_embedded.apiserver.registry.admission_kinds.resource_rules import match_resources, mutable_operations
from drakit_embedded.apiserver.registry.selector_rules import label_selector

_ACTIONS = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS = ("Deny", "Allow")
_ONE_OF = "name and selector are mutually exclusive"
_TWICE = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def validating(obj: Object) -> Errors:
    """Check the binding of a validating policy."""
    spec = obj.get("spec") or {}
    actions = spec.get("validationActions") or []
    yield from _common(spec)
    yield from _actions(actions, "spec.validationActions")
    # Of this kind, what is required is declared (v1/zz_generated.validations.go), and said without details.
    if not spec.get("policyName"):
        yield required("spec.policyName")
    if not actions:
        yield required("spec.validationActions")


def mutating(obj: Object) -> Errors:
    """Check the binding of a mutating policy."""
    spec = obj.get("spec") or {}
    if not spec.get("policyName"):
        yield required("spec.policyName")
    yield from _common(spec)
    yield from mutable_operations(spec.get("matchResources") or {}, "spec.matchResources")


def _common(spec: Object) -> Errors:
    if spec.get("policyName"):
        yield from names.dns_subdomain(spec["policyName"], "spec.policyName")
    if "paramRef" in spec:
        yield from _param_reference(spec["paramRef"], "spec.paramRef")
    if "matchResources" in spec:
        yield from match_resources(spec["matchResources"], "spec.matchResources")


def _param_reference(reference: Object, path: str) -> Errors:
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        yield from (invalid(f"{path}.name", name, problem) for problem in formats.path_segment(name))
        if selector is not None:
            yield forbidden(f"{path}.name", _ONE_OF)
    if selector is not None:
        yield from label_selector(selector, f"{path}.selector")
        if name:
            yield forbidden(f"{path}.selector", _ONE_OF)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        yield required(f"{path}.parameterNotFoundAction")
    elif action not in _NOT_FOUND_ACTIONS:
        yield not_supported(f"{path}.parameterNotFoundAction", action, _NOT_FOUND_ACTIONS)


def _actions(actions: Sequence[str], path: str) -> Errors:
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield not_supported(f"{path}[{index}]", action, _ACTIONS)
        if action in actions[:index]:
            yield duplicate(f"{path}[{index}]", action)
    if {"Deny", "Warn"} <= set(actions):
        yield invalid(path, actions, _TWICE)
