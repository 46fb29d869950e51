"""Work that grows with its input, and not with the square of it: twice as much takes about twice as long.

Counted in calls of functions, Python's own among them, which no other process on the machine can change.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import json_patch
from drakit_embedded.apiserver.managedfields import entries
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.writing import merge_keys, strategic

SMALL, LARGE = 300, 1200
# Of a linear algorithm 4, of one that sorts a little more, of a quadratic one 16.
MOST = 6.0


class Counted(str):
    """A text that counts how often it is compared."""

    compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)


def owners(count: int) -> Callable[[], object]:
    meta = {"ownerReferences": [{"uid": Counted(f"u{number}"), "kind": "Pod"} for number in range(count)]}
    return lambda: metadata.without_repeated_owners(meta)


def managers(count: int) -> Callable[[], object]:
    common = {"operation": "Update", "apiVersion": "v1"}
    made = [{**common, "manager": f"m{n}", "fieldsV1": {"f:x": {f"f:{n}": {"f:a": {}}}}} for n in range(count)]
    return lambda: entries.capped(made)


def deleted(count: int) -> Callable[[], object]:
    target = {"finalizers": [Counted(f"a/{number}") for number in range(count)]}
    patch = {"$deleteFromPrimitiveList/finalizers": [Counted(f"b/{number}") for number in range(count)]}
    return lambda: strategic.merge(target, patch, merge_keys.PLAIN)


def retained(count: int) -> Callable[[], object]:
    target: Object = {Counted(f"a{number}"): 1 for number in range(count)}
    patch = {"$retainKeys": [Counted(f"a{number}") for number in range(count)]}
    return lambda: strategic.merge(target, patch, merge_keys.PLAIN)


def calls(work: Callable[[], object]) -> int:
    """How many functions were called, and texts compared."""
    found, before = 0, Counted.compared

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found + Counted.compared - before


@pytest.mark.parametrize("make", [owners, managers, deleted, retained])
def test_work_grows_with_its_input(make: Callable[[int], Callable[[], object]]) -> None:
    assert calls(make(LARGE)) < MOST * calls(make(SMALL))


def test_the_oldest_of_many_managers_become_one() -> None:
    """All that they owned is kept."""
    made = [
        {
            "manager": f"m{n:05}",
            "operation": "Update",
            "apiVersion": "v1",
            "fieldsV1": {"f:data": {f"f:{n}": {}}},
            "time": f"2020-01-01T00:00:{n % 60:02}Z",
        }
        for n in range(500)
    ]
    found = entries.capped(made)
    assert len(found) == 10
    owned = {field for entry in found for field in entry["fieldsV1"]["f:data"]}
    assert owned == {f"f:{n}" for n in range(500)}
    assert [entry["manager"] for entry in found].count("ancient-changes") == 1


class List(list[Any]):
    """A list that counts how often all of it is gone through."""

    walked = 0

    def __iter__(self) -> Any:
        List.walked += 1
        return super().__iter__()


def test_an_operation_does_not_walk_through_the_list_that_it_changes() -> None:
    document = {"x": List(range(1000))}
    List.walked = 0
    moves = [{"op": "move", "from": "/x/999", "path": "/x/0"}, {"op": "move", "from": "/x/0", "path": "/x/-"}] * 50
    patched = json_patch.applied(document, [*moves, {"op": "add", "path": "/x/1000", "value": 7}])
    assert List.walked == 0
    assert isinstance(patched, dict)
    assert patched["x"][-2:] == [999, 7]


@pytest.mark.parametrize(("index", "fits"), [("0", True), ("3", True), ("-", True), ("4", False), ("-4", True)])
def test_an_item_is_added_within_a_list_or_at_its_end(index: str, fits: bool) -> None:
    operation = [{"op": "add", "path": f"/x/{index}", "value": 9}]
    if fits:
        patched = json_patch.applied({"x": [1, 2, 3]}, operation)
        assert json.dumps(patched).count("9") == 1
    else:
        with pytest.raises(json_patch.OperationError):
            json_patch.applied({"x": [1, 2, 3]}, operation)


def test_a_value_is_not_shared_by_operations() -> None:
    value: Object = {"a": [{}]}
    operation = {"op": "add", "path": "/x", "value": value}
    patched = json_patch.applied({}, [operation, {**operation, "path": "/y"}, {"op": "remove", "path": "/x/a/0"}])
    assert patched == {"x": {"a": []}, "y": {"a": [{}]}}
    assert value == {"a": [{}]}
