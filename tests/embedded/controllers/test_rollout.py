"""The arithmetic of deployments, with the figures of the upstream comments and tests."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drakit_api.kubernetes_objects import Object
from drakit_embedded.controllers import rollout


def deployment(
    replicas: int, surge: int | str = "25%", unavailable: int | str = "25%", strategy: str = "RollingUpdate"
) -> Object:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {
        "metadata": {"name": "d"},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": strategy, "rollingUpdate": rolling},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c"}]}},
        },
    }


def replica_set(name: str, replicas: int, available: int, **annotations: str) -> Object:
    metadata = {"name": name, "creationTimestamp": f"2026-01-01T00:00:{len(name):02}Z", "annotations": annotations}
    return {"metadata": metadata, "spec": {"replicas": replicas}, "status": {"availableReplicas": available}}


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (2, "0%", "1%", (0, 1)),
        (1, "0%", "1%", (0, 1)),
        (2, "1%", "25%", (1, 0)),
        (10, 3, 2, (3, 2)),
        (4, "25%", "25%", (1, 1)),
        (1, 0, 5, (0, 1)),
    ],
    ids=str,
)
def test_surge_rounds_up_and_unavailable_down_and_never_both_are_zero(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    assert rollout.fenceposts(deployment(replicas, surge, unavailable)) == expected


@pytest.mark.parametrize(
    ("new_available", "old_available", "expected"),
    [
        # deployment/rolling.go, case 1: 10 replicas, 2 unavailable, 3 surge; crash looping new pods free nothing.
        (0, 8, {}),
        (5, 8, {"old": 3}),
        (3, 8, {"old": 5}),
        (5, 6, {"old": 3}),
    ],
    ids=["new pods crash", "new pods ready", "some new pods ready", "old pods unhealthy"],
)
def test_old_pods_go_only_as_far_as_availability_allows(
    new_available: int, old_available: int, expected: dict[str, int]
) -> None:
    sizes = rollout.scale_down(
        deployment(10, 3, 2), [replica_set("old", 8, old_available)], replica_set("newer", 5, new_available)
    )
    assert sizes == expected


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    desired=st.integers(0, 50),
    surge=st.integers(0, 10),
    unavailable=st.integers(0, 10),
    old=st.lists(st.integers(0, 20), max_size=4),
    new=st.integers(0, 20),
)
def test_a_step_never_exceeds_the_surge(desired: int, surge: int, unavailable: int, old: list[int], new: int) -> None:
    wanted = deployment(desired, surge, unavailable)
    size = rollout.new_set_size(wanted, sum(old) + new, new)
    if new >= desired:
        assert size == desired
    else:
        assert new <= size <= desired
        assert size == new or sum(old) + size <= desired + rollout.fenceposts(wanted)[0]


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    desired=st.integers(1, 50),
    unavailable=st.integers(0, 10),
    old=st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20)), max_size=4),
    new=st.tuples(st.integers(0, 20), st.integers(0, 20)),
)
def test_scaling_down_keeps_enough_pods_available(
    desired: int, unavailable: int, old: list[tuple[int, int]], new: tuple[int, int]
) -> None:
    wanted = deployment(desired, 1, unavailable)
    sets = [replica_set(f"old-{'x' * index}", size, min(size, ready)) for index, (size, ready) in enumerate(old)]
    newest = replica_set("new", new[0], min(new))
    sizes = rollout.scale_down(wanted, sets, newest)
    before = sum(map(rollout.available_of, [*sets, newest]))
    lost = sum(max(0, rollout.available_of(s) - sizes.get(s["metadata"]["name"], 99)) for s in sets)
    assert before - lost >= min(before, desired - rollout.fenceposts(wanted)[1])
    assert all(size >= 0 for size in sizes.values())


def test_scaling_in_the_middle_of_a_rollout_is_proportional() -> None:
    # 10 -> 15 replicas with 3 surge: 13 pods become 18, in proportion (deployment documentation of Kubernetes).
    sets = [
        replica_set("old", 8, 8, **{rollout.MAX_REPLICAS: "13"}),
        replica_set("newer", 5, 0, **{rollout.MAX_REPLICAS: "13"}),
    ]
    assert rollout.proportional(deployment(15, 3, 2), sets) == {"old": 11, "newer": 7}


def test_scaling_to_zero_takes_everything() -> None:
    sets = [replica_set("old", 8, 8), replica_set("newer", 5, 0)]
    assert rollout.proportional(deployment(0, 3, 2), sets) == {"old": 0, "newer": 0}


def test_the_hash_label_does_not_change_the_template() -> None:
    plain = deployment(1)["spec"]["template"]
    labelled = {**plain, "metadata": {"labels": {"app": "x", rollout.HASH_LABEL: "abc"}}}
    assert rollout.template_hash(plain) == rollout.template_hash(labelled)
    assert rollout.template_hash(plain) != rollout.template_hash({**plain, "spec": {"containers": [{"name": "d"}]}})


def test_what_go_clients_leave_empty_does_not_change_the_template() -> None:
    plain = deployment(1)["spec"]["template"]
    spec: Object = {"containers": [{"name": "c", "resources": {}, "env": None}], "volumes": []}
    sent = {"metadata": {"creationTimestamp": None, "labels": {"app": "x"}}, "spec": spec}
    assert rollout.template_hash(sent) == rollout.template_hash(plain)
    zero = {"metadata": {"labels": {"app": "x"}}, "spec": {**plain["spec"], "terminationGracePeriodSeconds": 0}}
    assert rollout.template_hash(zero) != rollout.template_hash(plain)


def test_the_oldest_of_two_equal_replica_sets_is_the_new_one() -> None:
    wanted = deployment(1)
    template = wanted["spec"]["template"]
    older, newer = replica_set("a", 1, 1), replica_set("bb", 1, 1)
    for candidate in (older, newer):
        candidate["spec"]["template"] = template
    assert rollout.newest_set(wanted, [newer, older]) is older
