"""Calls of webhooks, without a server: what is stored from former releases, and answers of every shape."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.admission.attributes import Attributes
from drakit_embedded.apiserver.admission.webhooks import answers, calling, hooks, reviews
from drakit_embedded.apiserver.admission.webhooks.answers import CallError
from drakit_embedded.apiserver.admission.webhooks.calling import Replied
from drakit_embedded.apiserver.admission.webhooks.hooks import Hook
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.identity.users import ADMIN
from drakit_embedded.apiserver.outgoing.clients import Reply
from drakit_embedded.apiserver.registry.catalog import Catalog
from drakit_embedded.apiserver.reruns.memory import Memory, Pending, current
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Store
from drakit_embedded.apiserver.writing import writes
from drakit_embedded.apiserver.writing.intent import Intent

UID = "11111111-2222-3333-4444-555555555555"


@pytest.fixture(scope="module")
def api() -> Api:
    store, gates = Store(), FeatureGates()
    return Api(store, Catalog(store, gates, {}), gates)


def source(**fields: Any) -> Object:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    made = {"name": "h.example.com", "rules": [rule], "clientConfig": {"url": "https://127.0.0.1:1"}}
    return {**made, "admissionReviewVersions": ["v1"], "sideEffects": "None", **fields}


def hook(**fields: Any) -> Hook:
    (made,) = hooks.compiled({"webhooks": [source(**fields)]})
    return made


def config_map() -> Object:
    return {"metadata": {"name": "m", "namespace": "default"}, "data": {"a": "1"}}


def write(api: Api, **fields: Any) -> Attributes:
    served = api.catalog.find("", "v1", "configmaps")
    assert served is not None
    return Attributes(ADMIN, "CREATE", served.kind, "default", "m", config_map(), **fields)


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"sideEffects": "Some"}, StatusError, 'admission webhook "h.example.com" does not support dry run'),
        ({"sideEffects": None}, CallError, "Webhook SideEffects is nil"),
        ({"admissionReviewVersions": ["v2"]}, CallError, "webhook does not accept known AdmissionReview versions"),
    ],
)
def test_what_validation_does_not_let_pass_today_is_not_called(
    api: Api, fields: Object, error: type[Exception], message: str
) -> None:
    asked, attributes = hook(**fields), write(api, dry_run=True)
    seen = calling.view(asked, reviews.Views(attributes, api), attributes, api)
    assert seen is not None
    with pytest.raises(error, match=message):
        calling.question(asked, seen, attributes, api)


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [(("v1", "v1beta1"), "v1"), (("v2", "v1beta1", "v1"), "v1beta1"), (("v2",), None), ((), None)],
)
def test_the_first_version_that_both_know_is_sent(accepted: tuple[str, ...], expected: str | None) -> None:
    assert reviews.version(accepted) == expected


def test_the_oldest_reviews_need_neither_uid_nor_type(api: Api) -> None:
    review = {"response": {"allowed": True, "patch": base64.b64encode(b"[]").decode()}}
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", **review}).encode()
    found = answers.read(Reply(200, "application/json", body), uid=UID, version="v1beta1", mutating=True)
    assert (found.allowed, found.patch, found.patch_type) == (True, b"[]", "JSONPatch")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_META = ("", "/name", "/labels", "/labels/x", "/namespace", "/finalizers/0", "/managedFields", "/ownerReferences")
_POINTERS = ("", "/", "x", "/kind", "/data", "/data/a", "/data/b", "/data/-", "/a/b")
POINTERS = st.sampled_from([*_POINTERS, *(f"/metadata{path}" for path in _META)])
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "?"]), "path": POINTERS},
    optional={"value": JUNK, "from": POINTERS},
)
PATCHES = st.one_of(
    st.lists(OPERATIONS, max_size=4).map(lambda operations: json.dumps(operations).encode()),
    st.lists(OPERATIONS | JUNK, max_size=2).map(lambda operations: json.dumps(operations).encode()),
    st.binary(max_size=9),
)
STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "code": st.integers(-(2**33), 2**33) | JUNK,
        "message": st.text(max_size=5) | JUNK,
        "reason": JUNK,
        "details": st.fixed_dictionaries({}, optional={"causes": JUNK, "name": JUNK, "retryAfterSeconds": JUNK}) | JUNK,
    },
)
RESPONSES = st.fixed_dictionaries(
    {"uid": st.just(UID) | JUNK, "allowed": st.booleans() | JUNK},
    optional={
        "status": STATUSES | JUNK,
        "patch": PATCHES.map(lambda patch: base64.b64encode(patch).decode()) | JUNK,
        "patchType": st.just("JSONPatch") | JUNK,
        "warnings": st.lists(st.text(max_size=5)) | JUNK,
        "auditAnnotations": JUNK,
    },
)
REVIEWS = st.fixed_dictionaries(
    {
        "kind": st.just("AdmissionReview") | st.sampled_from(["Status", "Pod", ""]) | JUNK,
        "apiVersion": st.just("admission.k8s.io/v1") | st.sampled_from(["v1", "a/b/c", "admission.k8s.io/v2"]) | JUNK,
        "response": RESPONSES | JUNK,
    }
)
BODIES = st.one_of(
    REVIEWS.map(lambda review: json.dumps(review).encode()),
    st.binary(max_size=20),
    JUNK.map(lambda junk: repr(junk).encode()),
)
TYPES = st.sampled_from(["application/json", "text/plain", ""])
REPLIES = st.builds(Reply, st.just(200) | st.integers(100, 599), TYPES, BODIES)


@pytest.fixture(scope="module")
def asking(api: Api) -> Api:
    """The same with a mutating webhook for every write."""
    store = api.store
    store.put(store.named("namespaces"), ("", "default"), {"metadata": {"name": "default"}})
    collection = store.named("mutatingwebhookconfigurations.admissionregistration.k8s.io")
    store.put(collection, ("", "h"), {"metadata": {"name": "h"}, "webhooks": [source()]})
    return api


def created(api: Api, reply: Reply) -> Object | StatusError:
    """What a create comes to with an answer of the webhook: the first run asks, the second has the answer."""
    memory, served = Memory(), api.catalog.find("", "v1", "configmaps")
    assert served is not None
    token = current.set(memory)
    try:
        with pytest.raises(Pending) as pending:
            writes.create(api, served, "default", config_map(), Intent(dry_run=True))
        memory.learn(pending.value.questions[0], Replied(UID, reply))
        memory.rewind()
        return writes.create(api, served, "default", config_map(), Intent(dry_run=True)).record.object()
    except StatusError as error:
        return error
    finally:
        current.reset(token)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(reply=REPLIES)
def test_every_answer_admits_changes_or_refuses(asking: Api, reply: Reply) -> None:
    found = created(asking, reply)
    if isinstance(found, StatusError):
        assert 400 <= found.code < 1000
        assert json.loads(json.dumps(found.status()))["message"]
    else:
        assert found["metadata"]["namespace"] == "default"


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(operations=st.lists(OPERATIONS, min_size=1, max_size=4))
def test_every_patch_makes_a_valid_object_or_is_refused(asking: Api, operations: list[Object]) -> None:
    patch = base64.b64encode(json.dumps(operations).encode()).decode()
    response = {"uid": UID, "allowed": True, "patchType": "JSONPatch", "patch": patch}
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
    found = created(asking, Reply(200, "application/json", json.dumps(review).encode()))
    if isinstance(found, StatusError):
        assert (found.code, found.reason) in ((500, "InternalError"), (422, "Invalid"), (400, "BadRequest"))
    else:
        assert found["metadata"]["name"]
        assert found["metadata"]["namespace"] == "default"
