"""The rules of ValidatingAdmissionPolicy and MutatingAdmissionPolicy.

After validateValidatingAdmissionPolicySpec and validateMutatingAdmissionPolicySpec in
k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

import re

from drakit_api import formats
from drakit_api.cel.values.types import BOOL, STRING, list_of
from drakit_api.kubernetes_objects import Object
from drakit_api.validation import names
from drakit_api.validation.conditions import conditions
from drakit_api.validation.errors import Errors, duplicate, invalid, not_supported, required
from drakit_embedded.apiserver.registry.admission_kinds.expressions import (
    Scope,
    audit_value,
    match_conditions,
    variable,
)
from drakit_embedded.apiserver.registry.admission_kinds.resource_rules import match_resources, mutable_operations
from drakit_embedded.apiserver.registry.admission_kinds.webhooks import FAILURE_POLICIES, REINVOCATION_POLICIES
from drakit_embedded.apiserver.scheme.json_paths import JsonPath, PathError

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_PATCH_TYPES = ("ApplyConfiguration", "JSONPatch")
_FIRST_WORD = re.compile(r"^\w+")
_LINE_BREAK = re.compile(r"[\n\r]")
_MOST_ANNOTATIONS = 20
_LONGEST_VALUE = 5 * 1024
_NEITHER = "validations or auditAnnotations must contain at least one item"


def validating(obj: Object, old: Object | None = None) -> Errors:
    """Check a validating policy; ``old`` is the one that it replaces."""
    spec = obj.get("spec") or {}
    scope = Scope(params="paramKind" in spec, composed=bool(spec.get("variables")))
    yield from _head(spec, old)
    yield from _variables(spec, scope)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        yield required("spec.validations", _NEITHER)
        yield required("spec.auditAnnotations", _NEITHER)
    for index, validation in enumerate(validations):
        yield from _validation(validation, scope, f"spec.validations[{index}]")
    yield from _annotations(annotations, scope, obj["metadata"].get("name") or "")


def mutating(obj: Object, old: Object | None = None) -> Errors:
    """Check a mutating policy; ``old`` is the one that it replaces."""
    spec = obj.get("spec") or {}
    scope = Scope(params="paramKind" in spec, composed=True)
    yield from _head(spec, old, mutates=True)
    yield from _variables(spec, scope)
    if not spec.get("mutations"):
        yield required("spec.mutations", "mutations must contain at least one item")
    for index, mutation in enumerate(spec.get("mutations") or ()):
        yield from _mutation(mutation, scope, f"spec.mutations[{index}]")
    policy = spec.get("reinvocationPolicy")
    if not policy:
        yield required("spec.reinvocationPolicy")
    elif policy not in REINVOCATION_POLICIES:
        yield not_supported("spec.reinvocationPolicy", policy, REINVOCATION_POLICIES)


def status(obj: Object) -> Errors:
    """Check the status of a validating policy."""
    state = obj.get("status") or {}
    warnings = (state.get("typeChecking") or {}).get("expressionWarnings") or ()
    for index, warning in enumerate(warnings):
        path = f"status.typeChecking.expressionWarnings[{index}]"
        if not warning.get("warning"):
            yield required(f"{path}.warning")
        yield from _field_reference((warning.get("fieldRef") or "").strip(), f"{path}.fieldRef")
    yield from conditions(state.get("conditions"), "status.conditions")


def _field_reference(reference: str, path: str) -> Errors:
    if not reference:
        yield required(path)
        return
    try:
        # A first field may stand without its dot, which is another path in Go, but no error.
        JsonPath(_FIRST_WORD.sub("", reference))
    except PathError as error:
        yield invalid(path, reference, f"invalid JSONPath: {error}")


def _head(spec: Object, old: Object | None, *, mutates: bool = False) -> Errors:
    """Check what both kinds of policies have: when they fail, and what they are for."""
    policy = spec.get("failurePolicy") or ""
    if policy not in FAILURE_POLICIES:
        yield not_supported("spec.failurePolicy", policy, FAILURE_POLICIES)
    if "paramKind" in spec:
        yield from _param_kind(spec["paramKind"], "spec.paramKind")
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield required("spec.matchConstraints")
    else:
        yield from match_resources(constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
        if mutates:
            yield from mutable_operations(constraints, "spec.matchConstraints")
    if old is None or any(
        spec.get(part) != (old.get("spec") or {}).get(part) for part in ("paramKind", "matchConditions")
    ):
        yield from match_conditions(spec.get("matchConditions"), "spec.matchConditions", params="paramKind" in spec)


def _param_kind(kind: Object, path: str) -> Errors:
    yield from _api_version(kind.get("apiVersion") or "", f"{path}.apiVersion")
    name = kind.get("kind") or ""
    if not name:
        yield required(f"{path}.kind")
    elif problems := formats.dns_1035_label(name.lower()):
        yield invalid(f"{path}.kind", name, f"may have mixed case, but should otherwise match: {','.join(problems)}")


def _api_version(text: str, path: str) -> Errors:
    if not text:
        yield required(path)
        return
    if text.count("/") > 1:
        yield invalid(path, text, f"unexpected GroupVersion string: {text}")
        return
    group, _, version = text.rpartition("/")
    if group and (problems := formats.dns_subdomain(group, "characters")):
        yield invalid(path, group, ",".join(problems))
    if not version:
        yield invalid(path, text, "version must be specified")
    elif problems := [*formats.dns_1035_label(version)]:
        yield invalid(path, version, ",".join(problems))


def _variables(spec: Object, scope: Scope) -> Errors:
    for index, value in enumerate(spec.get("variables") or ()):
        yield from variable(value, scope, f"spec.variables[{index}]")


def _validation(validation: Object, scope: Scope, path: str) -> Errors:
    expression, explained = validation.get("expression") or "", validation.get("messageExpression") or ""
    if not expression.strip():
        yield required(f"{path}.expression", "expression is not specified")
    else:
        yield from scope.check(expression, f"{path}.expression", BOOL)
    if explained and not explained.strip():
        yield invalid(f"{path}.messageExpression", explained, "must be non-empty if specified")
    elif explained:
        yield from scope.check(explained, f"{path}.messageExpression", STRING, authorizer=False)
    message = validation.get("message") or ""
    if message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        yield not_supported(f"{path}.reason", reason, _REASONS)


def _annotations(annotations: list[Object], scope: Scope, policy: str) -> Errors:
    if len(annotations) > _MOST_ANNOTATIONS:
        # Upstream shows the fields of Go's structs, which have these names.
        shown = [
            {"Key": each.get("key", ""), "ValueExpression": each.get("valueExpression", "")} for each in annotations
        ]
        yield invalid("spec.auditAnnotations", shown, f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations")
    seen = set()
    for index, annotation in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{index}]", annotation.get("key") or ""
        if policy:
            yield from names.label_key(f"{policy}/{key}", f"{path}.key")
        else:
            yield invalid(f"{path}.key", key, "requires metadata.name be non-empty")
        yield from _value(annotation.get("valueExpression") or "", scope, f"{path}.valueExpression")
        if key in seen:
            yield duplicate(f"{path}.key", key)
        seen.add(key)


def _value(expression: str, scope: Scope, path: str) -> Errors:
    if not expression.strip():
        yield required(path, "valueExpression is not specified")
    elif formats.byte_length(expression.strip()) > _LONGEST_VALUE:
        yield required(path, f"must not exceed {_LONGEST_VALUE} bytes in length")
    else:
        yield from audit_value(expression, scope, path)


def _mutation(mutation: Object, scope: Scope, path: str) -> Errors:
    """Check that a mutation is what its ``patchType`` says, and nothing else."""
    patch_type = mutation.get("patchType")
    if not patch_type:
        yield required(f"{path}.patchType")
        return
    if patch_type not in _PATCH_TYPES:
        yield not_supported(f"{path}.patchType", patch_type, _PATCH_TYPES)
        return
    fields = ("applyConfiguration", "jsonPatch")
    field, other = fields if patch_type == "ApplyConfiguration" else reversed(fields)
    if field not in mutation:
        yield required(f"{path}.{field}", f"must be specified when patchType is {patch_type}")
    elif not (expression := (mutation[field].get("expression") or "").strip()):
        yield required(f"{path}.{field}.expression")
    else:
        # Imported here, as in ``expressions``.
        from drakit_api.cel import patches

        returns = patches.OBJECT if field == "applyConfiguration" else list_of(patches.JSON_PATCH)
        yield from scope.check(expression, f"{path}.{field}.expression", returns, patching=True)
    if other in mutation:
        yield invalid(f"{path}.{other}", f"{{{other}}}", f"must not be specified when patchType is {patch_type}")
