"""Definitions are checked when they are created and when they change."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry.definitions.object_rules import on_create, on_status_update, on_update
from tests.embedded.apiserver.registry.definitions.samples import definition

_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_NAMED = 'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group'
_SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "string"}}}}


def _version(**fields: Any) -> Object:
    return {"name": "v1", "served": True, "storage": True, "schema": _SCHEMA, **fields}


def _webhook(**client: Any) -> Object:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://a.b/c", **client}}
    return {"strategy": "Webhook", "webhook": webhook}


# parts of the spec -> errors
_SPECS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "fine": ({}, []),
    "group": (
        {"group": "example"},
        [_NAMED, 'spec.group: Invalid value: "example": should be a domain with at least one dot'],
    ),
    "scope": (
        {"scope": "World"},
        ['spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"'],
    ),
    "kind and list kind": (
        {"names": {"plural": "widgets", "singular": "w", "kind": "W", "listKind": "W"}},
        ['spec.names.listKind: Invalid value: "W": kind and listKind may not be the same'],
    ),
    "short name": (
        {"names": {"plural": "widgets", "singular": "w", "kind": "W", "listKind": "L", "shortNames": ["W"]}},
        [f'spec.names.shortNames[0]: Invalid value: "W": {_LABEL}'],
    ),
    "no schema": (
        {"versions": [_version(schema=None)]},
        ["spec.versions[0].schema.openAPIV3Schema: Required value"],
    ),
    "no versions": (
        {"versions": None},
        [
            "spec.versions: Invalid value: null: must have exactly one version marked as storage version",
            'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage '
            "version, and must remain in spec.versions until a storage migration ensures no data remains persisted in "
            "v1 and removes v1 from status.storedVersions",
        ],
    ),
    "one version, two places": (
        {"versions": [_version(name="V1")]},
        [
            f'spec.versions[0].name: Invalid value: "V1": {_LABEL}',
            f'spec.version: Invalid value: "V1": {_LABEL}',
            'status.storedVersions: Invalid value: ["v1"]: must have the storage version V1',
            'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage '
            "version, and must remain in spec.versions until a storage migration ensures no data remains persisted in "
            "v1 and removes v1 from status.storedVersions",
        ],
    ),
    "warning": (
        {"versions": [_version(deprecationWarning="x")]},
        [
            'spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions',
        ],
    ),
    "column": (
        {"versions": [_version(additionalPrinterColumns=[{"name": "x", "type": "text", "jsonPath": "x"}])]},
        [
            'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of '
            "boolean,date,integer,number,string",
            'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "x": must be a simple json path starting with .',
        ],
    ),
    "column of one of two versions": (
        {"versions": [_version(), _version(name="v2", storage=False, additionalPrinterColumns=[{"type": "date"}])]},
        [
            "spec.versions[1].additionalPrinterColumns[0].name: Required value",
            "spec.versions[1].additionalPrinterColumns[0].JSONPath: Required value",
        ],
    ),
    "scale": (
        {"versions": [_version(subresources={"scale": {"specReplicasPath": ".x", "statusReplicasPath": ""}})]},
        [
            'spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under .spec',
            "spec.subresources.scale.statusReplicasPath: Required value",
        ],
    ),
    "selectable fields": (
        {"versions": [_version(selectableFields=[{"jsonPath": ".spec"}, {"jsonPath": ".spec"}, {"jsonPath": ".x"}])]},
        [
            'spec.selectableFields[1].jsonPath: Duplicate value: ".spec"',
            'spec.selectableFields[2].jsonPath: Invalid value: ".x": is an invalid path: '
            "does not refer to a valid field",
        ],
    ),
    "webhook": ({"conversion": _webhook()}, []),
    "webhook without TLS": (
        {"conversion": _webhook(url="http://a.b")},
        [
            "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; "
            "desired format: https://host[/path]"
        ],
    ),
    "reviews": (
        {"conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v2", "v2"]}}},
        [
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
            'spec.conversion.conversionReviewVersions[1]: Invalid value: "v2": duplicate version',
            'spec.conversion.conversionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of '
            "v1, v1beta1",
        ],
    ),
    "preserving": (
        {"preserveUnknownFields": True},
        [
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
            "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        ],
    ),
}


@pytest.mark.parametrize("case", _SPECS)
def test_a_new_definition_is_checked(case: str) -> None:
    spec, errors = _SPECS[case]
    assert [str(error) for error in on_create(definition(**spec))] == errors


@pytest.mark.parametrize(
    ("annotation", "faulty"),
    [("", True), ("unapproved, experiment", False), ("https://github.com/x/y/pull/1", False), ("yes", True)],
)
def test_groups_of_the_community_need_an_approval(annotation: str, faulty: bool) -> None:
    crd = definition(group="widgets.k8s.io")
    crd["metadata"] |= {"name": "widgets.widgets.k8s.io", "annotations": {"api-approved.kubernetes.io": annotation}}
    errors = on_create(crd)
    assert [error.field for error in errors] == ["metadata.annotations[api-approved.kubernetes.io]"] * faulty
    # What was not approved of may stay so.
    assert on_update(copy.deepcopy(crd), crd) == []


def _with(crd: Object, path: str, value: Any) -> Object:
    changed = copy.deepcopy(crd)
    *parents, last = path.split(".")
    part = changed["spec"]
    for key in parents:
        part = part[key]
    part[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        ("scope", "Cluster", [], ["spec.scope"]),
        ("names.kind", "Other", [], ["spec.names.kind"]),
        ("names.singular", "other", [], []),
        ("group", "other.com", ["spec.group"], ["spec.group"]),
        ("names.plural", "others", ["spec.names.plural"], ["spec.names.plural"]),
    ],
)
def test_what_objects_are_stored_by_cannot_change(path: str, value: str, before: list[str], after: list[str]) -> None:
    """``after`` is when the definition is in force."""
    crd = definition()
    assert [error.field for error in on_update(_with(crd, path, value), crd)] == before
    crd["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    assert [error.field for error in on_update(_with(crd, path, value), crd)] == after


def test_an_invalid_authority_is_refused_once_the_definition_is_in_force() -> None:
    crd = definition()
    changed = _with(crd, "conversion", _webhook(caBundle="eA=="))
    assert on_update(changed, crd) == []
    crd["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    assert [str(error) for error in on_update(changed, crd)] == [
        'spec.conversion.webhookClientConfig.caBundle: Invalid value: "eA==": unable to load root certificates: unable '
        "to parse bytes as PEM block"
    ]
    assert on_update(copy.deepcopy(changed), changed | {"status": crd["status"]}) == []


def test_a_version_that_objects_are_stored_in_has_to_stay() -> None:
    crd = definition(versions=[_version(), _version(name="v2", storage=False)])
    gone = _with(crd, "versions", [_version(name="v2")])
    gone["status"]["storedVersions"] = ["v1", "v2"]
    assert [error.field for error in on_update(gone, crd)] == ["status.storedVersions[0]"]


def test_a_status_is_checked_for_its_names_only() -> None:
    crd = definition()
    changed = copy.deepcopy(crd)
    changed["status"] = {"acceptedNames": {"plural": "W"}, "storedVersions": []}
    assert [error.field for error in on_status_update(changed, crd)] == ["status.acceptedNames.plural"]
