"""Fields that an object of each kind may have, with values that are right somewhere, and wrong in many places."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.vectors.malformed.trees import Literal


class Word(NamedTuple):
    """A field with values of it, and fields one of which stands in the objects where it belongs."""

    field: str
    values: tuple[Any, ...]
    beside: tuple[str, ...]


_Fields = dict[str, tuple[Any, ...]]


def _words(beside: tuple[str, ...], fields: _Fields) -> tuple[Word, ...]:
    return tuple(Word(field, values, beside) for field, values in fields.items())


_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null", "", "any", "Object")
_FORMATS = (
    *("int32", "int64", "float", "double", "byte", "date", "date-time", "duration", "uuid", "ipv4", "cidr", "email"),
    *(
        "hostname",
        "uri",
        "mac",
        "password",
        "quantity",
        "bsonobjectid",
        "isbn",
        "creditcard",
        "hexcolor",
        "k8s-short-name",
        "",
    ),
)
_PATTERNS = (
    "^a+$",
    "(",
    "(a|a)*$",
    "\\d{1,1000}",
    "(?<x>a)",
    "(?=a)",
    "[[:alpha:]]",
    "\\p{Greek}",
    "a{2,1}",
    "(?i)ü",
    "\\C",
    "",
)
_BOOLS = (True, False, None, "true", 1)
_COUNTS = (0, 1, 2, 10, -1, 2**31, 2**63 - 1, Literal("1.0"), Literal("1e2"), 1.5, "1", None)
_NAMES = ("a", "spec", "metadata", "x.example.com", "Bad_Name", "", "a" * 64)
_PATHS = (
    ".spec.replicas",
    ".status.n",
    ".metadata.name",
    ".spec['a']",
    ".spec.a[0]",
    "spec",
    "..",
    ".",
    "{.spec}",
    ".spec.a b",
    "",
)
_SCHEMA: _Fields = {
    "type": _TYPES,
    "format": _FORMATS,
    "pattern": _PATTERNS,
    "nullable": _BOOLS,
    "default": (
        None,
        {},
        [],
        "",
        "a",
        0,
        1.5,
        True,
        {"a": None},
        [None],
        {"spec": {"a": 1}},
        Literal("1E400"),
        Literal("1e3"),
    ),
    "enum": ([], ["a"], ["a", "a"], [1, Literal("1.0")], [None], [{}], "a", [[]], [True, "true"]),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), _COUNTS),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), (*_COUNTS, Literal("1E400"), Literal("-0.0"), 0.1, 1e300)),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "deprecated", "readOnly"), _BOOLS),
    "x-kubernetes-preserve-unknown-fields": _BOOLS,
    "x-kubernetes-embedded-resource": _BOOLS,
    "x-kubernetes-int-or-string": _BOOLS,
    "x-kubernetes-list-type": ("atomic", "set", "map", "Map", "", None),
    "x-kubernetes-map-type": ("atomic", "granular", "set", ""),
    "x-kubernetes-list-map-keys": (["a"], ["name", "port"], ["name", "name"], [], [""], "a", None),
    "required": (["a"], ["a", "a"], [""], [], ["metadata"], "a", [None], True),
    "properties": (
        {},
        {"a": {}},
        {"": {"type": "string"}},
        {"metadata": {"type": "string"}},
        {"kind": {"type": "object"}},
        [],
    ),
    "additionalProperties": (True, False, {}, {"type": "string"}, {"type": ""}, [], "a"),
    "items": ({}, {"type": "string"}, [{"type": "string"}], {"type": "array", "items": {"type": "string"}}, True, None),
    **dict.fromkeys(
        ("allOf", "anyOf", "oneOf"), ([], [{}], [{"type": "string"}], [{"required": ["a"]}, {"minLength": 1}], {})
    ),
    "not": ({}, {"type": "string"}, {"required": ["a"]}, {"not": {}}, []),
    **dict.fromkeys(("$ref", "$schema", "id"), ("#", "#/definitions/x", "http://example.com/x", "")),
    **dict.fromkeys(("definitions", "dependencies", "patternProperties"), ({}, {"a": {}}, {"a": ["b"]})),
    "additionalItems": (True, False, {"type": "string"}),
    **dict.fromkeys(("title", "description", "example", "externalDocs"), ("a", 1, {}, {"url": "x"}, None)),
    "x-kubernetes-validations": (
        [],
        [{}],
        [{"rule": ""}],
        [{"rule": "true"}],
        [{"rule": "self == self", "messageExpression": "1"}],
        [{"rule": "oldSelf == self", "optionalOldSelf": True}],
        [{"rule": "self.all(x, self.all(y, self.all(z, x == y || y == z)))"}],
        [{"rule": "has(self.a)", "fieldPath": ".a", "reason": "FieldValueRequired"}],
        [{"rule": "true", "fieldPath": "a", "reason": "Nothing", "message": "\n"}],
    ),
}
_COLUMN = {"name": "a", "type": "string", "jsonPath": ".spec.a"}
_VERSION: _Fields = {
    **dict.fromkeys(("served", "storage", "deprecated"), _BOOLS),
    "name": ("v1", "v2", "v1beta1", "V1", "1", "v01", ""),
    "deprecationWarning": ("old", "", "\n", "x" * 300, None),
    "schema": (None, {}, {"openAPIV3Schema": None}, {"openAPIV3Schema": {}}, {"openAPIV3Schema": {"type": "string"}}),
    "subresources": (
        {},
        {"status": None},
        {"status": {"a": 1}},
        {"scale": {}},
        *({"scale": {"specReplicasPath": path, "statusReplicasPath": ".status.r"}} for path in _PATHS),
        {"scale": {"specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r", "labelSelectorPath": ".spec.s"}},
    ),
    "additionalPrinterColumns": (
        [],
        [{}],
        [_COLUMN, _COLUMN],
        *([{**_COLUMN, "jsonPath": path}] for path in _PATHS),
        *([{**_COLUMN, "type": kind}] for kind in (*_TYPES, "date")),
        [{**_COLUMN, "format": "password", "priority": -1}],
    ),
    "selectableFields": ([], [{}], *([{"jsonPath": path}] for path in _PATHS), [{"jsonPath": ".spec.a"}] * 9),
}
_CLIENT = {"url": "https://example.com/x"}
_DEFINITION: _Fields = {
    "scope": ("Cluster", "Namespaced", "cluster", "*", "", None),
    "preserveUnknownFields": _BOOLS,
    "conversion": (
        {},
        {"strategy": "None"},
        {"strategy": "none"},
        {"strategy": "Webhook"},
        {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": _CLIENT}},
        {"strategy": "Webhook", "webhook": {"conversionReviewVersions": [], "clientConfig": {}}},
        {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": _CLIENT}},
        {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v9", "v9"], "clientConfig": {"caBundle": "AAA"}},
        },
    ),
    "validation": ({}, {"openAPIV3Schema": {"type": "object"}}),
    "subresources": ({}, {"status": {}}),
    "version": ("v1", ""),
    **dict.fromkeys(("names", "group", "versions"), (None, {}, [], "", "example.com", "k8s.io", "apps", [{}])),
}
_OF_NAMES: _Fields = {
    **dict.fromkeys(("plural", "singular", "kind", "listKind"), (*_NAMES, "Widget", "widgets", "deployments")),
    **dict.fromkeys(("shortNames", "categories"), ([], ["a"], ["a", "a"], ["all"], ["A"], [""], "a", [None])),
}
_METADATA: _Fields = {
    "labels": ({}, {"a": "b"}, {"a b": "c"}, {"a": 1}, {"a": None}, {"a": "x" * 64}, [], "a", {"": ""}),
    "annotations": ({"a": "b"}, {"a b": "c"}, {"a": 1}, {"a": "x" * 300_000}, {"A/b/c": ""}, []),
    "finalizers": (
        ["a.example.com/b"],
        ["a"],
        [""],
        ["foregroundDeletion"],
        ["orphan", "foregroundDeletion"],
        [1],
        "a",
    ),
    "ownerReferences": ([{}], [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}], [None], {}, [{"uid": 1}]),
    "generateName": ("a-", "", "A", "x" * 300, 1),
    "name": (*_NAMES, "a/b", "..", "%2f", 1, None),
    "namespace": ("default", "other", "", 1),
    "resourceVersion": ("0", "1", "x", "", "-1", "99999999999999999999", 1),
    "uid": ("a", "", "00000000-0000-0000-0000-000000000000", 1),
    "generation": (0, -1, 7, Literal("1.5"), "1"),
    **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), ("2020-01-01T00:00:00Z", "x", None, 0, "")),
    "deletionGracePeriodSeconds": (0, -1, 2**63 - 1, "1"),
    "managedFields": (
        [],
        [{}],
        [
            {
                "manager": "m",
                "operation": "Apply",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {}},
            }
        ],
        [{"manager": "m", "operation": "Update", "fieldsType": "FieldsV2", "time": "x"}],
        [{"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"k:{": {}}}],
        [{"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": [1]}],
        None,
    ),
    "selfLink": ("a", 1),
}
_TOP: _Fields = {
    "apiVersion": (
        "v1",
        "a/v1",
        "a/b/c",
        "",
        "/",
        "apiextensions.k8s.io/v1beta1",
        "admissionregistration.k8s.io/v1alpha1",
        None,
    ),
    "kind": ("List", "Status", "", "a", "CustomResourceDefinition", None, 1),
    "metadata": (None, {}, [], "a", {"name": 1}),
    "spec": (None, {}, [], "a"),
    "status": (None, {}, [], "a", {"conditions": [{}]}, {"storedVersions": []}, {"replicas": 1}),
    "items": ([], None),
}
_RULE: _Fields = {
    "apiGroups": (["*"], ["", "*"], [], [""], ["a"], "a", None),
    "apiVersions": (["*"], ["v1", "*"], [], [""], "v1"),
    "operations": (["*"], ["CREATE", "*"], ["create"], ["CONNECT"], ["DELETE", "DELETE"], [], [""]),
    "resources": (["*"], ["*/*"], ["pods/*", "pods"], ["*/status"], ["a/b/c"], ["*", "pods"], [], ["/"], ["a/"]),
    "scope": ("*", "Cluster", "Namespaced", "cluster", ""),
    "resourceNames": (["a"], [""], ["a", "a"], ["A/B"], []),
}
_SELECTORS: tuple[Any, ...] = (
    {},
    {"matchLabels": {"a": "b"}},
    {"matchLabels": {"a b": "!"}},
    {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]},
    {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
    {"matchExpressions": [{"key": "", "operator": "Is"}]},
    [],
    None,
)
_CONDITIONS: tuple[Any, ...] = (
    [],
    [{"name": "a", "expression": "true"}] * 2,
    [{"name": "a", "expression": "1"}],
    [{"name": "A_b.c/d", "expression": "object.spec.a == 1"}],
    [{"name": "", "expression": ""}],
    [{"name": f"c{n}", "expression": "true"} for n in range(65)],
)
_MATCHING: _Fields = {
    **dict.fromkeys(("namespaceSelector", "objectSelector"), _SELECTORS),
    "matchPolicy": ("Exact", "Equivalent", "exact", "", None),
    "excludeResourceRules": (
        [],
        [{}],
        [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}],
    ),
    "resourceRules": ([], [{}], None),
}
_EXPRESSIONS = (
    "true",
    "1",
    "",
    "object",
    "variables.a",
    "params.a",
    "object.spec.x > 1",
    "[object].map(x, x)",
    "request.a",
    "(",
)
_POLICY: _Fields = {
    "matchConstraints": (None, {}),
    "matchConditions": _CONDITIONS,
    "failurePolicy": ("Ignore", "Fail", "ignore", "", None),
    "reinvocationPolicy": ("Never", "IfNeeded", "never", ""),
    "paramKind": (
        {},
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"apiVersion": "a/b/c", "kind": "A b"},
        {"kind": "x"},
        None,
    ),
    "validations": (
        [],
        [{}],
        [{"expression": "true", "message": "\n"}],
        [{"expression": "1"}],
        [{"expression": "false", "reason": "x"}],
    ),
    "auditAnnotations": (
        [],
        [{"key": "a", "valueExpression": "'b'"}] * 2,
        [{"key": "A b", "valueExpression": "1"}],
        [{}],
    ),
    "variables": (
        [],
        [{"name": "a", "expression": "variables.a"}],
        [{"name": "1a", "expression": "1"}],
        [{"name": "a", "expression": "("}],
    ),
    "mutations": (
        [],
        [{}],
        [{"patchType": "JSONPatch", "jsonPatch": {"expression": '[JSONPatch{op: "remove", path: "/spec"}]'}}],
        [{"patchType": "JSONPatch", "jsonPatch": {"expression": '[JSONPatch{op: "test", path: "a", value: 1}]'}}],
        [
            {
                "patchType": "JSONPatch",
                "jsonPatch": {"expression": '[JSONPatch{op: "move", from: "/spec", path: "/spec/a"}]'},
            }
        ],
        [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{spec: Object.spec{}}"}}],
        [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": 'Object{metadata: Object.metadata{name: "x"}}'},
            }
        ],
        [{"patchType": "JSONPatch", "applyConfiguration": {"expression": "Object{}"}}],
        [{"patchType": "apply"}],
    ),
}
_VALIDATION: _Fields = {
    "expression": _EXPRESSIONS,
    "message": ("a", "", "\n", "a\nb", " ", 1),
    "messageExpression": ("'a'", "1", "''", "object.metadata.name", "'a\\n'", "("),
    "reason": ("Unauthorized", "Forbidden", "Invalid", "RequestEntityTooLarge", "Conflict", ""),
    "valueExpression": ("'a'", "1", "null", "''", "("),
}
_BINDING: _Fields = {
    "policyName": (*_NAMES, None),
    "validationActions": (["Deny"], ["Warn", "Audit"], ["Deny", "Warn"], ["Deny", "Deny"], ["deny"], [], "Deny", None),
    "paramRef": (
        {},
        {"name": "a"},
        {"name": "a", "parameterNotFoundAction": "Allow"},
        {"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"},
        {"selector": {"matchLabels": {"a": "b"}}, "parameterNotFoundAction": "deny", "namespace": "A b"},
        None,
    ),
    "matchResources": ({}, {"resourceRules": [{}]}, *({"objectSelector": selector} for selector in _SELECTORS), None),
}
_WEBHOOK: _Fields = {
    **_MATCHING,
    "matchConditions": _CONDITIONS,
    "name": (*_NAMES, "a.b.example.com"),
    "sideEffects": ("None", "NoneOnDryRun", "Some", "Unknown", "none", "", None),
    "failurePolicy": ("Ignore", "Fail", "ignore", "", None),
    "reinvocationPolicy": ("Never", "IfNeeded", "x", ""),
    "timeoutSeconds": (0, 1, 30, 31, -1, "1", 1.5, None),
    "admissionReviewVersions": (["v1"], ["v1beta1"], ["v2"], ["v1", "v1"], ["V 1"], [], None, "v1"),
    "rules": ([], [{}], None),
    "clientConfig": (
        {},
        {"url": "http://example.com"},
        {"url": "https://u:p@example.com/?a#b"},
        {"url": "https://"},
        {"url": "https://example.com", "caBundle": "AAA"},
        {"url": "https://example.com", "caBundle": "AAAA"},
        {"service": {}},
        {"service": {"namespace": "a", "name": "b", "path": "c//d", "port": 0}},
        {"service": {"namespace": "a", "name": "b"}, "url": "https://example.com"},
        None,
    ),
}

_ANY = (*_words(("name", "labels", "generateName"), _METADATA), *_words(("apiVersion", "kind"), _TOP))
OBJECT = _ANY
DEFINITION = (
    *_ANY,
    *(_words(("type", "properties", "items"), _SCHEMA) * 3),
    *_words(("served", "storage"), _VERSION),
    *_words(("group", "versions"), _DEFINITION),
    *_words(("plural",), _OF_NAMES),
)
POLICY = (
    *_ANY,
    *_words(("resources", "apiGroups"), _RULE),
    *_words(("resourceRules",), _MATCHING),
    *_words(("matchConstraints", "validations", "mutations"), _POLICY),
    *_words(("expression", "valueExpression"), _VALIDATION),
    *_words(("policyName",), _BINDING),
)
WEBHOOK = (*_ANY, *_words(("resources", "apiGroups"), _RULE), *_words(("clientConfig", "sideEffects"), _WEBHOOK))
REPLY = (
    *_words(
        ("uid", "allowed", "status"),
        {
            "uid": ("other", "", None, 1),
            "allowed": (True, False, None, "true", 1),
            "patchType": ("JSONPatch", "jsonpatch", "", None, "MergePatch", 1),
            "patch": ("W10=", "!!", "W10", "", None, "bnVsbA==", "e30=", "W251bGxd", "W3t9XQ==", 1, "/w==", "W10=\n"),
            "auditAnnotations": ({}, {"a": "b"}, {"a b": "c"}, {"a": 1}, [], None),
            "warnings": ([], ["a"], ["x" * 5000], ["a\nb", "\x00"], ["é" * 300], [1], "a", [""] * 5000),
            "status": (
                {},
                {"code": 0},
                {"code": 200},
                {"code": 301, "message": "moved"},
                {"code": 999},
                {"code": -1},
                {"code": 2**40},
                {"code": "403"},
                {"code": 422, "reason": "Invalid", "details": {"causes": [{"field": 1}]}},
                {"status": "Success", "reason": "Whatever", "message": "é\n\x00"},
                {"details": {"retryAfterSeconds": 5}, "code": 429},
                {"metadata": {"continue": "x"}},
                [],
                None,
            ),
            "result": (
                {},
                {"status": "Success"},
                {"status": "Failure"},
                {"status": "success"},
                None,
                [],
                {"message": "x"},
            ),
            "convertedObjects": (
                [],
                [None],
                {},
                ["a"],
                [[]],
                [{}],
                None,
                [1],
                [{"kind": "a"}],
                [{"kind": "a", "apiVersion": 1}],
            ),
        },
    ),
    *_words(
        ("response",),
        {
            "apiVersion": (
                "admission.k8s.io/v1",
                "admission.k8s.io/v1beta1",
                "admission.k8s.io/v2",
                "v1",
                "a/b/c",
                "",
                None,
                1,
            ),
            "kind": ("AdmissionReview", "ConversionReview", "Status", "", None, 1),
            "response": (None, {}, [], "a", 1),
            "request": (None, {}, [], {"uid": 1}),
        },
    ),
)
