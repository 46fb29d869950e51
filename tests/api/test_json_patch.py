"""JSON patches: what is more lenient than RFC 6902, and the errors of kube-apiserver's library."""

from __future__ import annotations

from typing import Any

import pytest

from drakit_api.objects import json_patch
from drakit_api.objects.json_patch import OperationError


def document() -> Any:
    return {"a": {"b": 1}, "l": [1, 2, 3], "n": None}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/l/-", "value": 4}, {"l": [1, 2, 3, 4]}),
        ({"op": "add", "path": "/l/-1", "value": 4}, {"l": [1, 2, 3, 4]}),
        ({"op": "add", "path": "/a/c~1d", "value": {}}, {"a": {"b": 1, "c/d": {}}}),
        ({"op": "remove", "path": "/l/-1"}, {"l": [1, 2]}),
        ({"op": "replace", "path": "/a/x", "value": 2}, {"a": {"b": 1, "x": 2}}),
        ({"op": "copy", "from": "/a", "path": "/l/0"}, {"l": [{"b": 1}, 1, 2, 3]}),
        ({"op": "move", "from": "/l/0", "path": "/a/b"}, {"a": {"b": 1}, "l": [2, 3]}),
        ({"op": "test", "path": "/missing", "value": None}, {}),
        ({"op": "test", "path": "x/a/b", "value": 1}, {}),
    ],
)
def test_an_operation_applies(operation: Any, expected: Any) -> None:
    assert json_patch.applied(document(), [operation]) == {**document(), **expected}


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"op": "add", "value": 1}, "add operation failed to decode path: missing value"),
        (
            {"op": "add", "path": "/x/y"},
            'add operation does not apply: doc is missing path: "/x/y": missing value',
        ),
        (
            {"op": "add", "path": "/l/x", "value": 1},
            "error in add for path: '/l/x': value was not a proper array index: 'x': "
            'strconv.Atoi: parsing "x": invalid syntax',
        ),
        (
            {"op": "add", "path": "/l/9", "value": 1},
            "error in add for path: '/l/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            {"op": "remove", "path": "/a/x"},
            "error in remove for path: '/a/x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            {"op": "remove", "path": "/l/q"},
            "error in remove for path: '/l/q': strconv.Atoi: parsing \"q\": invalid syntax",
        ),
        (
            {"op": "replace", "path": "/x/y"},
            "replace operation does not apply: doc is missing path: /x/y: missing value",
        ),
        (
            {"op": "replace", "path": "/l/7", "value": 1},
            "replace operation does not apply: doc is missing key: /l/7: missing value",
        ),
        ({"op": "replace"}, "replace operation failed to decode path: operation missing path field: missing value"),
        (
            {"op": "move", "path": "/a"},
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            {"op": "move", "from": "/x/y", "path": "/a"},
            "move operation does not apply: doc is missing from path: /x/y: missing value",
        ),
        (
            {"op": "copy", "from": "/a", "path": "/x/y"},
            "copy operation does not apply: doc is missing destination path: /x/y: missing value",
        ),
        ({"op": "test", "path": "/a/b", "value": True}, "testing value /a/b failed: test failed"),
        ({"op": "test", "path": "/a/b", "value": "1"}, "testing value /a/b failed: test failed"),
        ({"op": "frob", "path": "/a"}, "Unexpected kind: frob"),
        ({"op": 1, "path": "/a"}, "Unexpected kind: unknown"),
        ({"path": "/a"}, "Unexpected kind: unknown"),
    ],
)
def test_an_operation_that_does_not_apply_is_told_as_in_go(operation: Any, message: str) -> None:
    with pytest.raises(OperationError) as refused:
        json_patch.applied(document(), [operation])
    assert str(refused.value) == message


def test_copies_are_limited_together() -> None:
    text = "x" * 1024 * 1024
    operations = [{"op": "copy", "from": "/t", "path": f"/c{number}"} for number in range(4)]
    with pytest.raises(OperationError, match="the accumulated size increase of copy is 3145734, exceeding the limit"):
        json_patch.applied({"t": text}, operations)
