"""A program that converts custom resources, rightly or in one of many wrong ways, as stories ask for it.

Version v1 has ``spec.hostPort``, and v2 ``spec.host`` and ``spec.port`` instead, as in Kubernetes' own end-to-end test.
"""

from __future__ import annotations

import asyncio
import base64
import copy
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from drakit_api.kubernetes_objects import Object
from drakit_embedded import certificates

# Makes the answer of HTTP from the review that came and the converted objects.
Way = Callable[[Object, list[Object]], "Object | web.Response"]


def converted(obj: Object, api_version: str) -> Object:
    """Convert an object without its metadata being touched."""
    made = copy.deepcopy(obj)
    made["apiVersion"], spec = api_version, made.get("spec")
    if not isinstance(spec, dict):
        return made
    if api_version.endswith("/v2") and "hostPort" in spec:
        spec["host"], _, spec["port"] = spec.pop("hostPort").partition(":")
    elif not api_version.endswith("/v2") and ("host" in spec or "port" in spec):
        spec["hostPort"] = f"{spec.pop('host', '')}:{spec.pop('port', '')}"
    return made


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _review(review: Object, **response: Any) -> Object:
    """Answer a review with some fields of its response."""
    found = {"uid": review["request"]["uid"], "result": {"status": "Success"}, **response}
    return {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": found}


def _with(change: Callable[[Object], object]) -> Way:
    """Answer with objects that are changed once more, in place."""

    def way(review: Object, objects: list[Object]) -> Object:
        for obj in objects:
            change(obj)
        return _review(review, convertedObjects=objects)

    return way


def _metadata(**fields: Any) -> Way:
    return _with(lambda obj: obj["metadata"].update(fields))


def _failed(**result: Any) -> Way:
    return lambda review, _: _review(review, result=result)


def _about(**fields: Any) -> Way:
    """Answer with other fields of the review itself."""
    return lambda review, objects: {**_review(review, convertedObjects=objects), **fields}


WAYS: dict[str, Way] = {
    "right": lambda review, objects: _review(review, convertedObjects=objects),
    "failing": _failed(status="Failure", message="I cannot do that"),
    "failing silently": _failed(status="Failure"),
    "without a result": _failed(),
    "with another status": _failed(status="Done"),
    "without objects": lambda review, _: _review(review),
    "no objects": lambda review, _: _review(review, convertedObjects=[]),
    "too many": lambda review, objects: _review(review, convertedObjects=[*objects, *objects]),
    "null objects": lambda review, objects: _review(review, convertedObjects=[None for _ in objects]),
    "texts": lambda review, objects: _review(review, convertedObjects=["text" for _ in objects]),
    "one object": lambda review, objects: _review(review, convertedObjects=objects[0]),
    "another uid": lambda review, objects: _review(review, convertedObjects=objects, uid="other"),
    "without a uid": lambda review, objects: _review(review, convertedObjects=objects, uid=""),
    "without a response": _about(response=None),
    "another review": _about(kind="AdmissionReview"),
    "another version of review": _about(apiVersion="apiextensions.k8s.io/v1beta1"),
    "an unknown version of review": _about(apiVersion="apiextensions.k8s.io/v7"),
    "an untyped review": _about(kind="", apiVersion=""),
    "not converted": _with(lambda obj: obj.update(apiVersion=f"{obj['apiVersion'].partition('/')[0]}/v3")),
    "without apiVersion": _with(lambda obj: obj.pop("apiVersion")),
    "without kind": _with(lambda obj: obj.pop("kind")),
    "another kind": _with(lambda obj: obj.update(kind="Other")),
    "another name": _metadata(name="other"),
    "another namespace": _metadata(namespace="other"),
    "another uid of object": _metadata(uid="6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
    "without metadata": _with(lambda obj: obj.pop("metadata")),
    "text as metadata": _with(lambda obj: obj.update(metadata="text")),
    "labelling": _metadata(labels={"converted": "true"}, annotations={"by": "hook"}),
    "unlabelling": _with(lambda obj: [obj["metadata"].pop(each, None) for each in ("labels", "annotations")]),
    "labels null": _metadata(labels=None),
    "labels text": _metadata(labels="text"),
    "label number": _metadata(labels={"a": 1}),
    "label wrong": _metadata(labels={"a b": "c d"}),
    "annotation wrong": _metadata(annotations={"a b": "c"}),
    "annotations list": _metadata(annotations=[]),
    "changing metadata": _metadata(
        generation=7,
        finalizers=["example.com/mine"],
        ownerReferences=[],
        managedFields=[],
        creationTimestamp="2001-01-01T00:00:00Z",
        deletionTimestamp="2001-01-01T00:00:00Z",
        resourceVersion="1",
    ),
    "unknown fields": _with(lambda obj: obj.update(unknown=True, spec={**obj.get("spec", {}), "unknown": 1})),
    "wrong types": _with(lambda obj: obj.update(spec="text")),
    "nulls": _with(lambda obj: obj.update(spec=None, status=None)),
    "unconvertible back": lambda review, objects: (
        _review(review, convertedObjects=objects)
        if review["request"]["desiredAPIVersion"].endswith("/v1")
        else _failed(status="Failure", message="not back")(review, objects)
    ),
    "no json": lambda *_: web.Response(text="none of it", content_type="application/json"),
    "a list": lambda *_: web.json_response([]),
    "nothing": lambda *_: web.Response(),
    "500": lambda *_: web.Response(status=500, text="out of order"),
    "404": lambda *_: web.Response(status=404, text="not here"),
    "201": lambda review, objects: web.json_response(_review(review, convertedObjects=objects), status=201),
}


class Converter:
    """A running program; each story has a path of its own."""

    def __init__(self) -> None:
        self.ways: dict[str, str] = {}
        # The requests that came, by story; and the kinds of reviews that they were in.
        self.asked: dict[str, list[Object]] = defaultdict(list)
        # It answers nothing while this is not set.
        self.answering = asyncio.Event()
        self.answering.set()
        # Set once somebody has not waited for the answer.
        self.abandoned = asyncio.Event()
        self.url = ""
        self.ca = ""

    async def answer(self, request: web.Request) -> web.Response:
        """Convert the objects of a review, in the way of the story."""
        story, review = request.match_info["story"], await request.json()
        self.asked[story].append({**review, "query": request.query_string})
        try:
            await self.answering.wait()
        except asyncio.CancelledError:
            self.abandoned.set()
            raise
        wanted = review["request"]["desiredAPIVersion"]
        objects = [converted(obj, wanted) for obj in review["request"]["objects"]]
        found = WAYS[self.ways.get(story, "right")](review, objects)
        return found if isinstance(found, web.Response) else web.json_response(found, dumps=_compact)


@asynccontextmanager
async def running() -> AsyncIterator[Converter]:
    """A converter at a port of this machine, which ends with the block."""
    made = Converter()
    context, pem = certificates.self_signed("127.0.0.1", None)
    application = web.Application()
    application.router.add_post("/{story}", made.answer)
    runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        made.ca = base64.b64encode(pem).decode()
        made.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        yield made
    finally:
        await runner.cleanup()
