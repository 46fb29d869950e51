"""The webhooks of all stories: one server, with a path for each story and hook, which answers as the story says."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from drakit_embedded import certificates


class Hooks:
    """Answers AdmissionReviews, and remembers them by story."""

    def __init__(self, ca: str) -> None:
        """``ca`` is the bundle to trust, as a ``caBundle`` has it."""
        # Where it is reached, once it is.
        self.url, self.ca = "", ca
        self._scripts: dict[str, dict[str, Any]] = {}
        self._calls: dict[str, list[dict[str, Any]]] = {}

    def rehearse(self, story: str, script: dict[str, Any]) -> None:
        """Take the answers of a story's hooks."""
        self._scripts[story], self._calls[story] = script, []

    def take(self, story: str) -> list[dict[str, Any]]:
        """Return what the hooks of a story were asked since the last time."""
        calls, self._calls[story] = self._calls.get(story, []), []
        return calls

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one review."""
        story, name = request.match_info["story"], request.match_info["name"]
        asked = await request.read()
        try:
            review = json.loads(asked)
        except ValueError:
            review = {"unreadable": asked.decode(errors="replace")}
        script = self._scripts.get(story, {}).get(name, {"http": 404})
        calls = self._calls.setdefault(story, [])
        turn = sum(call["hook"] == name for call in calls)
        content = request.headers.get("Content-Type")
        calls.append({"hook": name, "query": request.query_string, "contentType": content, "review": review})
        if isinstance(script, list):
            script = script[min(turn, len(script) - 1)]
        elif "named" in script:
            script = script["named"].get(_asked_about(review).get("name"), {"http": 404})
        if script.get("delay"):
            await asyncio.sleep(script["delay"])
        if "filled" in script:
            return await _as_written(request, script, _filled(script["filled"], review))
        body = script["raw"] if "raw" in script else json.dumps(_answered(review, script))
        return web.Response(status=script.get("http", 200), text=body, content_type="application/json")


@asynccontextmanager
async def running() -> AsyncIterator[Hooks]:
    """Serve the hooks at a port of this machine until the block ends."""
    context, certificate = certificates.self_signed("127.0.0.1", None)
    made = Hooks(base64.b64encode(certificate).decode())
    application = web.Application()
    application.router.add_post("/{story}/{name}", made.answer)
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        made.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        yield made
    finally:
        await runner.cleanup()


def _asked_about(review: dict[str, Any]) -> dict[str, Any]:
    """Find the name, namespace and UID of the object that a review is about, be it for admission or a conversion."""
    request = review.get("request") or {}
    objects = request.get("objects") or [request.get("object")]
    found: dict[str, Any] = (objects[0] or {}).get("metadata") or {}
    return found


def _filled(text: str, review: dict[str, Any]) -> bytes:
    """Put into a text what the review says; what is not UTF-8 in it has the form of ``surrogateescape``."""
    request, about = review.get("request") or {}, _asked_about(review)
    objects = request.get("objects") or [{}]
    values = {
        "uid": request.get("uid"),
        "desired": request.get("desiredAPIVersion"),
        "objectKind": objects[0].get("kind"),
        "name": about.get("name"),
        "namespace": about.get("namespace"),
        "objectUID": about.get("uid"),
    }
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", str(value or ""))
    return text.encode(errors="surrogateescape")


async def _as_written(request: web.Request, script: dict[str, Any], body: bytes) -> web.StreamResponse:
    """Answer with a body as it is, of the content type ``type`` and with ``headers``, or with only a part of it."""
    kind = script.get("type", "application/json")
    headers = {**script.get("headers", {}), **({"Content-Type": kind} if kind else {})}
    if "cut" not in script:
        return web.Response(status=script.get("http", 200), body=body, headers=headers)
    response = web.StreamResponse(status=script.get("http", 200), headers=headers)
    response.content_length = len(body)
    if script["cut"]:
        await response.prepare(request)
        await response.write(body[: script["cut"]])
    if request.transport is not None:
        request.transport.abort()
    return response


def _answered(review: dict[str, Any], script: dict[str, Any]) -> dict[str, Any]:
    response = {"uid": (review.get("request") or {}).get("uid"), **(script.get("response") or {})}
    if "patch" in script:
        patch = base64.b64encode(json.dumps(script["patch"]).encode()).decode()
        response |= {"patchType": "JSONPatch", "patch": patch}
    found = {"apiVersion": review.get("apiVersion"), "kind": "AdmissionReview", "response": response}
    return {**found, **(script.get("review") or {})}
