"""Stories of writes that are seldom made, and what a real kube-apiserver 1.37.1 answered to each step of them.

``api/writes.jsonl.gz`` holds one story a line: ``name``, ``steps``, and where it was watched ``watch`` (the path of a
collection) and ``events``. A step has ``method``, ``path``, and where they are needed ``type`` (the Content-Type),
``body`` (JSON, or the text itself), ``shows`` (paths of what is compared of an object besides its metadata) and
``answer``. In paths and bodies ``$uid(PATH)`` and ``$version(PATH)`` stand for those of the object that is there, and
``$text(N)`` for a text of so many bytes.
Every story has a namespace of its own, ``$namespace``, in which there are accounts for pods.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable
from typing import Any

import aiohttp

from drakit_api.kubernetes_objects import Object
from tests.vectors import exchanges

FILE = "writes"

_GOOD = 300
_REFERENCE = re.compile(r"\$(uid|version)\(([^)]*)\)")
_TEXT = re.compile(r"\$text\((\d+)\)")
_GENERATED = re.compile(r"\b(g-|g\.)[b-z2-9]{5}\b")
_VERSION = re.compile(
    r'(?<="resourceVersion": ")[1-9]\d{0,15}(?=")|(?<=ResourceVersion in record \()\d+|'
    r"(?<=ResourceVersion in object meta: )\d+|(?<=ResourceVersion in the precondition \()\d{2,}"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
# What is compared of an object's metadata; of times, whether there are any.
_METADATA = (
    *("name", "namespace", "annotations", "labels", "finalizers", "ownerReferences", "generation", "resourceVersion"),
    *("uid", "deletionTimestamp", "deletionGracePeriodSeconds"),
)


def recorded() -> tuple[Object, ...]:
    """All stories."""
    return exchanges.recorded(FILE)


class Stage:
    """A server on which stories are played. ``session`` has its address and nothing else."""

    def __init__(self, session: aiohttp.ClientSession, token: str) -> None:
        self._session, self._token = session, token
        self._stories = 0

    async def told(self, story: Object) -> Object:
        """The story with what the server answers, as it is recorded."""
        self._stories += 1
        namespace = f"w{self._stories}"
        await self._send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        await self._send("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "default"}})
        watched = story.get("watch", "").replace("$namespace", namespace)
        since = (await self._send("GET", watched))[1]["metadata"]["resourceVersion"] if watched else ""
        answers = [await self._answer(step, namespace) for step in story["steps"]]
        found: Object = {"answers": answers}
        if watched:
            found["events"] = await self._events(f"{watched}?watch=1&timeoutSeconds=1&resourceVersion={since}")
        found = _stable(found, namespace)
        steps = [{**step, "answer": answer} for step, answer in zip(story["steps"], found.pop("answers"), strict=True)]
        return {**story, "steps": steps, **found}

    async def _answer(self, step: Object, namespace: str) -> Object:
        body = step.get("body")
        text = "" if body is None else body if isinstance(body, str) else json.dumps(body)
        text = await self._filled(text, namespace)
        path = await self._filled(step["path"], namespace)
        code, found, warnings = await self._send(step["method"], path, text, step.get("type", "application/json"))
        answer: Object = {"code": code, **_compared(found, code, step.get("shows", ()))}
        return {**answer, "warnings": warnings} if warnings else answer

    async def _filled(self, text: str, namespace: str) -> str:
        text = _TEXT.sub(lambda match: "x" * int(match[1]), text.replace("$namespace", namespace))
        for what, path in dict.fromkeys(_REFERENCE.findall(text)):
            found = (await self._send("GET", path))[1]["metadata"]
            text = text.replace(f"${what}({path})", str(found.get("uid" if what == "uid" else "resourceVersion")))
        return text

    async def _send(
        self, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> tuple[int, Any, list[str]]:
        code, raw, warnings = await self._sent(method, path, body, kind)
        return code, json.loads(raw) if raw.startswith("{") else raw, warnings

    async def _sent(self, method: str, path: str, body: Any, kind: str) -> tuple[int, str, list[str]]:
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": "tests", "Content-Type": kind}
        data = body if isinstance(body, str | None) else json.dumps(body)
        content = io.BytesIO(data.encode()) if data else None
        async with self._session.request(method, path, data=content, headers=headers) as response:
            return response.status, await response.text(), response.headers.getall("Warning", [])

    async def _events(self, path: str) -> list[Object]:
        """What is seen in a second; all of it has happened before."""
        _, raw, _ = await self._sent("GET", path, None, "application/json")
        events = [json.loads(line) for line in raw.splitlines()]
        return [{"type": event["type"], **_compared(event["object"], 200, ())} for event in events]


def _compared(found: Any, code: int, shows: Iterable[str]) -> Object:
    if not isinstance(found, dict):
        return {"text": found}
    if code >= _GOOD or found.get("kind") == "Status":
        return {key: found[key] for key in ("reason", "message", "details") if key in found}
    meta = found.get("metadata") or {}
    if "items" in found:
        # Its version is that of whatever else has happened.
        more = {key: bool(meta[key]) for key in ("continue", "remainingItemCount") if key in meta}
        return {"items": [_metadata(item) for item in found["items"]], **more}
    shown: Object = {"metadata": _metadata(found)}
    for path in shows:
        value: Any = found
        for part in path.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        shown[path] = value
    return shown


def _metadata(obj: Object) -> Object:
    return {key: obj["metadata"][key] for key in _METADATA if key in obj["metadata"]}


def _stable(found: Object, namespace: str) -> Object:
    """Without what differs each time: versions are numbered in their order, UIDs as they come."""
    text = json.dumps(found)
    versions = sorted(set(_VERSION.findall(text)), key=int)
    for number, uid in enumerate(dict.fromkeys(match[0] for match in exchanges.UID.finditer(text))):
        text = text.replace(uid, f"u{number}")
    text = _VERSION.sub(lambda match: f"v{versions.index(match[0])}", text)
    text = re.sub(rf"\b{namespace}\b", "$namespace", text)
    stable: Object = json.loads(_GENERATED.sub(r"\1x", _TIME.sub("TIME", text)))
    return stable
