"""Stories of HorizontalPodAutoscalers in both versions, and what a real kube-apiserver 1.37.1 answered to each step.

``api/autoscalers.jsonl.gz`` holds one story a line: ``name`` and ``steps``. A step has ``method``, ``path``, and where
they are needed ``type`` (the Content-Type), ``accept``, ``body``, ``events`` (how many are awaited of a watch) and
``answer``; ``fields`` if managed fields are compared, too. Every story has a namespace of its own, ``$namespace``, and
there is ``$since``, the version of its beginning.
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

FILE = "autoscalers"

# Those that a story sends are of the year 2001, and stay.
_TIME = re.compile(r"(?!2001)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_EVENTS_BOUND = 10.0


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
        namespace = f"scaled{self._stories}"
        made = {"method": "POST", "path": "/api/v1/namespaces", "body": {"metadata": {"name": namespace}}}
        _, found, _ = await self._send(made)
        since = found["metadata"]["resourceVersion"]
        answers = [await self._answer(step, namespace, since) for step in story["steps"]]
        steps = zip(story["steps"], json.loads(_stable(json.dumps(answers), namespace)), strict=True)
        return {**story, "steps": [{**step, "answer": answer} for step, answer in steps]}

    async def _answer(self, step: Object, namespace: str, since: str) -> Object:
        filled = json.loads(json.dumps(step).replace("$namespace", namespace).replace("$since", since))
        if "events" in step:
            return {"events": await self._events(filled)}
        code, found, warnings = await self._send(filled)
        answer: Object = {"code": code, "body": _compared(found, fields="fields" in step)}
        return {**answer, "warnings": warnings} if warnings else answer

    async def _send(self, step: Object) -> tuple[int, Any, list[str]]:
        async with self._request(step) as response:
            raw = await response.text()
            # Ours warns that nothing is scaled, which a real server does not say.
            said = [text for text in response.headers.getall("Warning", []) if "drakit" not in text]
            return response.status, json.loads(raw) if raw.startswith("{") else raw, said

    def _request(self, step: Object) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": step.get("agent", "tests")}
        headers |= {"Content-Type": step.get("type", "application/json"), "Accept": step.get("accept", "*/*")}
        data = io.BytesIO(json.dumps(step["body"]).encode()) if "body" in step else None
        return self._session.request(step["method"], step["path"], data=data, headers=headers)

    async def _events(self, step: Object) -> list[Object]:
        """Wait for as many events of a watch; fewer if no more come in time."""
        found: list[Object] = []
        async with asyncio.timeout(_EVENTS_BOUND), self._request(step) as response:
            while len(found) < step["events"] and (line := await response.content.readline()):
                event = json.loads(line)
                found.append({"type": event["type"], "object": _compared(event["object"], fields=False)})
        return found


def _compared(found: Any, *, fields: bool) -> Any:
    """An answer without what is another each time."""
    if isinstance(found, list):
        return [_compared(each, fields=fields) for each in found]
    if not isinstance(found, dict):
        return found
    left = {key: _compared(value, fields=fields) for key, value in found.items() if key != "resourceVersion"}
    # Whether columns are described is not recorded here; the last of them is the age.
    left.pop("columnDefinitions", None)
    if left.get("continue"):
        left["continue"] = True
    if "cells" in left:
        left["cells"][-1] = "AGE"
    if not fields:
        left.pop("managedFields", None)
    elif left.get("managedFields"):
        left["managedFields"].sort(key=lambda entry: json.dumps({**entry, "time": ""}, sort_keys=True))
    return left


def _stable(text: str, namespace: str) -> str:
    """Without what differs each time: UIDs are numbered as they come."""
    text = re.sub(rf"\b{namespace}\b", "$namespace", text)
    for number, uid in enumerate(dict.fromkeys(match[0] for match in exchanges.UID.finditer(text))):
        text = text.replace(uid, f"u{number}")
    return _TIME.sub("TIME", text)
