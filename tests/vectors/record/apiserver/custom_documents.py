"""OpenAPI documents of custom resources, whose definitions are in ``definitions.yaml`` beside this module."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from drakit_api.kubernetes_objects import Object
from tests.vectors import documents
from tests.vectors.exchanges import recorded
from tests.vectors.record.apiserver.servers import running
from tests.vectors.record.outcome import Outcome, of_lines

_DEFINITIONS = Path(__file__).with_name("definitions.yaml")
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_BOUND = 60.0
_PAUSE = 0.5


async def openapi(version: str) -> Outcome:
    """For each definition, as it is stored, what its resource is in both versions of OpenAPI."""
    wanted = list(yaml.safe_load_all(_DEFINITIONS.read_text()))
    async with running("default", version) as (session, token), asyncio.timeout(_BOUND):
        server = _Server(session, token)
        for definition in wanted:
            await server.ask(_CRDS, definition)
        paths = [path for definition in wanted for path in documents.paths_of(definition)]
        while not await server.publishes(paths):  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE)
        swagger = await server.ask("/openapi/v2")
        lines = [await _line(server, definition["metadata"]["name"], swagger) for definition in wanted]
    return of_lines(recorded("custom-openapi"), lines, lambda line: str(line["definition"]["metadata"]["name"]))


class _Server:
    def __init__(self, session: aiohttp.ClientSession, token: str) -> None:
        self._session, self._headers = session, {"Authorization": f"Bearer {token}"}

    async def ask(self, path: str, body: Object | None = None) -> Any:
        method = "GET" if body is None else "POST"
        async with self._session.request(
            method, path, json=body, headers=self._headers, raise_for_status=True
        ) as response:
            return json.loads(await response.read())

    async def publishes(self, paths: list[str]) -> bool:
        """Check whether both versions have all of these paths."""
        index, swagger = await self.ask("/openapi/v3"), await self.ask("/openapi/v2")
        return all(
            path in index["paths"] and any(name.startswith(f"/{path}/") for name in swagger["paths"]) for path in paths
        )


async def _line(server: _Server, name: str, swagger: Object) -> Object:
    stored = await server.ask(f"{_CRDS}/{name}")
    stored["metadata"] = {"name": name}
    paths = documents.paths_of(stored)
    found = {path: documents.without_native(await server.ask(f"/openapi/v3/{path}")) for path in paths}
    return {"definition": stored, "v3": found, "v2": documents.custom_swagger(swagger, stored)}
