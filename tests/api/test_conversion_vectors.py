"""An object written in one version of resource.k8s.io reads in every other as a real kube-apiserver 1.37.1 gave it."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drakit_api import validation
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.objects import conversion, encoding, lifecycle, schema
from drakit_api.objects.decoding import decode
from drakit_api.objects.defaults import set_defaults
from tests.vectors.exchanges import GATES, comparable, conversions

NOW = "2026-01-01T00:00:00Z"


def version_of(obj: Object) -> str:
    return str(obj["apiVersion"]).rpartition("/")[2]


def written(vector: Object) -> tuple[Object, list[validation.FieldError]]:
    """The object that a server makes of what was posted, in v1, and what is wrong with it."""
    sent, gates = vector["object"], GATES[vector["server"]]
    kind, version = sent["kind"], version_of(sent)
    obj = conversion.to_v1(kind, decode(kind, sent, version), version)
    set_defaults(kind, obj, NOW, version)
    lifecycle.prepare_create(kind, obj, gates)
    admin = obj["metadata"].get("namespace") == "admin"
    errors = validation.validate_create(vector["resource"], obj, gates, admin_namespace=admin, version=version)
    return obj, errors


def stored(kind: str, obj: Object) -> Object:
    """As it comes back from the store: JSON of v1, where nothing tells an empty list from none."""
    kept: Object = json.loads(json.dumps(encoding.encode(kind, obj)))
    return kept


@pytest.mark.slow
def test_reads_in_every_version() -> None:
    reads = 0
    for vector in conversions():
        if vector["response"]["code"] == 422:
            continue
        kind = vector["object"]["kind"]
        obj, errors = written(vector)
        assert not errors, vector["name"]
        kept = stored(kind, obj)
        for version, expected in vector["reads"].items():
            read = encoding.encode(kind, conversion.from_v1(kind, kept, version), version)
            assert json.dumps(comparable(read)) == json.dumps(comparable(expected)), (vector["name"], version)
            reads += 1
    assert reads == sum(len(vector["reads"]) for vector in conversions()) > 200


@pytest.mark.slow
def test_the_answer_to_a_write_is_in_its_own_version() -> None:
    for vector in conversions():
        if vector["response"]["code"] == 201:
            kind, version = vector["object"]["kind"], version_of(vector["object"])
            answer = encoding.encode(kind, conversion.from_v1(kind, stored(kind, written(vector)[0]), version), version)
            assert comparable(answer) == comparable(vector["response"]["object"]), vector["name"]


def test_what_is_wrong_is_said_of_the_version_that_was_sent() -> None:
    refused = [vector for vector in conversions() if vector["response"]["code"] == 422]
    for vector in refused:
        causes = vector["response"]["causes"]
        expected = Counter((cause["field"], cause["reason"], cause["message"]) for cause in causes)
        _, errors = written(vector)
        assert Counter((error.field, error.reason, error.message) for error in errors) == expected, vector["name"]
    assert {version_of(vector["object"]) for vector in refused} >= {"v1", "v1beta1"}


def claim(request: Object) -> Object:
    return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}}


def template(request: Object) -> Object:
    return {"metadata": {"name": "t"}, "spec": {"spec": {"devices": {"requests": [request]}}}}


def slice_of(device: Object, **spec: Any) -> Object:
    return {"metadata": {"name": "s"}, "spec": {"driver": "gpu.example.com", "devices": [device], **spec}}


NODE_SELECTOR = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}
DIFFERENCES = [
    pytest.param(
        "ResourceSlice",
        slice_of(
            {"name": "gpu-0", "attributes": {"model": {"string": "A100"}}, "capacity": {"memory": {"value": "1"}}}
        ),
        slice_of(
            {
                "name": "gpu-0",
                "basic": {"attributes": {"model": {"string": "A100"}}, "capacity": {"memory": {"value": "1"}}},
            }
        ),
        id="a device's fields are below basic",
    ),
    pytest.param(
        "ResourceSlice",
        slice_of({"name": "gpu-0"}),
        slice_of({"name": "gpu-0", "basic": {}}),
        id="basic is there even if it is empty",
    ),
    pytest.param(
        "ResourceSlice",
        slice_of(
            {
                "name": "part",
                "consumesCounters": [{"counterSet": "gpu-0", "counters": {"memory": {"value": "5Gi"}}}],
                "nodeSelector": NODE_SELECTOR,
                "allowMultipleAllocations": True,
                "taints": [{"key": "k", "effect": "NoExecute"}],
                "bindingConditions": ["ready"],
            },
            perDeviceNodeSelection=True,
        ),
        slice_of(
            {
                "name": "part",
                "basic": {
                    "consumesCounters": [{"counterSet": "gpu-0", "counters": {"memory": {"value": "5Gi"}}}],
                    "nodeSelector": NODE_SELECTOR,
                    "allowMultipleAllocations": True,
                    "taints": [{"key": "k", "effect": "NoExecute"}],
                    "bindingConditions": ["ready"],
                },
            },
            perDeviceNodeSelection=True,
        ),
        id="so are counters, nodes, taints and conditions",
    ),
    pytest.param(
        "ResourceClaim",
        claim({"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "All", "adminAccess": True}}),
        claim({"name": "gpu", "deviceClassName": "gpu", "allocationMode": "All", "adminAccess": True}),
        id="an exact request is flat",
    ),
    pytest.param(
        "ResourceClaimTemplate",
        template({"name": "gpu", "exactly": {"deviceClassName": "gpu", "capacity": {"requests": {"memory": "1Gi"}}}}),
        template({"name": "gpu", "deviceClassName": "gpu", "capacity": {"requests": {"memory": "1Gi"}}}),
        id="in a template too",
    ),
    pytest.param(
        "ResourceClaim",
        claim({"name": "gpu", "firstAvailable": [{"name": "large", "deviceClassName": "gpu"}]}),
        claim({"name": "gpu", "firstAvailable": [{"name": "large", "deviceClassName": "gpu"}]}),
        id="subrequests are the same",
    ),
]


@pytest.mark.parametrize(("kind", "v1", "v1beta1"), DIFFERENCES)
def test_v1beta1(kind: str, v1: Object, v1beta1: Object) -> None:
    assert conversion.from_v1(kind, v1, "v1beta1") == v1beta1
    assert conversion.to_v1(kind, v1beta1, "v1beta1") == v1


ONE_WAY = [
    pytest.param("ResourceSlice", slice_of({"name": "a"}), slice_of({"name": "a"}), id="basic may be missing"),
    pytest.param(
        "ResourceSlice",
        slice_of({"name": "a", "basic": {"attributes": {}, "capacity": {}, "consumesCounters": [], "taints": []}}),
        slice_of({"name": "a"}),
        id="what is empty in a device is not there",
    ),
    pytest.param(
        "ResourceSlice",
        slice_of({"name": "a", "basic": {"bindingConditions": []}}, nodeName="", allNodes=False),
        slice_of({"name": "a", "bindingConditions": []}),
        id="zero values of the slice's node are none",
    ),
    pytest.param(
        "ResourceClaim",
        claim({"name": "r", "deviceClassName": "", "allocationMode": "", "count": 0}),
        claim({"name": "r"}),
        id="nothing set is no exact request",
    ),
    pytest.param(
        "ResourceClaim",
        claim({"name": "r", "selectors": []}),
        claim({"name": "r", "exactly": {"selectors": []}}),
        id="an empty list of selectors is one",
    ),
    pytest.param(
        "ResourceClaim",
        claim({"name": "r", "tolerations": []}),
        claim({"name": "r", "exactly": {}}),
        id="so is one of tolerations, which are then dropped",
    ),
    pytest.param(
        "ResourceClaim",
        claim({"name": "r", "adminAccess": False}),
        claim({"name": "r", "exactly": {"adminAccess": False}}),
        id="no to admin access is an answer",
    ),
]


@pytest.mark.parametrize(("kind", "v1beta1", "v1"), ONE_WAY)
def test_v1beta1_to_v1(kind: str, v1beta1: Object, v1: Object) -> None:
    assert conversion.to_v1(kind, v1beta1, "v1beta1") == v1


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_stored_claim_without_requests(version: str) -> None:
    """In the store's JSON the list that is never left out is null."""
    kept = stored("ResourceClaim", {"metadata": {"name": "c"}, "spec": {}})
    assert kept["spec"] == {"devices": {"requests": None}}
    assert conversion.from_v1("ResourceClaim", kept, version)["spec"] == kept["spec"]


DEFAULTS = [
    pytest.param({"deviceClassName": "gpu"}, {"allocationMode": "ExactCount", "count": 1}, id="with a class"),
    pytest.param({"selectors": []}, {}, id="without a class"),
    pytest.param({"allocationMode": "ExactCount"}, {"allocationMode": "ExactCount"}, id="without a class but a mode"),
]


@pytest.mark.parametrize(("request_", "filled"), DEFAULTS)
def test_defaults_of_an_exact_request_in_v1beta1(request_: Object, filled: Object) -> None:
    obj = conversion.to_v1("ResourceClaim", claim({"name": "r", **request_}), "v1beta1")
    set_defaults("ResourceClaim", obj, NOW, "v1beta1")
    lifecycle.prepare_create("ResourceClaim", obj, FeatureGates())
    exactly = obj["spec"]["devices"]["requests"][0]["exactly"]
    assert {name: exactly[name] for name in ("allocationMode", "count") if name in exactly} == filled


def test_a_request_without_a_class_has_no_mode_either_in_v1beta1() -> None:
    """Handwritten rules have the paths of v1, declared ones those of the version."""
    sent = claim({"name": "r", "tolerations": [{"effect": "Never", "operator": "Exists"}]})
    obj = conversion.to_v1("ResourceClaim", sent, "v1beta1")
    obj["metadata"]["namespace"] = "default"
    set_defaults("ResourceClaim", obj, NOW, "v1beta1")
    lifecycle.prepare_create("ResourceClaim", obj, FeatureGates())
    errors = validation.validate_create("resourceclaims", obj, FeatureGates(), version="v1beta1")
    path = "spec.devices.requests[0]"
    assert [(error.field, error.reason) for error in errors] == [
        (f"{path}.exactly.deviceClassName", "FieldValueRequired"),
        (f"{path}.exactly.allocationMode", "FieldValueNotSupported"),
        (f"{path}.tolerations[0].effect", "FieldValueNotSupported"),
    ]


def test_a_repeated_request_is_shown_as_it_was_sent() -> None:
    sent = claim({"name": "r", "deviceClassName": "gpu"})
    sent["spec"]["devices"]["requests"] *= 2
    obj = conversion.to_v1("ResourceClaim", copy.deepcopy(sent), "v1beta1")
    obj["metadata"]["namespace"] = "default"
    set_defaults("ResourceClaim", obj, NOW, "v1beta1")
    lifecycle.prepare_create("ResourceClaim", obj, FeatureGates())
    (error,) = validation.validate_create("resourceclaims", obj, FeatureGates(), version="v1beta1")
    shown = '{"name":"r","deviceClassName":"gpu","allocationMode":"ExactCount","count":1}'
    assert (error.field, error.message) == ("spec.devices.requests[1]", f"Duplicate value: {shown}")


VERSIONS = {
    "DeviceClass": ("v1", "v1beta2", "v1beta1"),
    "DeviceTaintRule": ("v1", "v1beta2", "v1alpha3"),
    "ResourceClaim": ("v1", "v1beta2", "v1beta1"),
    "ResourceClaimTemplate": ("v1", "v1beta2", "v1beta1"),
    "ResourceSlice": ("v1", "v1beta2", "v1beta1"),
}


@pytest.mark.parametrize(("kind", "expected"), VERSIONS.items())
def test_versions_of_a_kind(kind: str, expected: tuple[str, ...]) -> None:
    assert conversion.versions(kind) == expected


def fields_of(struct: str) -> Object:
    """Type of each field by its name, whatever the version is called."""
    version = struct.partition("/")[2].partition(".")[0]

    def shown(kind: schema.Type) -> str:
        item = shown(kind.item) if kind.item else ""
        return f"{'*' * kind.pointer}{kind.shape} {kind.struct.replace(f'resource/{version}.', '')} {item}"

    return {field.name: (shown(field.type), field.omit) for field in schema.fields_of(struct)}


@pytest.mark.parametrize(
    ("version", "different"),
    [("v1beta2", []), ("v1beta1", ["Device", "DeviceRequest", "ResourceSliceSpec"]), ("v1alpha3", [])],
)
def test_structures_that_differ_from_v1(version: str, different: list[str]) -> None:
    """Those that are converted; all others need no conversion, since they are the same."""
    prefix, structs = f"resource/{version}.", schema.load().structs
    older = {struct.removeprefix(prefix) for struct in structs if struct.startswith(prefix)}
    newer = {struct.removeprefix("resource/v1.") for struct in structs if struct.startswith("resource/v1.")}
    common = older & newer
    assert len(common) >= 5
    assert [
        name for name in sorted(common) if fields_of(prefix + name) != fields_of(f"resource/v1.{name}")
    ] == different


@pytest.mark.parametrize(("flat", "nested"), [("DeviceRequest", "ExactDeviceRequest"), ("BasicDevice", "Device")])
def test_fields_that_moved_are_still_the_same(flat: str, nested: str) -> None:
    older, newer = fields_of(f"resource/v1beta1.{flat}"), fields_of(f"resource/v1.{nested}")
    only_outside = {"name", "firstAvailable"}
    assert {name: older[name] for name in older.keys() - only_outside} == {
        name: newer[name] for name in newer.keys() - only_outside
    }


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("DeviceTaintRule", "v1beta1"),
        ("ResourceSlice", "v1alpha3"),
        ("ResourcePoolStatusRequest", "v1alpha3"),
        ("ResourceSlice", "v2"),
        ("Pod", "v1"),
    ],
)
def test_unknown_kinds_and_versions(kind: str, version: str) -> None:
    with pytest.raises(LookupError, match=r"resource\.k8s\.io/v\d\w* has no kind"):
        conversion.to_v1(kind, {}, version)
    with pytest.raises(LookupError, match=r"resource\.k8s\.io/v\d\w* has no kind"):
        conversion.from_v1(kind, {}, version)


@pytest.mark.parametrize("kind", ["ResourcePoolStatusRequest", "Pod"])
def test_kinds_without_v1_have_no_versions(kind: str) -> None:
    with pytest.raises(LookupError, match=r"resource\.k8s\.io/v1 has no kind"):
        conversion.versions(kind)


@pytest.mark.parametrize("kind", VERSIONS)
def test_only_the_api_version_of_an_object_that_has_one_is_set(kind: str) -> None:
    for version in conversion.versions(kind):
        assert conversion.from_v1(kind, {}, version) == {}
        typed = {"kind": kind, "apiVersion": "resource.k8s.io/v1"}
        older = {"kind": kind, "apiVersion": f"resource.k8s.io/{version}"}
        assert conversion.from_v1(kind, typed, version) == older
        assert conversion.to_v1(kind, older, version) == typed


NAMES = st.text("abcdef", min_size=1, max_size=3)
SELECTORS = st.lists(st.fixed_dictionaries({"cel": st.fixed_dictionaries({"expression": NAMES})}), max_size=2)
TOLERATIONS = st.lists(st.fixed_dictionaries({"key": NAMES, "operator": st.just("Exists")}), min_size=1, max_size=2)
CAPACITY = st.fixed_dictionaries({"requests": st.dictionaries(NAMES, st.sampled_from(["1", "2Gi"]), max_size=2)})
DEVICES = st.fixed_dictionaries(
    {"deviceClassName": NAMES},
    optional={
        "selectors": SELECTORS,
        "allocationMode": st.sampled_from(["All", "ExactCount"]),
        "count": st.integers(1, 3),
        "tolerations": TOLERATIONS,
        "capacity": CAPACITY,
        "derivedAttributes": st.lists(st.fixed_dictionaries({"name": NAMES}), min_size=1, max_size=1),
    },
)
EXACTLY = st.builds(lambda devices, admin: devices | admin, DEVICES, st.sampled_from([{}, {"adminAccess": False}]))
SUBREQUESTS = st.lists(st.builds(lambda devices, name: {"name": name, **devices}, DEVICES, NAMES), max_size=2)
REQUESTS = st.fixed_dictionaries({"name": NAMES}, optional={"exactly": EXACTLY, "firstAvailable": SUBREQUESTS})
CLAIM_SPECS = st.fixed_dictionaries(
    {"devices": st.fixed_dictionaries({}, optional={"requests": st.lists(REQUESTS, max_size=3)})}
)
NODES = st.sampled_from([{}, {"nodeName": "n"}, {"allNodes": True}, {"nodeSelector": NODE_SELECTOR}])
DEVICE = st.fixed_dictionaries(
    {"name": NAMES},
    optional={
        "attributes": st.dictionaries(NAMES, st.just({"int": 0}), min_size=1, max_size=2),
        "capacity": st.dictionaries(NAMES, st.just({"value": "1Gi"}), min_size=1, max_size=2),
        "consumesCounters": st.just([{"counterSet": "s", "counters": {"memory": {"value": "1"}}}]),
        "nodeName": NAMES,
        "allNodes": st.booleans(),
        "taints": st.just([{"key": "k", "effect": "NoSchedule"}]),
        "bindsToNode": st.booleans(),
        "bindingConditions": st.lists(NAMES, max_size=2),
        "bindingFailureConditions": st.lists(NAMES, max_size=2),
        "allowMultipleAllocations": st.booleans(),
        "nodeAllocatableResources": st.dictionaries(NAMES, st.just({}), max_size=1),
    },
)
SLICE_SPECS = st.builds(
    lambda devices, nodes: {"driver": "d", "devices": devices, **nodes}, st.lists(DEVICE, max_size=3), NODES
)
OBJECTS = st.one_of(
    st.tuples(st.just("ResourceClaim"), st.builds(lambda spec: {"spec": spec}, CLAIM_SPECS)),
    st.tuples(st.just("ResourceClaimTemplate"), st.builds(lambda spec: {"spec": {"spec": spec}}, CLAIM_SPECS)),
    st.tuples(st.just("ResourceSlice"), st.builds(lambda spec: {"spec": spec}, SLICE_SPECS)),
)


@pytest.mark.slow
@settings(deadline=None)
@given(OBJECTS)
def test_there_and_back_is_the_same(case: tuple[str, Object]) -> None:
    """Nothing of v1 is missing in an older version, and what is given is never changed."""
    kind, obj = case
    before = copy.deepcopy(obj)
    for version in conversion.versions(kind):
        older = conversion.from_v1(kind, obj, version)
        assert decode(kind, older, version) is not None
        older_before = copy.deepcopy(older)
        assert conversion.to_v1(kind, older, version) == before, version
        assert (obj, older) == (before, older_before)
