"""Requests about what holds for every kind, and what a real kube-apiserver 1.37.1 answered to each.

``api/http.jsonl.gz`` holds one exchange a line: ``name``, ``method``, ``path``, ``headers``, ``body`` (text or null)
and ``response`` with ``code``, ``contentType``, ``body`` and, where there are any, ``warnings``. Nothing is written, or
only with ``dryRun``: they may be asked in any order, and at once. Resource versions in paths are ``{{now}}`` and the
other names that ``Stage.prepare`` gives. Of an exchange with ``brief`` only the kind of what was found is recorded.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import aiohttp
from yarl import URL

from drakit_api.kubernetes_objects import Object
from tests.vectors import exchanges

FILE = "http"
NAMESPACE = "/api/v1/namespaces/dd"
MAPS = f"{NAMESPACE}/configmaps"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/dd/resourceclaims"

_MAP_COUNT = 7
_AT_ONCE = 50
_GOOD = 300
_CONTAINERS = [{"name": "c", "image": "i"}]
# Whatever differs from run to run.
_VOLATILE = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "continue"}
_BY_CHANCE = (
    (exchanges.UID, "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"(resourceVersion\W+|current: )\d+"), r"\1N"),
    (re.compile(r"(kube-api-access|generated)-\w{5}"), r"\1-x"),
    (re.compile(r"-----BEGIN .*", re.DOTALL), "PEM"),
)
_TIMEOUT = aiohttp.ClientTimeout(total=20)
_AUTOMATIC = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")


def recorded() -> tuple[Object, ...]:
    """All exchanges."""
    return exchanges.recorded(FILE)


class Stage:
    """A server that is asked. ``session`` has its address and nothing else."""

    def __init__(self, session: aiohttp.ClientSession, token: str) -> None:
        self._session, self._token = session, token
        self._origin = ""
        self._names: dict[str, str] = {}

    async def prepare(self) -> None:
        """Make what the requests are about: seven config maps, two claims, a class, a pod and a deployment."""
        for collection, obj in _surroundings():
            await self._make(collection, obj)
        self._names["m0"] = (await self._read(MAPS))["metadata"]["resourceVersion"]
        for number in range(_MAP_COUNT):
            made = await self._make(MAPS, _config_map(number))
            self._names[f"m{number + 1}"] = made["metadata"]["resourceVersion"]
        found = (await self._read(f"{MAPS}?limit=2"))["metadata"]
        now = found["resourceVersion"]
        self._names |= {"now": now, "future": str(int(now) + 100_000), "continue": found["continue"]}

    async def answers(self, asked: Iterable[Object]) -> list[Object]:
        """What the server answers to each, in their order."""
        free = asyncio.Semaphore(_AT_ONCE)

        async def answer(exchange: Object) -> Object:
            async with free:
                return await self._answer(exchange)

        return await asyncio.gather(*map(answer, asked))

    async def _answer(self, exchange: Object) -> Object:
        path = re.sub(r"{{(\w+)}}", lambda match: self._names[match[1]], exchange["path"])
        body = exchange["body"]
        async with self._session.request(
            exchange["method"],
            URL(self._origin + path, encoded=True),
            headers=self._authorized(exchange["headers"]),
            data=None if body is None else body.encode(),
            skip_auto_headers=_AUTOMATIC,
            timeout=_TIMEOUT,
        ) as response:
            body = _read((await response.read()).decode(errors="replace"))
            if exchange.get("brief") and response.status < _GOOD:
                body = {key: body.get(key) for key in ("kind", "apiVersion")} if isinstance(body, dict) else None
            found: Object = {"code": response.status, "contentType": response.headers.get("Content-Type")}
            if warnings := response.headers.getall("Warning", []):
                found["warnings"] = warnings
            return {**found, "body": self._comparable(body)}

    def _comparable(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._comparable(item) for key, item in value.items() if key not in _VOLATILE}
        if isinstance(value, list):
            return [self._comparable(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        for pattern, name in _BY_CHANCE:
            text = pattern.sub(name, text)
        for name in ("now", "future"):
            text = re.sub(rf"\b{self._names[name]}\b", f"{{{{{name}}}}}", text)
        return text

    async def _make(self, collection: str, obj: Object) -> Object:
        async with self._session.post(collection, json=obj, headers=self._authorized({})) as response:
            made: Object = await response.json()
            if response.status != 201:
                raise ValueError(f"POST {collection}: {made}")
            return made

    async def _read(self, path: str) -> Object:
        async with self._session.get(path, headers=self._authorized({})) as response:
            found: Object = await response.json()
            self._origin = str(response.url.origin())
            return found

    def _authorized(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", **headers}


def _read(text: str) -> Any:
    """JSON, the lines of a watch as a list, or the text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines()]
    except ValueError:
        return text


def _config_map(number: int) -> Object:
    labels = {"app": "web" if number % 2 else "db", "tier": str(number), "e": ""}
    return {"metadata": {"name": f"c{number}", "labels": labels}, "data": {"k": str(number)}}


def _surroundings() -> list[tuple[str, Object]]:
    """Everything but the config maps, each with the collection that it is created in."""
    objects: list[tuple[str, Object]] = [
        ("/api/v1/namespaces", {"metadata": {"name": "dd"}}),
        (f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}}),
        ("/apis/resource.k8s.io/v1/deviceclasses", {"metadata": {"name": "cls"}, "spec": {}}),
    ]
    for number in range(2):
        requests = [{"name": "r", "exactly": {"deviceClassName": "cls"}}]
        metadata = {"name": f"k{number}", "labels": {"n": str(number)}}
        objects.append((CLAIMS, {"metadata": metadata, "spec": {"devices": {"requests": requests}}}))
    pod = {"metadata": {"name": "p0", "labels": {"app": "web"}}, "spec": {"containers": _CONTAINERS}}
    objects.append((f"{NAMESPACE}/pods", pod))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": _CONTAINERS}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    objects.append(("/apis/apps/v1/namespaces/dd/deployments", {"metadata": {"name": "dep"}, "spec": spec}))
    return objects
