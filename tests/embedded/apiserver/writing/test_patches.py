"""The four types of patch, each against what its specification says."""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError, Conflict, NotFound
from drakit_embedded.apiserver.scheme import kinds
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.wire.budget import DEEPEST
from drakit_embedded.apiserver.writing import merge_keys, patch_bodies, patches, strategic

# The table of examples in RFC 7386, appendix A.
RFC_7386 = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


@pytest.mark.parametrize(("target", "patch", "result"), RFC_7386, ids=[json.dumps(case[1]) for case in RFC_7386])
def test_merge_patch_as_in_the_rfc(target: Any, patch: Any, result: Any) -> None:
    assert patches.merge(copy.deepcopy(target), patch) == result


@pytest.mark.parametrize(
    ("target", "result"),
    [
        ({}, [{"c": 1}, None, [{}]]),
        ({"a": 1}, [{"c": 1}, None, [{}]]),
        ({"a": [{"b": 1}]}, [{"c": 1}, None, [{}]]),
        # The one place where upstream leaves nulls.
        ({"a": {}}, [{"b": None, "c": 1}, None, [{"d": None}]]),
    ],
)
def test_objects_in_lists_lose_their_nulls(target: Any, result: Any) -> None:
    patch = {"a": [{"b": None, "c": 1}, None, [{"d": None}]]}
    assert patches.merge(target, patch) == {"a": result}


def _has_nulls_in_lists(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_nulls_in_lists, value.values()))
    return isinstance(value, list) and without_nulls(copy.deepcopy(value)) != _deeply_without_nulls(value)


def _deeply_without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _deeply_without_nulls(item) for key, item in value.items() if item is not None}
    return [_deeply_without_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.mark.slow
@given(target=values, patch=values)
def test_merging_twice_is_merging_once(target: Any, patch: Any) -> None:
    assume(not _has_nulls_in_lists(patch))
    once = patches.merge(copy.deepcopy(target), copy.deepcopy(patch))
    assert patches.merge(copy.deepcopy(once), copy.deepcopy(patch)) == once


@pytest.mark.slow
@given(target=st.dictionaries(st.sampled_from("abcd"), values), wanted=st.dictionaries(st.sampled_from("abcd"), values))
def test_a_merge_patch_of_all_differences_makes_the_target_the_wanted(target: Object, wanted: Object) -> None:
    """Any object without nulls can be reached by a patch that names what to remove."""
    target, wanted = without_nulls(target), _deeply_without_nulls(wanted)

    def difference(old: Any, new: Any) -> Any:
        if not isinstance(old, dict) or not isinstance(new, dict):
            return new
        removed = {key: None for key in old if key not in new}
        return removed | {key: difference(old.get(key), value) for key, value in new.items() if value != old.get(key)}

    assert patches.merge(copy.deepcopy(target), difference(target, wanted)) == wanted


POD = merge_keys.of(next(kind for kind in kinds.all_kinds() if kind.kind == "Pod"))
CONTAINERS = [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b", "image": "1"}]
STRATEGIC = [
    pytest.param(
        {"spec": {"containers": CONTAINERS}},
        {"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "c"}]}},
        {"spec": {"containers": [CONTAINERS[0], {"name": "b", "image": "2"}, {"name": "c"}]}},
        id="lists with a key are merged by it",
    ),
    pytest.param(
        {"spec": {"containers": CONTAINERS}},
        {"spec": {"containers": [{"name": "a", "env": [{"name": "Y", "value": "2"}]}]}},
        {
            "spec": {
                "containers": [
                    {"name": "a", "image": "1", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]},
                    CONTAINERS[1],
                ]
            }
        },
        id="also lists inside of lists",
    ),
    pytest.param(
        {"spec": {"containers": CONTAINERS}},
        {"spec": {"containers": [{"name": "new"}, {"name": "b", "image": "2"}]}},
        {"spec": {"containers": [{"name": "new"}, CONTAINERS[0], {"name": "b", "image": "2"}]}},
        id="what the server does not have comes first",
    ),
    pytest.param(
        {"spec": {"containers": CONTAINERS}},
        {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}},
        {"spec": {"containers": [CONTAINERS[1]]}},
        id="an item is deleted by directive",
    ),
    pytest.param(
        {"spec": {"containers": CONTAINERS}},
        {"spec": {"containers": [{"name": "z"}, {"$patch": "replace"}]}},
        {"spec": {"containers": [{"name": "z"}]}},
        id="a list is replaced by directive",
    ),
    pytest.param(
        {"spec": {"containers": CONTAINERS}},
        {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}},
        {"spec": {"containers": [CONTAINERS[1], CONTAINERS[0]]}},
        id="an order is set",
    ),
    pytest.param(
        {"metadata": {"finalizers": ["a/b", "c/d"]}},
        {"metadata": {"finalizers": ["e/f"], "$deleteFromPrimitiveList/finalizers": ["a/b"]}},
        {"metadata": {"finalizers": ["e/f", "c/d"]}},
        id="a list of values is a set",
    ),
    pytest.param(
        {"spec": {"tolerations": [{"key": "a"}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
        id="a list without a key is replaced",
    ),
    pytest.param(
        {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
        {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}, "$retainKeys": ["name", "hostPath"]}]}},
        {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}},
        id="retained keys replace the members of a union",
    ),
    pytest.param(
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "True"}]}},
        {"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "True"}]}},
        id="conditions are merged by type",
    ),
    pytest.param(
        {"metadata": {"labels": {"a": "b", "c": "d"}}},
        {"metadata": {"labels": {"a": None, "e": "f"}}},
        {"metadata": {"labels": {"c": "d", "e": "f"}}},
        id="maps are merged, null removes",
    ),
]


@pytest.mark.parametrize(("target", "patch", "result"), STRATEGIC)
def test_strategic_merge_patch(target: Object, patch: Object, result: Object) -> None:
    assert strategic.merge(copy.deepcopy(target), copy.deepcopy(patch), POD) == result


@pytest.fixture
async def stored(connection: Connection) -> Object:
    body = {"metadata": {"name": "a", "labels": {"x": "1"}}, "data": {"k": "v"}}
    return await connection.create(resources.CONFIG_MAPS, body, "default")


@pytest.mark.parametrize(
    ("patch_type", "patch"),
    [
        ("merge", {"data": {"k": None, "n": "w"}}),
        ("strategic-merge", {"data": {"k": None, "n": "w"}}),
        ("json", [{"op": "remove", "path": "/data/k"}, {"op": "add", "path": "/data/n", "value": "w"}]),
    ],
)
async def test_a_patch_changes_what_it_says(
    connection: Connection, stored: Object, patch_type: Any, patch: Any
) -> None:
    changed = await connection.patch(resources.CONFIG_MAPS, "a", patch, "default", patch_type=patch_type)
    assert changed["data"] == {"n": "w"}
    assert changed["metadata"]["labels"] == {"x": "1"}
    assert int(changed["metadata"]["resourceVersion"]) > int(stored["metadata"]["resourceVersion"])


def nested(levels: int) -> list[Object]:
    """Operations that put an object into another, so many times, and that then copy it."""
    into: list[Object] = [
        {"op": "add", "path": "/b", "value": {}},
        {"op": "move", "from": "/a", "path": "/b/x"},
        {"op": "move", "from": "/b", "path": "/a"},
    ]
    return [{"op": "add", "path": "/a", "value": {}}, *into * levels, {"op": "copy", "from": "/a", "path": "/c"}]


@pytest.mark.parametrize("levels", [DEEPEST + 1, 2 * sys.getrecursionlimit()])
def test_what_a_patch_makes_can_be_too_deep(levels: int) -> None:
    patch = patch_bodies.Patch("json", nested(levels))
    with pytest.raises(StatusError) as refused:
        patches.plain({"metadata": {"name": "a"}}, patch)
    assert refused.value.code == 422


async def test_a_patch_with_an_old_version_is_a_conflict(connection: Connection, stored: Object) -> None:
    await connection.patch(resources.CONFIG_MAPS, "a", {"data": {"k": "2"}}, "default")
    late = {"metadata": {"resourceVersion": stored["metadata"]["resourceVersion"]}, "data": {"k": "3"}}
    with pytest.raises(Conflict):
        await connection.patch(resources.CONFIG_MAPS, "a", late, "default")


async def test_patching_does_not_create(connection: Connection) -> None:
    with pytest.raises(NotFound):
        await connection.patch(resources.CONFIG_MAPS, "none", {"data": {}}, "default")
    with pytest.raises(NotFound):
        await connection.patch(resources.LEASES, "none", {"spec": {}}, "default")


@pytest.mark.parametrize(
    ("content_type", "body", "code", "words"),
    [
        pytest.param("application/json", "{}", 415, "415: Unsupported Media Type", id="type"),
        pytest.param(
            "application/merge-patch+json",
            "[1]",
            400,
            "cannot unmarshal array into Go value of type map[",
            id="merge list",
        ),
        pytest.param("application/merge-patch+json", "{", 400, "invalid JSON patch", id="broken"),
        pytest.param(
            "application/json-patch+json",
            "{}",
            400,
            "object into Go value of type []handlers.jsonPatchOp",
            id="json object",
        ),
        pytest.param(
            "application/json-patch+json",
            '[{"op":"test","path":"/metadata/name","value":"x"}]',
            422,
            "the server rejected our request",
            id="failed test",
        ),
        pytest.param(
            "application/json-patch+json", '[{"op":"remove","path":"/n/o"}]', 422, "rejected", id="no such path"
        ),
        pytest.param("application/json-patch+json", '[{"op":"jump"}]', 422, "rejected", id="unknown operation"),
        pytest.param(
            "application/json-patch+json", '[{"op":"replace","path":"","value":1}]', 422, "rejected", id="no object"
        ),
        pytest.param(
            "application/merge-patch+json",
            '{"metadata":{"labels":{"a":1}}}',
            422,
            '": json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
            id="label",
        ),
        pytest.param("application/merge-patch+json", '{"kind":"Pod"}', 422, "unknown conversion", id="kind"),
        pytest.param(
            "application/merge-patch+json", '{"metadata":{"name":"b"}}', 400, "does not match the name", id="name"
        ),
        pytest.param(
            "application/strategic-merge-patch+json", '{"$patch":"x"}', 500, "unknown patch type: x", id="directive"
        ),
    ],
)
async def test_a_bad_patch_is_refused_and_changes_nothing(
    connection: Connection, stored: Object, content_type: str, body: str, code: int, words: str
) -> None:
    path = resources.CONFIG_MAPS.path("default", "a")
    with pytest.raises(ApiError) as refused:
        await connection.request("PATCH", path, body.encode(), content_type=content_type)
    assert refused.value.code == code
    assert words in refused.value.message
    assert await connection.get(resources.CONFIG_MAPS, "a", "default") == stored


# What the patched object cannot be read for, in the words of the two ways in which the real server reads it
# (encoding/json, and runtime.DefaultUnstructuredConverter).
UNREADABLE = [
    pytest.param("merge", {"dta": {}}, 'strict decoding error: unknown field "dta"', id="unknown field"),
    pytest.param("strategic-merge", {"dta": {}}, 'strict decoding error: unknown field "dta"', id="unknown, strategic"),
    pytest.param("strategic-merge", {"data": {"k": 1}}, "cannot convert int64 to string", id="number for text"),
    pytest.param("strategic-merge", {"data": {"k": True}}, "unrecognized type: string", id="bool for text"),
    pytest.param("strategic-merge", {"data": "x"}, "cannot restore map from string", id="text for a map"),
    pytest.param(
        "strategic-merge", {"metadata": {"finalizers": {}}}, "cannot restore slice from map", id="map for a list"
    ),
    pytest.param("strategic-merge", {"immutable": "x"}, "unrecognized type: bool", id="text for a bool"),
]


@pytest.mark.parametrize(("patch_type", "patch", "why"), UNREADABLE)
async def test_a_patch_is_invalid_where_a_body_were_unreadable(
    connection: Connection, stored: Object, patch_type: Any, patch: Object, why: str
) -> None:
    strict = {"fieldValidation": "Strict"}
    with pytest.raises(ApiError) as refused:
        await connection.patch(resources.CONFIG_MAPS, "a", patch, "default", patch_type=patch_type, params=strict)
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert refused.value.message.startswith(' "" is invalid: patch: Invalid value: "')
    assert refused.value.message.endswith(f'": {why}')
    assert await connection.get(resources.CONFIG_MAPS, "a", "default") == stored


async def test_an_invalid_strategic_patch_is_shown_as_go_prints_it(connection: Connection, stored: Object) -> None:
    ordered: Object = {"ownerReferences": [], "$setElementOrder/ownerReferences": []}
    patch = {"metadata": {"labels": {"b": "c", "a": 'x "y"'}, **ordered}, "data": "x"}
    with pytest.raises(ApiError) as refused:
        await connection.patch(resources.CONFIG_MAPS, "a", patch, "default", patch_type="strategic-merge")
    shown = r'"map[data:x metadata:map[labels:map[a:x \"y\" b:c]]]"'.replace("\\\\", "\\")
    assert shown in refused.value.message


async def apply(connection: Connection, manager: str, body: Object, *, force: bool = False) -> Object:
    params = {"fieldManager": manager, "force": str(force).lower()}
    typed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, **body}
    return await connection.patch(resources.CONFIG_MAPS, "a", typed, "default", patch_type="apply", params=params)


async def test_what_the_types_do_not_have_is_never_applied(connection: Connection) -> None:
    container = {"name": "c", "image": "i", "imag": "x"}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container], "nod": 1}}
    params = {"fieldManager": "me", "fieldValidation": "Ignore"}
    with pytest.raises(ApiError) as refused:
        await connection.patch(resources.PODS, "p", body, "default", patch_type="apply", params=params)
    assert (refused.value.code, refused.value.message) == (
        500,
        "failed to create typed patch object (/p; /v1, Kind=Pod): errors:\n"
        '  .spec.containers[name="c"].imag: field not declared in schema\n'
        "  .spec.nod: field not declared in schema",
    )


async def test_apply_creates_then_merges_and_takes_back_what_it_no_longer_says(connection: Connection) -> None:
    made = await apply(connection, "me", {"data": {"a": "1", "b": "2"}})
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {"f:a": {}, "f:b": {}}}
    same = await apply(connection, "me", {"data": {"a": "1", "b": "2"}})
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    await connection.patch(resources.CONFIG_MAPS, "a", {"data": {"c": "3"}}, "default")
    less = await apply(connection, "me", {"data": {"a": "1"}})
    assert less["data"] == {"a": "1", "c": "3"}


async def test_two_managers_conflict_over_a_value_until_one_forces(connection: Connection) -> None:
    await apply(connection, "one", {"data": {"a": "1"}})
    both = await apply(connection, "two", {"data": {"a": "1", "b": "2"}})
    assert both["data"] == {"a": "1", "b": "2"}
    with pytest.raises(Conflict, match=r'Apply failed with 1 conflict: conflict with "one": \.data\.a'):
        await apply(connection, "two", {"data": {"a": "9"}})
    forced = await apply(connection, "two", {"data": {"a": "9"}}, force=True)
    assert forced["data"] == {"a": "9"}
    owners = {entry["manager"] for entry in forced["metadata"]["managedFields"]}
    assert owners == {"two"}


async def test_apply_merges_lists_by_their_key(connection: Connection) -> None:
    def pod(*images: tuple[str, str]) -> Object:
        containers = [{"name": name, "image": image} for name, image in images]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}

    await connection.create(resources.PODS, pod(("a", "1"), ("b", "1")), "default")
    params = {"fieldManager": "m", "force": "true"}
    merged = await connection.patch(resources.PODS, "p", pod(("b", "2")), "default", patch_type="apply", params=params)
    assert [(c["name"], c["image"]) for c in merged["spec"]["containers"]] == [("a", "1"), ("b", "2")]


async def test_apply_needs_a_manager(connection: Connection) -> None:
    with pytest.raises(ApiError, match="fieldManager: Required value"):
        await connection.patch(resources.CONFIG_MAPS, "a", {"metadata": {"name": "a"}}, "default", patch_type="apply")
