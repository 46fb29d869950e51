"""Type checks of admission policies: what the status says of expressions that cannot work."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_embedded.controllers.policies.type_checks import TypeChecker

_REFERENCE = "#/components/schemas/"
_WIDGET: Object = {
    "type": "object",
    "properties": {
        "metadata": {"allOf": [{"$ref": f"{_REFERENCE}io.k8s.Meta"}], "default": {}},
        "spec": {"$ref": f"{_REFERENCE}io.k8s.Spec"},
    },
}
_DOCUMENT: Object = {
    "components": {
        "schemas": {
            "io.k8s.api.Widget": {
                **_WIDGET,
                "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Widget"}],
            },
            "com.example.v1.Gadget": {
                **_WIDGET,
                "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Gadget"}],
            },
            "io.k8s.Meta": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "creationTimestamp": {"$ref": f"{_REFERENCE}io.k8s.Time"},
                },
            },
            "io.k8s.Time": {"type": "string", "format": "date-time"},
            "io.k8s.Spec": {
                "type": "object",
                "properties": {
                    "port": {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
                    "amount": {"oneOf": [{"type": "string"}, {"type": "number"}]},
                    "inner": {"type": "array", "items": {"$ref": f"{_REFERENCE}io.k8s.Spec"}},
                },
            },
        }
    }
}
_RESOURCES: Object = {
    "resources": [
        {"name": "widgets", "kind": "Widget"},
        {"name": "widgets/status", "kind": "Widget"},
        {"name": "gadgets", "kind": "Gadget"},
    ]
}


class Server:
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def json(self, method: str, path: str) -> Object:
        self.asked.append(path)
        if path == "/api/v1":
            return _RESOURCES
        if path == "/openapi/v3/api/v1":
            return _DOCUMENT
        raise NotFound(404, {})


def policy(expression: str, resources: str = "widgets", **spec: Any) -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": resources.split(",")}
    return {
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}], **spec}
    }


def warned(given: Object) -> list[tuple[str, str]]:
    checker = TypeChecker(cast(Connection, Server()))
    return [(each["fieldRef"], each["warning"]) for each in asyncio.run(checker.check(given))]


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("object.metadata.name == 'x' && object.metadata.labels['a'] == 'b'", ""),
        ("object.spec.inner[0].inner.all(x, x.port == 5)", ""),
        ("object.metadata.creationTimestamp.getFullYear() > 2000", ""),
        ("object == oldObject", ""),
        ("object.spec.zed == 1", "undefined field 'zed'"),
        # Expressions do not see what may be of several types.
        ("object.spec.amount == '1'", "undefined field 'amount'"),
        ("object.metadata.name > 5", "found no matching overload for '_>_' applied to '(string, int)'"),
    ],
)
def test_an_expression_is_checked_by_the_types_of_the_kind(expression: str, problem: str) -> None:
    found = warned(policy(expression))
    assert bool(found) == bool(problem)
    for path, warning in found:
        assert path == "spec.validations[0].expression"
        assert warning.startswith("/v1, Kind=Widget: ERROR: <input>:1:")
        assert problem in warning
        assert warning.endswith("^\n")


def test_messages_are_checked_too_with_variables_that_are_typed() -> None:
    validation = {"expression": "variables.name == 'x'", "messageExpression": "variables.name + 1"}
    given = policy("", validations=[validation], variables=[{"name": "name", "expression": "object.metadata.name"}])
    [(path, warning)] = warned(given)
    assert path == "spec.validations[0].messageExpression"
    assert "found no matching overload for '_+_' applied to '(string, int)'" in warning


@pytest.mark.parametrize(
    "given",
    [
        policy("object.zed == 1", "gizmos"),
        policy("object.zed == 1", "*"),
        policy("object.zed == 1", "widgets/status"),
    ],
)
def test_nothing_is_said_of_kinds_that_are_not_known(given: Object) -> None:
    assert warned(given) == []


@pytest.mark.parametrize(("plural", "times"), [("widgets", 1), ("gadgets", 2)])
def test_documents_are_read_once_unless_they_may_change(plural: str, times: int) -> None:
    server = Server()
    checker = TypeChecker(cast(Connection, server))
    for _ in range(2):
        assert len(asyncio.run(checker.check(policy("object.zed == 1", plural)))) == 1
    assert server.asked.count("/openapi/v3/api/v1") == times
