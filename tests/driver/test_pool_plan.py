"""The writes that change a pool, seen by a consumer after each of them."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drakit_api.layouts.slice_names import generate_name
from drakit_api.typed_objects import ResourceSlice, as_slice
from drakit_driver.publishing.pool_plan import Desired, plan


def desired(contents: list[str]) -> list[Desired]:
    return [Desired.of({"driver": "d", "nodeName": "n", "devices": [{"name": name}]}) for name in contents]


def stored(name: str, content: str, generation: int, count: int) -> ResourceSlice:
    pool = {"name": "p", "generation": generation, "resourceSliceCount": count}
    spec = {"driver": "d", "nodeName": "n", "devices": [{"name": content}], "pool": pool}
    return as_slice({"metadata": {"name": name}, "spec": spec})


def visible(slices: list[ResourceSlice]) -> list[str] | None:
    """What a consumer uses of the pool: the newest generation, if it is whole (allocator's pools.go)."""
    newest = max((item["spec"]["pool"]["generation"] for item in slices), default=0)
    current = [item for item in slices if item["spec"]["pool"]["generation"] == newest]
    if any(item["spec"]["pool"]["resourceSliceCount"] != len(current) for item in current):
        return None
    return sorted(item["spec"]["devices"][0]["name"] for item in current)


def states(slices: list[ResourceSlice], wanted: list[Desired]) -> list[list[ResourceSlice]]:
    """The stored slices after each write of the plan."""
    planned = plan(wanted, slices)
    now = list(slices)
    seen = [now]
    pool = {"name": "p", "generation": planned.generation, "resourceSliceCount": len(wanted)}
    for gone in planned.delete:
        now = [item for item in now if item is not gone]
        seen.append(now)
    for index, old in planned.update:
        new = as_slice({**old, "spec": {**wanted[index].spec, "pool": pool}})
        now = [new if item is old else item for item in now]
        seen.append(now)
    for index in planned.create:
        name = generate_name(index, len(wanted), "d", "n") + "abcde"
        now = [*now, as_slice({"metadata": {"name": name}, "spec": {**wanted[index].spec, "pool": pool}})]
        seen.append(now)
    return seen


CONTENTS = st.lists(st.sampled_from("abcdef"), max_size=5)


@pytest.mark.slow
@given(before=CONTENTS, after=CONTENTS)
def test_pool_is_never_seen_complete_and_wrong(before: list[str], after: list[str]) -> None:
    first = states([], desired(before))[-1]
    steps = states(first, desired(after))
    allowed = [sorted(before), sorted(after), None, []]
    assert all(visible(step) in allowed for step in steps)
    assert visible(steps[-1]) == sorted(after)
    assert plan(desired(after), steps[-1]).empty


def test_a_generation_that_none_can_follow_is_removed() -> None:
    """A slice in our place with the highest int64 would otherwise keep the pool away for ever."""
    last = [stored("00000-d-n-aaaaa", "x", 2**63 - 1, 2)]
    planned = plan(desired(["a", "b"]), last)
    assert (planned.generation, planned.delete, planned.update, planned.create) == (1, last, [], [0, 1])


JUNK = st.builds(
    stored,
    st.sampled_from(["00000-d-n-aaaaa", "00001-d-n-bbbbb", "00009-d-n-ccccc", "by-hand", "0000g-d-n-x", "00000-again"]),
    st.sampled_from("abx"),
    st.integers(0, 3),
    st.integers(0, 4),
)


@pytest.mark.slow
@given(junk=st.lists(JUNK, max_size=6, unique_by=lambda item: item["metadata"]["name"]), after=CONTENTS)
def test_any_mess_is_cleaned_up_in_one_go(junk: list[ResourceSlice], after: list[str]) -> None:
    last = states(copy.deepcopy(junk), desired(after))[-1]
    assert sorted(item["spec"]["devices"][0]["name"] for item in last) == sorted(after)
    assert plan(desired(after), last).empty
