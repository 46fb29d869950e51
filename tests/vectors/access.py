"""Recorded conversations of several users with a real kube-apiserver 1.37.1, and how they are held again.

``api/access-*.jsonl.gz`` hold one step a line, to be taken in their order against an empty cluster with controllers:
``identities`` (who am I, may I, what may nobody), ``nodes`` (kubelets, service accounts' tokens, roles, statuses of
claims), ``quotas``, ``limits`` (of LimitRanges), ``certificates`` (of pods), ``volumes`` (their
secrets and tokens), ``storage`` (quotas of it), ``impersonations`` (names of accounts, extra fields),
``admission`` (roles, classes of pods and what accounts may mount), ``signing`` (certificates that are asked for,
approved and signed, and whose word counts).
A step has ``name``, ``op``, ``method``, ``path``, and where they are needed ``body``, ``headers`` (of impersonation),
``authorization`` (instead of the administrator's) and ``token``, a TokenRequest whose token is used; ``whole`` says
that the object in the answer is compared, too.
``op`` is ``ask`` (the answer is compared), ``prepare`` (it is not) or ``until`` (asked again until it is as recorded).
Texts may have ``$admin`` (the administrator's token), ``$token`` and ``$uid(PATH)`` in them.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import aiohttp

from tests.vectors import exchanges

Step = dict[str, Any]

FILES = (
    *("identities", "nodes", "quotas", "limits", "certificates", "volumes", "storage", "impersonations", "admission"),
    "signing",
)
_UID_OF = re.compile(r"\$uid\(([^)]*)\)")
_GENERATED = re.compile(r"\b(g)-[b-z2-9]{5}\b")
_SET_BY_SERVER = {"creationTimestamp", "managedFields", "resourceVersion", "uid"}
# Of the status of a TokenRequest, and of who came with such a token.
_OF_TOKENS = {"expirationTimestamp", "token"}
_BY_CHANCE = {"authentication.kubernetes.io/credential-id"}
_TIMES = ("lastUpdateTime", "lastTransitionTime")
_BOUND = 10.0


def file_of(part: str) -> str:
    """The file of one of ``FILES``, as ``exchanges`` calls it."""
    return f"access-{part}"


def recorded(part: str) -> tuple[Step, ...]:
    """The steps of one of ``FILES``."""
    return exchanges.recorded(file_of(part))


class Conversation:
    """Takes the steps of a file with one server. ``session`` has its address; ``pause`` follows what is prepared."""

    def __init__(self, session: aiohttp.ClientSession, token: str, *, pause: float = 0.0) -> None:
        self._session, self._admin, self._pause = session, token, pause

    async def answer(self, step: Step) -> Step:
        """What the server says, in the form that is recorded."""
        token = await self._token(step["token"]) if "token" in step else ""
        if step["op"] == "until":
            return await self._until(step, token)
        answer = await self._ask(step, token)
        if step["op"] == "prepare":
            await asyncio.sleep(self._pause)
        return answer

    async def _until(self, step: Step, token: str) -> Step:
        ends = asyncio.get_running_loop().time() + _BOUND
        while True:
            answer = await self._ask(step, token)
            if answer == step["response"] or asyncio.get_running_loop().time() > ends:
                return answer
            await asyncio.sleep(0.02)

    async def _token(self, request: Step) -> str:
        body = await self._filled(request["body"], "")
        made = await self._send("POST", request["path"], body, {"Authorization": f"Bearer {self._admin}"})
        return str(made[1]["status"]["token"])

    async def _ask(self, step: Step, token: str) -> Step:
        headers = dict(step.get("headers", {}))
        if step["method"] == "PATCH":
            headers["Content-Type"] = "application/merge-patch+json"
        given = step.get("authorization", "Bearer $token" if token else "Bearer $admin")
        if given is not None:
            headers["Authorization"] = await self._filled(given, token)
        code, body = await self._send(
            step["method"], step["path"], await self._filled(step.get("body"), token), headers
        )
        return self._named({**reduced(code, body), **(_whole(body) if step.get("whole") else {})}, token)

    async def _filled(self, value: Any, token: str) -> Any:
        if isinstance(value, dict):
            return {key: await self._filled(item, token) for key, item in value.items()}
        if isinstance(value, list):
            return [await self._filled(item, token) for item in value]
        if not isinstance(value, str):
            return value
        for path in _UID_OF.findall(value):
            value = value.replace(f"$uid({path})", await self._uid(path))
        return value.replace("$admin", self._admin).replace("$token", token)

    def _named(self, answer: Step, token: str) -> Step:
        """With the names of the tokens in their places."""
        text = json.dumps(answer).replace(self._admin, "$admin")
        named: Step = json.loads(text.replace(token, "$token") if token else text)
        return named

    async def _uid(self, path: str) -> str:
        _, found = await self._send("GET", path, None, {"Authorization": f"Bearer {self._admin}"})
        return str(found["metadata"].get("uid", "zz"))

    async def _send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json", **headers}
        async with self._session.request(method, path, data=data, headers=headers) as response:
            raw = await response.text()
        try:
            return response.status, json.loads(raw)
        except ValueError:
            return response.status, raw


def reduced(code: int, body: Any) -> Step:
    """What is recorded of an answer: refusals and reviews whole, quotas without what a server sets, else the code."""
    found: Step = {"code": code}
    kind = body.get("kind", "") if isinstance(body, dict) else ""
    if kind == "Status" and code >= 400:
        found |= {key: body[key] for key in ("reason", "message", "details") if key in body}
    elif kind.endswith("Review") or kind == "TokenRequest":
        found |= {key: body[key] for key in ("metadata", "spec", "status") if key in body}
        if kind == "TokenRequest":
            found["status"] = _without(found["status"], _OF_TOKENS)
    elif kind in ("LimitRange", "ResourceQuota"):
        found |= {key: body[key] for key in ("spec", "status") if key in body}
    elif kind == "Pod":
        found |= _told_of_limits(body)
    elif kind == "ResourceQuotaList":
        found["statuses"] = {item["metadata"]["name"]: item.get("status") for item in body["items"]}
    stable: Step = _stable(found)
    return stable


def _told_of_limits(pod: Any) -> Step:
    """What LimitRanger makes of a pod."""
    containers = [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())]
    note = (pod["metadata"].get("annotations") or {}).get("kubernetes.io/limit-ranger")
    return {"resources": [container.get("resources") for container in containers], "note": note}


def _whole(body: Any) -> Step:
    """All of an object but what differs each time; of a condition, that it has times."""
    if not isinstance(body, dict) or body.get("kind") == "Status":
        return {}
    if "items" in body:
        return {"items": [_whole(item) for item in body["items"]]}
    found: Step = {"labels": body.get("metadata", {}).get("labels")}
    found |= {key: body[key] for key in ("spec", "status") if key in body}
    for condition in (found.get("status") or {}).get("conditions") or []:
        condition |= {key: "then" for key in _TIMES if condition.get(key)}
    stable: Step = _stable(found)
    return stable


def _stable(value: Any) -> Any:
    """Without what differs each time, and rules in one order."""
    if isinstance(value, dict):
        found = {key: _stable(item) for key, item in value.items() if key not in _BY_CHANCE}
        if "metadata" in found:
            found["metadata"] = _without(found["metadata"], _SET_BY_SERVER)
        for key in ("resourceRules", "nonResourceRules"):
            if key in found:
                found[key] = sorted(found[key], key=lambda rule: json.dumps(rule, sort_keys=True))
        return found
    if isinstance(value, list):
        return [_stable(item) for item in value]
    if isinstance(value, str):
        return _GENERATED.sub(r"\1-x", exchanges.UID.sub("UID", value))
    return value


def _without(value: Any, keys: set[str]) -> Any:
    return {key: item for key, item in value.items() if key not in keys} if isinstance(value, dict) else value
