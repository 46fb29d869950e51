"""Bodies, patches and selectors of any shape: refused or taken, but never the server's fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import requests
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.managedfields.updates import Writer
from drakit_embedded.apiserver.reading import list_options, lists
from drakit_embedded.apiserver.registry.catalog import Catalog, Served
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Store
from drakit_embedded.apiserver.wire import bodies, forms, tables
from drakit_embedded.apiserver.writing import deletes, patch_bodies, patches, podverbs, scales, writes
from drakit_embedded.apiserver.writing.intent import Intent

KINDS = [
    ("", "pods"),
    ("", "nodes"),
    ("", "namespaces"),
    ("", "configmaps"),
    ("", "secrets"),
    ("", "events"),
    ("", "services"),
    ("apps", "deployments"),
    ("apps", "daemonsets"),
    ("coordination.k8s.io", "leases"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("resource.k8s.io", "resourceslices"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceclaimtemplates"),
    ("resource.k8s.io", "deviceclasses"),
]
WORDS = [
    *("namespace", "resourceVersion", "uid", "managedFields", "ports"),
    *("metadata", "name", "generateName", "labels", "annotations", "finalizers", "ownerReferences", "spec", "status"),
    *("containers", "resources", "claims", "limits", "requests", "ports", "env", "image", "volumes", "tolerations"),
    *("resourceClaims", "resourceClaimName", "nodeName", "schedulingGates", "priorityClassName", "serviceAccountName"),
    *("template", "selector", "matchLabels", "matchExpressions", "replicas", "strategy", "type", "rollingUpdate"),
    *("data", "immutable", "value", "involvedObject", "source", "series", "count", "phase", "conditions", "addresses"),
    *("capacity", "allocatable", "taints", "containerStatuses", "state", "restartCount", "pool", "devices"),
    *("attributes", "sharedCounters", "mixins", "includes", "basic", "exactly", "firstAvailable", "allocation"),
    *("reservedFor", "$patch", "$setElementOrder/containers", "$retainKeys", "$deleteFromPrimitiveList/finalizers"),
]

leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.sampled_from(["", "a", "A/b"])
leaves |= st.sampled_from(["0", "1", "9" * 5000])
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=20,
)
objects = st.dictionaries(st.sampled_from(WORDS), values, max_size=5)
FUZZ = settings(max_examples=60, deadline=None)


def new_api() -> Api:
    store = Store()
    gates = FeatureGates(overrides={"DRAResourceSliceMixins": True})
    made = Api(store, Catalog(store, gates, {}), gates)
    store.load()
    create(made, served(made, "", "namespaces"), {"metadata": {"name": "default"}})
    return made


def served(api: Api, group: str, plural: str) -> Served:
    found = api.catalog.find(group, "v1", plural)
    assert found is not None
    return found


def code_of(call: Callable[[], object]) -> int:
    """The HTTP code of what a call does; some faults of clients the real server takes for its own, without a reason."""
    try:
        call()
    except StatusError as refused:
        return refused.code if refused.reason else 400
    return 200


def create(api: Api, kind: Served, obj: Object, name: str = "a") -> None:
    """POST of an object, and everything that is read from it afterwards."""
    namespace = "default" if kind.kind.namespaced else None
    raw = msgspec.json.encode(obj)
    body = bodies.parse(raw, "application/json", kind.kind.kind)
    body = writes.incoming(api, kind, body, namespace, validation="", warnings=[])
    body["metadata"].setdefault("name", name)
    record = writes.create(api, kind, namespace, body, Intent(writer=Writer("me", kind.kind))).record
    forms.Plain(kind).one(record)
    tables.printer(kind.kind.group, kind.kind.plural).cells(record.object())


def change(api: Api, kind: Served, patch: patch_bodies.Patch, subresource: str | None) -> None:
    """PATCH of the first object there is."""
    for key in list(kind.collection.records)[:1]:

        def incoming(obj: Object) -> Object:
            return writes.incoming(api, kind, obj, key[0] or None, validation="", warnings=[])  # noqa: B023

        changed = patches.change(kind, key, patch, patches.Reader(incoming, "", []))
        writer = Writer("you", kind.kind, subresource or "")
        writes.update(api, kind, key, changed, Intent(writer=writer), subresource=subresource or "")


@pytest.mark.slow
@pytest.mark.parametrize(("group", "plural"), KINDS, ids=[plural for _, plural in KINDS])
@FUZZ
@given(obj=objects, patch=objects, kind=st.sampled_from(["merge", "strategic"]), status=st.booleans())
def test_objects_and_patches_of_any_shape(
    group: str, plural: str, obj: Object, patch: Object, kind: Any, status: bool
) -> None:
    api = new_api()
    target = served(api, group, plural)
    version, before = api.store.version, dict(target.collection.records)
    code = code_of(lambda: create(api, target, obj))
    assert code < 500
    assert code == 200 or (api.store.version, target.collection.records) == (version, before)
    subresource = "status" if status and "status" in target.kind.subresources else None
    assert code_of(lambda: change(api, target, patch_bodies.Patch(kind, patch), subresource)) < 500
    for key in list(target.collection.records):
        if key[1] != "default":
            deletes.delete(api, target, key, deletes.Options())


operations = st.lists(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"])},
        optional={
            "path": st.sampled_from(["", "/", "/metadata", "/data/k", "/data/-", "/metadata/labels/0", "//", "~2"])
            | st.sampled_from([f"/metadata/finalizers/{index}" for index in ("0", "-", "-9", "1" * 5000, "0" * 5000)])
            | leaves,
            "from": st.sampled_from(["/metadata", "/data", "/metadata/finalizers", "/metadata/finalizers/0", ""]),
            "value": values,
        },
    ),
    max_size=3,
)


@pytest.mark.slow
@FUZZ
@given(content=operations)
def test_json_patches_of_any_shape(content: Any) -> None:
    api = new_api()
    target = served(api, "", "configmaps")
    create(api, target, {"metadata": {"name": "a", "finalizers": ["a/b", "a/c"]}, "data": {"k": "v"}})
    assert code_of(lambda: change(api, target, patch_bodies.Patch("json", content), None)) < 500


@pytest.mark.slow
@FUZZ
@given(obj=objects)
def test_bodies_of_subresources_of_any_shape(obj: Object) -> None:
    api = new_api()
    pods, deployments = served(api, "", "pods"), served(api, "apps", "deployments")
    container = {"name": "c", "image": "i"}
    create(api, pods, {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    create(api, deployments, {"metadata": {"name": "d"}, "spec": spec})
    tried = Intent(writer=Writer("me", deployments.kind, "scale"), dry_run=True)
    for call in (
        lambda: podverbs.bind(api, pods, ("default", "p"), obj, tried),
        lambda: podverbs.evict(api, pods, ("default", "p"), obj, tried),
        lambda: scales.set_replicas(api, deployments, ("default", "d"), scales.read(obj, "")[0], tried),
        lambda: deletes.options(msgspec.json.encode(obj), "", requests.Query("")),
    ):
        assert code_of(call) < 500


@pytest.mark.slow
@FUZZ
@given(
    text=st.text("ab=!,()<> in\0\\/-.é", max_size=12),
    parameter=st.sampled_from(
        [
            "labelSelector",
            "fieldSelector",
            "limit",
            "continue",
            "resourceVersion",
            "resourceVersionMatch",
            "timeoutSeconds",
        ]
    ),
)
def test_parameters_of_any_text(text: str, parameter: str) -> None:
    api = new_api()
    target = served(api, "", "pods")
    query = requests.Query(f"{parameter}={quote(text)}&resourceVersion=1")
    form = forms.Plain(target)
    code = code_of(lambda: form.many(*lists.found(api.store, target, None, list_options.decode(target, query)).page()))
    assert code in (200, 400, 410, 422, 504)


pieces = st.sampled_from([*"[]{}:,-?&*!|>#%@`\"'\n", ": ", "- ", "\n  ", "&a ", "*a", "<<: *a", "---\n", "a", "1", "~"])
pieces |= st.sampled_from(["!!int ", "!!binary ", "9" * 5000, "0x1F", "1e400", ".nan", "2001-01-01", "\0", "é"])
pieces |= st.sampled_from(["[" * 10_010, "- " * 10_010, "{a: " * 10_010])


@pytest.mark.slow
@FUZZ
@given(text=st.lists(pieces, max_size=12).map("".join))
def test_yaml_of_any_text(text: str) -> None:
    raw = text.encode()
    assert code_of(lambda: bodies.parse(raw, "application/yaml", "ConfigMap")) < 500
    assert code_of(lambda: patch_bodies.parse(raw, "application/apply-patch+yaml")) < 500


PROTOBUF = "application/vnd.kubernetes.protobuf"
FIELDS: dict[str, dict[str, list[str]]] = json.loads(
    resources.files("drakit_api.etcd").joinpath("messages.json").read_bytes()
)
# Messages of every sort of field, and how their kinds are called in an envelope.
MESSAGES = {
    "core/v1.ConfigMap": ("v1", "ConfigMap"),
    "core/v1.Pod": ("v1", "Pod"),
    "core/v1.Event": ("v1", "Event"),
    "coordination/v1.Lease": ("coordination.k8s.io/v1", "Lease"),
    "resource/v1.ResourceClaim": ("resource.k8s.io/v1", "ResourceClaim"),
    "resource/v1.ResourceSlice": ("resource.k8s.io/v1", "ResourceSlice"),
    "meta/v1.DeleteOptions": ("v1", "DeleteOptions"),
}
numbers = st.sampled_from([0, 1, 5, 10**9, 10**17, 2**62, 2**63, 2**64 - 1])
texts = st.sampled_from([b"", b"a", b"1Gi", b"\xff", b"{", b'{"a":1}', b"[" * 5000, b"\x08\x80\x80\x01", b"\x0a\x7f"])


def varint(value: int) -> bytes:
    found = b""
    while value > 0x7F:
        found, value = found + bytes([value & 0x7F | 0x80]), value >> 7
    return found + bytes([value])


def of_length(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def of_number(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


@st.composite
def protobuf_messages(draw: st.DrawFn, name: str, depth: int = 4) -> bytes:
    """A message with fields of its type, some of them with values of another."""
    if name not in FIELDS or depth == 0:
        inside = st.builds(of_number, st.integers(1, 3), numbers) | st.builds(of_length, st.integers(1, 3), texts)
        return draw(st.lists(inside, max_size=2).map(b"".join) | texts)
    found = b""
    for number in draw(st.lists(st.sampled_from(sorted(FIELDS[name])), max_size=4)):
        _, kind, marks = FIELDS[name][number]
        value = protobuf_messages(kind, depth - 1)
        if "{" in marks:
            value = st.builds(lambda key, item: of_length(1, key) + of_length(2, item), texts, value)
        found += draw(
            st.builds(of_length, st.just(int(number)), value) | st.builds(of_number, st.just(int(number)), numbers)
        )
    return found


@st.composite
def envelopes(draw: st.DrawFn) -> bytes:
    name = draw(st.sampled_from(sorted(MESSAGES)))
    version, kind = (of_length(at, text.encode()) for at, text in enumerate(MESSAGES[name], 1))
    other = st.builds(of_number, st.integers(1, 2), numbers) | st.builds(of_length, st.integers(1, 2), texts)
    type_meta = draw(st.just(b"") | other)
    return b"k8s\0" + of_length(1, version + kind + type_meta) + of_length(2, draw(protobuf_messages(name)))


@pytest.mark.slow
@FUZZ
@given(raw=envelopes())
@example(raw=b"k8s\0" + of_length(1, of_number(1, 2**62)))
@example(raw=b"k8s\0" + of_length(1, of_length(1, b"\xff")))
def test_protobuf_of_any_fields(raw: bytes) -> None:
    assert code_of(lambda: bodies.parse(raw, PROTOBUF, "ConfigMap")) < 500


@FUZZ
@given(raw=st.binary(max_size=60), prefix=st.sampled_from([b"", b"k8s\0", b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12"]))
def test_protobuf_of_any_bytes(raw: bytes, prefix: bytes) -> None:
    assert code_of(lambda: bodies.parse(prefix + raw, PROTOBUF, "ConfigMap")) < 500


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        pytest.param(of_length(9, of_number(1, 10**17)), "", id="a time that is none"),
        pytest.param(of_length(11, of_length(1, b"\xff")), "utf-8", id="a key of a map"),
        pytest.param(of_length(1, b"\xff"), "utf-8", id="a name"),
        pytest.param(of_length(17, of_length(7, of_length(1, b"[" * 100_000))), "", id="JSON that is too deep"),
    ],
)
def test_protobuf_that_stands_for_nothing(metadata: bytes, why: str) -> None:
    type_meta = of_length(1, b"v1") + of_length(2, b"ConfigMap")
    raw = b"k8s\0" + of_length(1, type_meta) + of_length(2, of_length(1, metadata))
    with pytest.raises(StatusError, match=f"the object provided is unrecognized .*{why}") as refused:
        bodies.parse(raw, PROTOBUF, "ConfigMap")
    assert refused.value.code == 400
