"""Resources inside of custom resources have types and metadata like any other."""

from typing import Any

import pytest

from drakit_api.structural.embedded import CoercionError, Embedded
from drakit_api.structural.schema import structural

_EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
_SCHEMA = structural(
    {"properties": {"list": {"items": {"additionalProperties": _EMBEDDED}}, "a": _EMBEDDED, "b": {"type": "object"}}}
)


def _in_a(metadata: Any) -> dict[str, Any]:
    return {"a": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}}


@pytest.mark.parametrize(
    ("sent", "kept", "unknown"),
    [
        (None, {}, []),
        ({"name": "x", "labels": {}, "creationTimestamp": None}, {"name": "x"}, []),
        ({"name": "x", "odd": 1, "ownerReferences": [{"uid": "u", "odd": 2}]}, None, ["odd", "ownerReferences[0].odd"]),
        ({"kind": "x"}, {}, ["kind"]),
    ],
)
def test_metadata_are_read(sent: Any, kept: Any, unknown: list[str]) -> None:
    obj = _in_a(sent)
    assert Embedded(_SCHEMA).coerce(obj) == [f"a.metadata.{path}" for path in unknown]
    assert "odd" not in obj["a"]["metadata"]
    assert kept is None or obj == _in_a(kept)


@pytest.mark.parametrize(
    ("obj", "error"),
    [
        ({"a": {"kind": 1}}, "a.kind: Invalid value: 1: must be a string"),
        ({"list": [{"x": {"apiVersion": True}}]}, "list[0][x].apiVersion: Invalid value: true: must be a string"),
        (
            _in_a("x"),
            'a.metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta',
        ),
        (
            _in_a({"name": 5, "labels": {"x": 1}}),
            'a.metadata: Invalid value: {"labels":{"x":1},"name":5}: '
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(obj: Any, error: str) -> None:
    with pytest.raises(CoercionError) as raised:
        Embedded(_SCHEMA).coerce(obj)
    assert str(raised.value) == error


def test_what_cannot_be_read_is_dropped_on_demand() -> None:
    obj = {"a": {"kind": 1, "apiVersion": "v1", "metadata": {"name": "x", "labels": 1}}}
    assert Embedded(_SCHEMA).coerce(obj, drop_invalid=True) == []
    assert obj == {"a": {"apiVersion": "v1", "metadata": {"name": "x"}}}


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (_in_a({"name": "Any_Name"}), []),
        ({"b": {}}, []),
        ({"a": {}}, ["a.apiVersion: Required value", "a.kind: Required value"]),
        (
            {"a": {"apiVersion": "a/b/c", "kind": ""}},
            [
                'a.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                'a.kind: Invalid value: "": must not be empty',
            ],
        ),
        (_in_a({"name": "a/b"}), ["a.metadata.name: Invalid value: \"a/b\": may not contain '/'"]),
        (
            _in_a({"generation": -1}),
            ["a.metadata.generation: Invalid value: -1: must be greater than or equal to 0"],
        ),
    ],
)
def test_types_and_metadata_are_checked(obj: Any, errors: list[str]) -> None:
    assert [str(error) for error in Embedded(_SCHEMA).faults(obj)] == errors


def test_the_object_itself_is_looked_at_on_demand() -> None:
    assert [error.field for error in Embedded(structural({}), is_root=True).faults({"kind": "A"})] == ["apiVersion"]
    assert Embedded(structural({})).faults({"kind": "A"}) == []
