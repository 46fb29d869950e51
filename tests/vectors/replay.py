"""Sends the request of a recorded exchange to an API server, and gives the answer in the form that is recorded.

The server may be ours or Kubernetes' own: tests replay the vectors against the one, ``tests.vectors.record`` makes them
with the other. Exchanges are replayed in their order, since some need what an earlier one has left.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple
from urllib.parse import quote

import aiohttp

from tests.vectors.exchanges import UID, bare, without_times

Vector = dict[str, Any]

# All that the recorded servers serve besides the defaults.
RUNTIME_CONFIG = {f"resource.k8s.io/{version}": "true" for version in ("v1beta1", "v1beta2", "v1alpha3")}
ADMIN_NAMESPACE = {"metadata": {"name": "admin", "labels": {"resource.kubernetes.io/admin-access": "true"}}}
CLUSTER_WIDE = {"resourceslices", "deviceclasses", "devicetaintrules"}
_ROOTS = {
    "pods": "/api/v1",
    **dict.fromkeys(("daemonsets", "deployments", "replicasets", "statefulsets"), "/apis/apps/v1"),
}
_DRY = "dryRun=All&fieldValidation=Strict"
# What the body of an answer to ``http`` is recorded without.
_VOLATILE = {"metadata", "spec", "items"}


class NotStoredError(Exception):
    """The object that an exchange is to change is one that this server does not take."""


class Answer(NamedTuple):
    """What came back: an object, or the text of what is none."""

    code: int
    content_type: str
    body: Vector
    warning: str | None


class Replay:
    """Exchanges with one server. ``session`` has its address and nothing else."""

    def __init__(self, session: aiohttp.ClientSession, token: str) -> None:
        self._session, self._token = session, token
        # What is stored, as it was sent, and its resourceVersion; by path.
        self._stored: dict[str, tuple[Vector, str]] = {}

    async def prepare(self) -> None:
        """Make the namespace that some exchanges need."""
        await self._send("POST", "/api/v1/namespaces", ADMIN_NAMESPACE)

    async def response(self, vector: Vector) -> Vector:
        """What the server answers: the recorded fields of a vector, ``response`` and where it belongs ``reads``."""
        match vector["op"]:
            case "create":
                return {"response": await self._create(vector)}
            case "update" | "status":
                return {"response": await self._replace(vector)}
            case "convert":
                return await self._convert(vector)
            case "http":
                return {"response": await self._http(vector)}
        raise ValueError(f"{vector['name']}: no such op: {vector['op']}")

    async def _create(self, vector: Vector) -> Vector:
        answer = await self._send("POST", f"{_collection(vector)}?{_DRY}", vector["object"])
        return _recorded(answer, vector)

    async def _replace(self, vector: Vector) -> Vector:
        old = vector["old"]
        path = f"{_collection(vector, old)}/{quote(old['metadata']['name'], safe='')}"
        stored, version = self._stored.get(path, (None, ""))
        if stored != old:
            version = await self._store(path, _collection(vector, old), old)
        status = "/status" if vector["op"] == "status" else ""
        obj = vector["object"]
        if isinstance(meta := obj.get("metadata", {}), dict):
            obj = {**obj, "metadata": {**meta, "resourceVersion": version}}
        answer = await self._send("PUT", f"{path}{status}?{_DRY}", obj)
        return _recorded(answer, vector)

    async def _store(self, path: str, collection: str, obj: Vector) -> str:
        """Put an object in the place of what is there; its resourceVersion."""
        self._stored.pop(path, None)
        # At once, also what a node runs.
        await self._send("DELETE", f"{path}?gracePeriodSeconds=0")
        made = await self._expect("POST", collection, obj)
        if obj.get("status"):
            made = await self._expect("PUT", f"{path}/status", obj)
        version = str(made["metadata"]["resourceVersion"])
        self._stored[path] = obj, version
        return version

    async def _convert(self, vector: Vector) -> Vector:
        collection = _collection(vector)
        made = await self._send("POST", collection, vector["object"])
        reads: Vector = {}
        if made.code == 201:
            name = vector["object"]["metadata"]["name"]
            version = f"/{_version(vector['object'])}/"
            for wanted in vector.get("reads") or ("v1", "v1beta1", "v1beta2"):
                answer = await self._send("GET", f"{collection.replace(version, f'/{wanted}/', 1)}/{name}")
                if answer.code == 200:
                    reads[wanted] = bare(answer.body)
            await self._send("DELETE", f"{collection}/{name}")
        return {"response": _recorded(made, vector), "reads": reads}

    async def _http(self, vector: Vector) -> Vector:
        token = None if vector.get("anonymous") else vector.get("token", self._token)
        answer = await self._send(
            vector["method"], vector["path"], vector.get("body"), token=token, headers=vector.get("headers")
        )
        found: Vector = {"code": answer.code, "contentType": answer.content_type, "body": answer.body}
        if "headers" in vector:
            found["body"] = {name: value for name, value in answer.body.items() if name not in _VOLATILE}
        else:
            del found["contentType"]
        return found

    async def _expect(self, method: str, path: str, body: Vector) -> Vector:
        answer = await self._send(method, path, body)
        if answer.code not in (200, 201):
            raise NotStoredError(f"{method} {path}: {answer.code} {answer.body.get('message')}")
        return answer.body

    async def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        sent = {"Content-Type": "application/json", **(headers or {})}
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self._token}"
        # With spaces, as Python's clients do: the server keeps the text of opaque parameters.
        data = body if isinstance(body, str | None) else json.dumps(body)
        async with self._session.request(method, path, data=data, headers=sent) as response:
            raw = await response.text()
            kind, warning = response.headers.get("Content-Type", ""), response.headers.get("Warning")
        return Answer(response.status, kind, json.loads(raw) if "json" in kind else {"text": raw}, warning)


def _version(obj: Vector) -> str:
    return str(obj.get("apiVersion", "v1")).rpartition("/")[2]


def _collection(vector: Vector, obj: Vector | None = None) -> str:
    obj, resource = obj or vector["object"], vector["resource"]
    root = _ROOTS.get(resource) or f"/apis/resource.k8s.io/{_version(obj)}"
    if resource in CLUSTER_WIDE:
        return f"{root}/{resource}"
    given = obj.get("metadata")
    namespace = given.get("namespace") if isinstance(given, dict) else None
    return f"{root}/namespaces/{namespace if isinstance(namespace, str) and namespace else 'default'}/{resource}"


def _recorded(answer: Answer, vector: Vector) -> Vector:
    body = answer.body
    found: Vector = {"code": answer.code}
    if answer.warning:
        found["warning"] = answer.warning
    if answer.code < 300:
        if "shows" in vector:
            return {**found, "object": {path: _at(body, path) for path in vector["shows"]}}
        kept = _of_pod(body) if vector["resource"] in _ROOTS else bare(body)
        return {**found, "object": kept} if kept else found
    found |= {"reason": body.get("reason"), "message": body.get("message")}
    if causes := (body.get("details") or {}).get("causes"):
        found["causes"] = causes
    return found


def _of_pod(pod: Vector) -> Vector:
    """Of pods only their claims are recorded, and of workloads nothing."""
    claims = pod["spec"].get("resourceClaims")
    return {"spec": {"resourceClaims": claims}} if claims else {}


def _at(obj: Any, path: str) -> Any:
    """What stands at a dotted path; numbers count items of lists."""
    for step in path.split("."):
        if obj is not None:
            obj = obj[int(step)] if isinstance(obj, list) else obj.get(step)
    return obj


def comparable(response: Vector) -> Vector:
    """A response as it is to be compared: without UIDs and times, and parts that come in any order sorted."""
    if "body" in response:
        return {**response, "body": _comparable_status(response["body"])}
    if "object" in response:
        return {**response, "object": without_times(response["object"])}
    return _comparable_status(response)


def _comparable_status(status: Vector) -> Vector:
    found = {name: value for name, value in status.items() if name != "metadata"}
    if isinstance(message := status.get("message"), str):
        found["message"] = pieces(message)
    if "causes" in status:
        found["causes"] = sorted(json.dumps(cause, sort_keys=True) for cause in status["causes"])
    return found


def pieces(message: str) -> list[str]:
    """A list of errors or of unknown fields comes in the order of Go's maps.

    What separates its items occurs in them as well, so that all pieces together are compared.
    """
    head, _, listed = UID.sub("UID", message).partition(": ")
    return [head, *sorted(listed.removeprefix("[").removesuffix("]").split(", "))]
