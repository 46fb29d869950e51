"""Stories of several managers and one object: sequences of requests, and what a real kube-apiserver answered to each.

``api/managedfields.jsonl.gz`` holds one story a line: ``name`` and ``steps``, each with ``method``, ``path``, ``agent``
(the User-Agent), and where they are needed ``query``, ``type`` (the Content-Type), ``body`` and ``answer``. The body of
a step with ``over`` is put over the top level of the object as it is then, with its ``managedFields``, as controllers
update objects.
"""

from __future__ import annotations

import json
from typing import Any

import aiohttp

from drakit_api.kubernetes_objects import Object
from tests.vectors import exchanges

FILE = "managedfields"
NAMESPACE = "fields"
_GOOD = 300


def recorded() -> tuple[Object, ...]:
    """All stories."""
    return exchanges.recorded(FILE)


class Stage:
    """A server on which stories are played. ``session`` has its address and nothing else."""

    def __init__(self, session: aiohttp.ClientSession, token: str) -> None:
        self._session, self._token = session, token

    async def prepare(self) -> None:
        """Make the namespace of the stories, and the account of its pods."""
        metadata = {"name": NAMESPACE}
        await self._send("POST", "/api/v1/namespaces", {}, {"metadata": metadata})
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        await self._send("POST", path, {}, {"metadata": {"name": "default"}})

    async def answers(self, story: Object) -> list[Object]:
        """What the server answers to each step, as it is recorded."""
        return [await self._answer(step) for step in story["steps"]]

    async def _answer(self, step: Object) -> Object:
        body: Any = step.get("body")
        if step.get("over"):
            _, current = await self._send("GET", step["path"].removesuffix("/status"), {})
            body = current | body
        code, found = await self._send(step["method"], step["path"], step, body)
        return _comparable(code, found)

    async def _send(self, method: str, path: str, step: Object, body: Any = None) -> tuple[int, Object]:
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": step.get("agent", "tests")}
        headers["Content-Type"] = step.get("type", "application/json")
        data = body.encode() if isinstance(body, str) else json.dumps(body, separators=(",", ":")).encode()
        async with self._session.request(
            method, path, params=step.get("query"), data=None if body is None else data, headers=headers
        ) as response:
            found: Object = await response.json(content_type=None)
            return response.status, found


def _comparable(code: int, found: Object) -> Object:
    """What does not depend on when and where: times say only whether there are any."""
    if code >= _GOOD:
        causes = (found.get("details") or {}).get("causes") or []
        # In which way a pod may not be changed is not recorded here; other lines come in any order.
        message, *lines = found.get("message", "").partition("\n@@")[0].split("\n")
        return {"code": code, "message": "\n".join([message, *sorted(lines)]), "causes": sorted(causes, key=str)}
    entries = found["metadata"].get("managedFields") or []
    timed = [{**entry, "time": bool(entry.get("time"))} for entry in entries]
    # Entries of one second stand in another order than those of two.
    return {"code": code, "managedFields": sorted(timed, key=lambda entry: json.dumps(entry, sort_keys=True))}
