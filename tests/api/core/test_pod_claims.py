"""Which claims a pod has, which are its own, and which it may use.

Each answer is one of Kubernetes: of ``Name``, ``IsForPod`` and ``IsReservedForPod`` of
``k8s.io/dynamic-resource-allocation`` v0.37.1 ``resourceclaim``, called with this pod and claim.
"""

from __future__ import annotations

import pytest

from drakit_api.core.pod_claims import (
    ClaimNotCreated,
    PodClaimError,
    check_owner,
    claim_name,
    claim_names,
    is_reserved_for,
    is_terminal,
    pod_consumer,
)
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ResourceClaim, as_claim

POD: Object = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
    "spec": {},
    "status": {"resourceClaimStatuses": [{"name": "made", "resourceClaimName": "p-made-x"}, {"name": "needless"}]},
}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"name": "made", "resourceClaimTemplateName": "t"}, ("p-made-x", True)),
        ({"name": "needless", "resourceClaimTemplateName": "t"}, (None, True)),
        ({"name": "other", "resourceClaimName": "c"}, ("c", False)),
        ({"name": "made", "resourceClaimName": "c"}, ("c", False)),
        ({"name": "both", "resourceClaimName": "c", "resourceClaimTemplateName": "t"}, ("c", False)),
        ({"name": "empty", "resourceClaimName": ""}, ("", False)),
    ],
)
def test_the_name_of_a_claim_and_whether_the_pod_must_own_it(entry: Object, expected: tuple[str | None, bool]) -> None:
    assert claim_name(POD, entry) == expected


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        (
            {"name": "late", "resourceClaimTemplateName": "t"},
            ClaimNotCreated,
            'pod "ns/p": ResourceClaim not created yet',
        ),
        (
            {"name": "late", "resourceClaimTemplateName": ""},
            ClaimNotCreated,
            'pod "ns/p": ResourceClaim not created yet',
        ),
        (
            {"name": "e"},
            PodClaimError,
            'pod "ns/p", spec.resourceClaim "e": none of the supported fields are set',
        ),
    ],
)
def test_an_entry_without_a_claim(entry: Object, error: type[PodClaimError], message: str) -> None:
    with pytest.raises(PodClaimError) as caught:
        claim_name(POD, entry)
    assert (type(caught.value), str(caught.value)) == (error, message)


def test_the_claims_that_a_pod_knows_of() -> None:
    entries = [
        {"name": "made", "resourceClaimTemplateName": "t"},
        {"name": "needless", "resourceClaimTemplateName": "t"},
        {"name": "late", "resourceClaimTemplateName": "t"},
        {"name": "other", "resourceClaimName": "c"},
    ]
    status = {**POD["status"], "extendedResourceClaimStatus": {"resourceClaimName": "p-extended"}}
    pod = {**POD, "spec": {"resourceClaims": entries}, "status": status}
    assert list(claim_names(pod)) == ["p-made-x", "c", "p-extended"]


def owner(uid: str = "u", controller: bool | None = True, kind: str = "Pod") -> Object:
    found: Object = {"apiVersion": "v1", "kind": kind, "name": "p", "uid": uid}
    return found if controller is None else {**found, "controller": controller}


def claim(*owners: Object, reserved: tuple[Object, ...] = ()) -> ResourceClaim:
    metadata = {"name": "c", "namespace": "ns", "ownerReferences": list(owners)}
    return as_claim({"metadata": metadata, "status": {"reservedFor": list(reserved)}})


@pytest.mark.parametrize(
    "owners",
    [
        (owner(),),
        (owner("v", controller=False), owner()),
        (owner(kind="Job"),),
    ],
    ids=["controller", "second-owner", "only-its-uid-counts"],
)
def test_a_claim_that_was_made_for_the_pod(owners: tuple[Object, ...]) -> None:
    check_owner(POD, claim(*owners))


@pytest.mark.parametrize(
    "owners",
    [
        (),
        (owner("v"),),
        (owner(controller=False),),
        (owner(controller=None),),
        (owner("v"), owner(controller=False)),
    ],
    ids=["no-owner", "another-uid", "no-controller", "no-flag", "controlled-by-another"],
)
def test_a_claim_that_was_not_made_for_the_pod(owners: tuple[Object, ...]) -> None:
    with pytest.raises(PodClaimError) as caught:
        check_owner(POD, claim(*owners))
    assert str(caught.value) == "ResourceClaim ns/c was not created for Pod ns/p (Pod is not owner)"


@pytest.mark.parametrize(
    ("reserved", "expected"),
    [
        ((), False),
        (({"resource": "pods", "name": "q", "uid": "v"}, {"resource": "pods", "name": "p", "uid": "u"}), True),
        (({"resource": "pods", "name": "p", "uid": "v"},), False),
        (({"apiGroup": "example.com", "resource": "jobs", "name": "z", "uid": "u"},), True),
    ],
    ids=["nobody", "among-others", "a-pod-of-this-name-before", "only-its-uid-counts"],
)
def test_who_may_use_a_claim(reserved: tuple[Object, ...], expected: bool) -> None:
    assert is_reserved_for(POD, claim(reserved=reserved)) is expected


def test_a_pod_may_use_what_is_reserved_for_it() -> None:
    assert is_reserved_for(POD, claim(reserved=(dict(pod_consumer(POD)),)))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"phase": "Succeeded"}, True),
        ({"phase": "Failed"}, True),
        ({"phase": "Running"}, False),
        ({"phase": "Pending"}, False),
        ({"phase": "Unknown"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_which_phases_are_the_end(status: Object | None, expected: bool) -> None:
    """``IsPodPhaseTerminal`` of k8s.io/kubernetes 1.37.1 ``pkg/api/v1/pod/util.go``."""
    assert is_terminal({"metadata": {"name": "p"}, "status": status}) is expected
