"""Stories of custom resources that a webhook converts, and what a real kube-apiserver 1.37.1 answered to each step.

``api/conversions.jsonl.gz`` holds one story a line: ``name`` and ``steps``. A step has ``method``, ``path``, and where
they are needed ``type`` (the Content-Type), ``accept``, ``body``, ``events`` (how many are awaited of a watch) and
``answer``; ``fields`` if managed fields are compared, too. A step with ``way`` says in which way of ``converter.WAYS``
objects are converted from then on, and one with ``asked`` has in it what the program has been asked since the last such
step, each question once. Every story has a group of its own, ``$group``, and there is ``$hook``, the program's
``clientConfig``.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
from typing import Any

import aiohttp

from drakit_api.kubernetes_objects import Object
from tests.vectors import exchanges
from tests.vectors.converter import Converter

FILE = "conversions"

_GOOD, _TOO_MANY = 300, 429
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_AGE = re.compile(r'(?<=")\d+(ms|s|m)(?=")')
_REVISION = re.compile(r"revision=\d+")
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_EVENTS_BOUND = 10.0


def recorded() -> tuple[Object, ...]:
    """All stories."""
    return exchanges.recorded(FILE)


class Stage:
    """A server on which stories are played. ``session`` has its address and nothing else.

    ``settling`` is how many seconds it takes until a changed definition has its effect everywhere.
    """

    def __init__(self, session: aiohttp.ClientSession, token: str, converter: Converter, *, settling: float) -> None:
        self._session, self._token, self._converter, self._settling = session, token, converter, settling
        self._stories = 0

    async def told(self, story: Object) -> Object:
        """The story with what the server answers, as it is recorded."""
        self._stories += 1
        name = f"c{self._stories}"
        steps = [{**step, **await self._step(step, name)} for step in story["steps"]]
        return {**story, "steps": json.loads(_stable(json.dumps(steps), name, self._converter.url))}

    async def _step(self, step: Object, name: str) -> Object:
        if "way" in step:
            self._converter.ways[name] = step["way"]
            return {}
        if "asked" in step:
            return {"asked": _questions(self._converter.asked.pop(name, []))}
        hook = json.dumps({"url": f"{self._converter.url}/{name}", "caBundle": self._converter.ca})
        text = json.dumps(step).replace('"$hook"', hook).replace("$group", f"{name}.example.com")
        filled = json.loads(text)
        if "events" in step:
            return {"answer": {"events": await self._events(filled)}}
        code, found, warnings = await self._send(filled)
        # A real server initializes the storage of each version when it is asked for first.
        while code == _TOO_MANY or code != step.get("until", code):
            await asyncio.sleep(0.02)
            code, found, warnings = await self._send(filled)
        answer: Object = {"code": code, "body": _compared(found, fields="fields" in step)}
        if filled["path"].startswith(_DEFINITIONS) and filled["method"] != "GET":
            await self._settle(filled, found)
            answer = {"code": code, **({} if code < _GOOD else {"body": found})}
        return {"answer": {**answer, "warnings": warnings} if warnings else answer}

    async def _settle(self, step: Object, found: Any) -> None:
        if step["method"] == "POST":
            served = next(version["name"] for version in found["spec"]["versions"] if version["served"])
            path = f"/apis/{found['spec']['group']}/{served}"
            while (await self._send({"method": "GET", "path": path}))[0] != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await asyncio.sleep(self._settling)

    async def _send(self, step: Object) -> tuple[int, Any, list[str]]:
        async with self._request(step) as response:
            raw = await response.text()
            found = json.loads(raw) if raw.startswith("{") else raw
            return response.status, found, response.headers.getall("Warning", [])

    def _request(self, step: Object) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": "tests"}
        headers |= {"Content-Type": step.get("type", "application/json"), "Accept": step.get("accept", "*/*")}
        body = json.dumps(step["body"]).encode() if "body" in step else None
        data = io.BytesIO(body) if body is not None else None
        return self._session.request(step["method"], step["path"], data=data, headers=headers)

    async def _events(self, step: Object) -> list[Object]:
        """Wait for as many events of a watch, or its end; fewer if no more come in time."""
        found: list[Object] = []
        try:
            async with asyncio.timeout(_EVENTS_BOUND), self._request(step) as response:
                while len(found) < step["events"] and (line := await response.content.readline()):
                    event = json.loads(line)
                    found.append({**event, "object": _compared(event.get("object", event), fields=False)})
        except TimeoutError:
            pass
        return found


def _questions(asked: list[Object]) -> list[Object]:
    """What was asked, each question once, without the UIDs of the reviews."""
    bare = [_compared({**review, "request": {**review["request"], "uid": ""}}, fields=True) for review in asked]
    texts = {_TIME.sub("TIME", json.dumps(review, sort_keys=True)) for review in bare}
    return [json.loads(text) for text in sorted(texts)]


def _compared(found: Any, *, fields: bool) -> Any:
    """An answer without what is another each time."""
    if isinstance(found, list):
        return [_compared(each, fields=fields) for each in found]
    if not isinstance(found, dict):
        return found
    left = {key: _compared(value, fields=fields) for key, value in found.items() if key != "resourceVersion"}
    if "managedFields" in left:
        if not fields:
            del left["managedFields"]
        elif left["managedFields"]:
            left["managedFields"].sort(key=lambda entry: json.dumps({**entry, "time": ""}, sort_keys=True))
    return left


def _stable(text: str, name: str, url: str) -> str:
    """Without what differs each time: UIDs are numbered as they come."""
    text = text.replace(f"{name}.example.com", "$group").replace(f"{url}/{name}", "HOOK")
    for number, uid in enumerate(dict.fromkeys(match[0] for match in exchanges.UID.finditer(text))):
        text = text.replace(uid, f"u{number}")
    return _REVISION.sub("revision=N", _AGE.sub("AGE", _TIME.sub("TIME", text)))
