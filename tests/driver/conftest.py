"""An API server just big enough for a driver: generic objects over real HTTP, with watch, and faults on demand."""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection

Key = tuple[str, str, str]


class TinyApi:
    """Objects by (plural, namespace, name); all versions of a group share one storage and are stored as written."""

    def __init__(self) -> None:
        self.objects: dict[Key, Object] = {}
        self.url = ""
        self.versions = ["v1"]
        self.writes: list[tuple[str, str, Object]] = []
        # Answers to the reading of an object of this name, as they are.
        self.raw: dict[str, str] = {}
        self.verbs: set[tuple[str, str, str]] = set()
        # Called with each written slice; may change it (dropped fields) or raise web.HTTPException (refusals).
        self.admit: Callable[[Object], None] = lambda obj: None
        self._revision = itertools.count(1)
        self._history: list[tuple[int, str, str, Object]] = []
        self._changed = asyncio.Condition()
        self._watches: set[asyncio.Task[Any]] = set()
        self.app = web.Application()
        self.app.router.add_get("/apis/resource.k8s.io", self._group)
        for prefix in ("/api/{version}", "/apis/{group}/{version}"):
            for scope in ("", "/namespaces/{namespace}"):
                self.app.router.add_route("*", prefix + scope + "/{plural}", self._collection)
                self.app.router.add_route("*", prefix + scope + "/{plural}/{name}", self._object)

    def slices(self) -> list[Object]:
        return [obj for (plural, _, _), obj in sorted(self.objects.items()) if plural == "resourceslices"]

    def events(self) -> list[Object]:
        return [obj for (plural, _, _), obj in sorted(self.objects.items()) if plural == "events"]

    async def put(self, plural: str, obj: Object) -> Object:
        """Create or replace behind everybody's back."""
        obj = copy.deepcopy(obj)
        metadata = obj["metadata"]
        key = (plural, metadata.get("namespace", ""), metadata["name"])
        metadata.setdefault("uid", str(uuid.uuid4()))
        await self._store(key, obj, "MODIFIED" if key in self.objects else "ADDED")
        return obj

    async def remove(self, plural: str, name: str, namespace: str = "") -> None:
        key = (plural, namespace, name)
        await self._publish("DELETED", key, self.objects.pop(key))

    async def wait(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Wait for a condition on the stored objects."""
        async with asyncio.timeout(timeout), self._changed:
            await self._changed.wait_for(condition)

    async def drop_watches(self) -> None:
        for task in list(self._watches):
            task.cancel()

    async def _store(self, key: Key, obj: Object, event: str) -> None:
        self.objects[key] = obj
        await self._publish(event, key, obj)

    async def _publish(self, event: str, key: Key, obj: Object) -> None:
        revision = next(self._revision)
        obj["metadata"]["resourceVersion"] = str(revision)
        self._history.append((revision, event, key[0], copy.deepcopy(obj)))
        async with self._changed:
            self._changed.notify_all()

    async def _group(self, request: web.Request) -> web.Response:
        versions = [{"groupVersion": f"resource.k8s.io/{version}", "version": version} for version in self.versions]
        return web.json_response({"kind": "APIGroup", "name": "resource.k8s.io", "versions": versions})

    def _check_version(self, request: web.Request) -> None:
        info = request.match_info
        group, collection = info.get("group", ""), "name" not in info
        verb = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(request.method, "get")
        if verb == "get" and collection:
            verb = "watch" if request.query.get("watch") else "list"
        self.verbs.add((verb, group, info["plural"]))
        if request.match_info.get("group") == "resource.k8s.io" and request.match_info["version"] not in self.versions:
            raise _failure(404, "NotFound", "the server could not find the requested resource")

    async def _collection(self, request: web.Request) -> web.StreamResponse:
        self._check_version(request)
        plural, namespace = request.match_info["plural"], request.match_info.get("namespace", "")
        if request.method == "POST":
            return await self._create(request, plural, namespace)
        fields = _selector(request.query.get("fieldSelector", ""))
        if request.query.get("watch"):
            return await self._watch(request, plural, fields)
        found = [obj for (kind, _, _), obj in self.objects.items() if kind == plural and _selected(obj, fields)]
        revision = self._history[-1][0] if self._history else 0
        return web.json_response({"metadata": {"resourceVersion": str(revision)}, "items": found})

    async def _create(self, request: web.Request, plural: str, namespace: str) -> web.Response:
        obj = await request.json()
        metadata = obj["metadata"]
        if "name" not in metadata:
            metadata["name"] = metadata["generateName"] + uuid.uuid4().hex[:5]
        if namespace:
            metadata["namespace"] = namespace
        key = (plural, namespace, metadata["name"])
        if key in self.objects:
            raise _failure(409, "AlreadyExists", f'{plural} "{metadata["name"]}" already exists')
        self._admit(plural, obj)
        metadata["uid"] = str(uuid.uuid4())
        if "dryRun" not in request.query:
            await self._store(key, obj, "ADDED")
            self.writes.append(("create", plural, copy.deepcopy(obj)))
        return web.json_response(obj, status=201)

    def _admit(self, plural: str, obj: Object) -> None:
        if plural == "resourceslices":
            self.admit(obj)

    async def _object(self, request: web.Request) -> web.Response:
        self._check_version(request)
        info = request.match_info
        key = (info["plural"], info.get("namespace", ""), info["name"])
        stored = self.objects.get(key)
        if stored is None:
            raise _failure(404, "NotFound", f'{key[0]} "{key[2]}" not found')
        if request.method == "GET" and key[2] in self.raw:
            return web.Response(text=self.raw[key[2]], content_type="application/json")
        if request.method == "GET":
            return web.json_response(stored)
        body = await request.json()
        if request.method == "DELETE":
            _check_preconditions(stored, body.get("preconditions") or {})
            del self.objects[key]
            await self._publish("DELETED", key, stored)
            self.writes.append(("delete", key[0], copy.deepcopy(stored)))
            return web.json_response(stored)
        if request.method == "PATCH":
            body = {**stored, **body}
        _check_preconditions(stored, {"resourceVersion": body["metadata"].get("resourceVersion")})
        self._admit(key[0], body)
        await self._store(key, body, "MODIFIED")
        self.writes.append(("update", key[0], copy.deepcopy(body)))
        return web.json_response(body)

    async def _watch(self, request: web.Request, plural: str, fields: dict[str, str]) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        task = asyncio.current_task()
        assert task is not None
        self._watches.add(task)
        seen = int(request.query["resourceVersion"])
        try:
            while True:
                async with self._changed:
                    while not self._history or self._history[-1][0] <= seen:
                        await self._changed.wait()
                for revision, event, kind, obj in self._history:
                    if revision > seen and kind == plural and _selected(obj, fields):
                        await response.write(json.dumps({"type": event, "object": obj}).encode() + b"\n")
                seen = self._history[-1][0]
        except (asyncio.CancelledError, ConnectionError):
            return response
        finally:
            self._watches.discard(task)


def _failure(code: int, reason: str, message: str) -> web.HTTPException:
    status = {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}
    error = web.HTTPException(text=json.dumps(status), content_type="application/json")
    error.set_status(code)
    return error


def _selector(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(",") if part)


def _selected(obj: Object, fields: dict[str, str]) -> bool:
    spec = obj.get("spec") or {}
    return all((spec.get(path.removeprefix("spec.")) or "") == value for path, value in fields.items())


def _check_preconditions(stored: Object, wanted: Object) -> None:
    for name, value in wanted.items():
        if value and stored["metadata"].get(name) != value:
            raise _failure(409, "Conflict", f"the {name} in the precondition ({value}) does not match")


@pytest.fixture
async def api() -> AsyncIterator[TinyApi]:
    """A running tiny API server."""
    tiny = TinyApi()
    server = TestServer(tiny.app, host="127.0.0.1")
    await server.start_server()
    tiny.url = str(server.make_url("")).rstrip("/")
    yield tiny
    await tiny.drop_watches()
    await server.close()


@pytest.fixture
async def connection(api: TinyApi) -> AsyncIterator[Connection]:
    """A connection to the tiny API server."""
    async with Connection(api.url) as opened:
        yield opened


@pytest.fixture
def short_dir() -> Iterator[Path]:
    """A temporary directory whose path leaves room for unix sockets, unlike pytest's own."""
    with tempfile.TemporaryDirectory(prefix="dk-", dir="/tmp") as name:
        yield Path(name)
