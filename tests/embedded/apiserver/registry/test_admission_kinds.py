"""The rules of policies, bindings and webhook configurations; the recorded stories cover most of their words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_api.validation.errors import FieldError
from drakit_embedded.apiserver.registry.admission_kinds import bindings, policies, webhooks
from drakit_embedded.apiserver.registry.admission_kinds.strategies import STRATEGIES
from drakit_embedded.apiserver.wire import admission_columns

RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "*"}
MATCH = {"matchPolicy": "Equivalent", "resourceRules": [RULE]}
GROUP = "admissionregistration.k8s.io"


def policy(**spec: Any) -> Object:
    given = {"failurePolicy": "Fail", "matchConstraints": MATCH, "validations": [{"expression": "true"}], **spec}
    return {"metadata": {"name": "p"}, "spec": {key: value for key, value in given.items() if value is not None}}


def mutating(**spec: Any) -> Object:
    mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/a'}]"}}
    return policy(validations=None, **{"reinvocationPolicy": "Never", "mutations": [mutation], **spec})


def hook(**fields: Any) -> Object:
    return {
        "name": "a.b.example.com",
        "clientConfig": {"url": "https://x.example/y"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [RULE],
        **fields,
    }


def configuration(*hooks: Object) -> Object:
    return {"metadata": {"name": "c"}, "webhooks": list(hooks)}


def said(errors: Iterable[FieldError]) -> list[str]:
    return [str(error).split("\n")[0] for error in errors]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"validations": [{"expression": "variables.a > 0"}], "variables": [{"name": "a", "expression": "1"}]}, []),
        ({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "validations": [{"expression": "params.x"}]},
         ['spec.validations[0].expression: Invalid value: "params.x": must evaluate to bool but got dyn']),
        ({"validations": [{"expression": "params.x == 1"}]},
         ['spec.validations[0].expression: Invalid value: "params.x == 1": compilation failed: ERROR: <input>:1:1: '
          "undeclared reference to 'params' (in container '')"]),
        ({"validations": [{"expression": "true", "messageExpression": "authorizer.path('/').check('get').reason()"}]},
         ["spec.validations[0].messageExpression: Invalid value: "
          "\"authorizer.path('/').check('get').reason()\": compilation failed: ERROR: <input>:1:1: "
          "undeclared reference to 'authorizer' (in container '')"]),
        # A variable that does not compile is dynamic for what comes after it.
        ({"variables": [{"name": "a", "expression": "b"}], "validations": [{"expression": "variables.a == 1"}]},
         ['spec.variables[0].expression: Invalid value: "b": compilation failed: ERROR: <input>:1:1: '
          "undeclared reference to 'b' (in container '')"]),
        ({"validations": None, "auditAnnotations": [{"key": "k", "valueExpression": "null"}]}, []),
        ({"paramKind": {"apiVersion": "Bad_/", "kind": "Con fig"}},
         ["spec.paramKind.apiVersion: Invalid value: \"Bad_\": a lowercase RFC 1123 subdomain must consist of lower "
          "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
          "'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*"
          "[a-z0-9])?)*')",
          'spec.paramKind.apiVersion: Invalid value: "Bad_/": version must be specified',
          'spec.paramKind.kind: Invalid value: "Con fig": may have mixed case, but should otherwise match: a DNS-1035 '
          "label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and "
          "end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
          "'[a-z]([-a-z0-9]*[a-z0-9])?')"]),
    ],
)  # fmt: skip
def test_expressions_of_a_policy_know_what_it_declares(spec: Object, errors: list[str]) -> None:
    assert said(policies.validating(policy(**spec))) == errors


def test_match_conditions_are_looked_at_again_only_if_they_may_have_become_wrong() -> None:
    stored = policy(matchConditions=[{"name": "c", "expression": "wrong"}])
    changed = policy(**{**stored["spec"], "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}})
    assert said(policies.validating(stored, stored)) == []
    assert len(said(policies.validating(stored, policy()))) == 1
    assert len(said(policies.validating(changed, stored))) == 1


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        ({"matchConstraints": {**MATCH, "resourceRules": [{**RULE, "operations": ["CREATE", "DELETE"]}]}},
         ['spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: '
          '"*", "CONNECT", "CREATE", "UPDATE"']),
        ({"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"},
                         "jsonPatch": {"expression": "[]"}}]},
         ['spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is '
          "ApplyConfiguration"]),
        ({"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "{'a': 1}"}}]},
         ["spec.mutations[0].applyConfiguration.expression: Invalid value: \"{'a': 1}\": must evaluate to Object but "
          "got map(string, int)"]),
    ],
)  # fmt: skip
def test_a_mutating_policy_makes_patches_of_objects_that_stay(spec: Object, errors: list[str]) -> None:
    assert said(policies.mutating(mutating(**spec))) == errors


def test_what_a_stored_webhook_configuration_breaks_may_stay() -> None:
    old = configuration(hook(sideEffects="Some"), hook(sideEffects="Some", admissionReviewVersions=["v3"]))
    assert said(webhooks.on_update(old, old)) == []
    assert said(webhooks.on_create(old)) == [
        'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        'webhooks[1].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        'webhooks[1].admissionReviewVersions: Invalid value: ["v3"]: must include at least one of v1, v1beta1',
        'webhooks[1].name: Duplicate value: "a.b.example.com"',
    ]


def test_label_values_of_a_stored_selector_may_stay_wrong() -> None:
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not a value"]}]}
    old = configuration(hook(namespaceSelector=selector))
    assert len(said(webhooks.on_create(old))) == 1
    assert said(webhooks.on_update(old, old)) == []


def test_whoever_names_what_webhooks_never_see_is_warned() -> None:
    rules = [
        {"apiGroups": ["authentication.k8s.io", ""], "resources": ["tokenreviews", "tokenreviews", "bindings", "pods"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["*"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["tokenreviews", "subjectaccessreviews"]},
    ]
    effect = "is excluded from admission webhooks; this rule will have no effect"
    assert webhooks.warnings(configuration(hook(), hook(rules=rules))) == [
        f"webhooks[1].rules[0]: tokenreviews.authentication.k8s.io {effect}",
        f"webhooks[1].rules[2]: subjectaccessreviews.authorization.k8s.io {effect}",
    ]


@pytest.mark.parametrize(
    ("rules", "spec", "errors"),
    [
        (bindings.validating, {}, ["spec.policyName: Required value", "spec.validationActions: Required value"]),
        (bindings.mutating, {}, ["spec.policyName: Required value"]),
        (bindings.validating, {"policyName": "p", "validationActions": ["Audit", "Audit"]},
         ['spec.validationActions[1]: Duplicate value: "Audit"']),
        (bindings.mutating, {"policyName": "p", "paramRef": {}},
         ["spec.paramRef: Required value: one of name or selector must be specified",
          "spec.paramRef.parameterNotFoundAction: Required value"]),
    ],
)  # fmt: skip
def test_a_binding_names_a_policy_and_at_most_one_way_to_params(rules: Any, spec: Object, errors: list[str]) -> None:
    assert said(rules({"metadata": {"name": "b"}, "spec": spec})) == errors


@pytest.mark.parametrize("plural", [plural for _, plural in STRATEGIES])
def test_names_of_manifests_beside_the_server_are_refused(plural: str) -> None:
    found = STRATEGIES[GROUP, plural].validate_create({"metadata": {"name": "x.static.k8s.io"}}, None)  # type: ignore[arg-type]
    assert "metadata.name" in [fault.field for fault in found]


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({}, "<unset>"),
        ({"paramRef": {"name": "n"}}, "*/n"),
        ({"paramRef": {"name": "n", "namespace": "x"}}, "x/n"),
        ({"paramRef": {"selector": {"matchLabels": {"b": "2", "a": "1"}}}},
         "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{},}"),
    ],
)  # fmt: skip
def test_kubectl_shows_the_params_of_a_binding(spec: Object, shown: str) -> None:
    _, cells = admission_columns.PRINTERS[GROUP, "mutatingadmissionpolicybindings"]
    row = cells({"metadata": {"name": "b"}, "spec": {"policyName": "p", **spec}})
    assert row[:3] == ["b", "p", shown]


def test_warnings_in_the_status_refer_to_fields() -> None:
    warnings = [
        {"fieldRef": "spec.validations[0].expression", "warning": "w"},
        {"fieldRef": "spec[", "warning": ""},
        {},
    ]
    found = said(policies.status({"status": {"typeChecking": {"expressionWarnings": warnings}}}))
    path = "status.typeChecking.expressionWarnings"
    assert [each.partition(": ")[::2] for each in found] == [
        (f"{path}[1].warning", "Required value"),
        (f"{path}[1].fieldRef", 'Invalid value: "spec[": invalid JSONPath: unterminated array'),
        (f"{path}[2].warning", "Required value"),
        (f"{path}[2].fieldRef", "Required value"),
    ]
