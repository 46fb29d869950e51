"""Plays one story: sends its requests, waits where it waits, and collects where the answers differ."""

from __future__ import annotations

import asyncio
import functools
import io
import json
import re
import time
from typing import Any, NamedTuple
from urllib.parse import quote

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from tests.vectors import recordings
from tests.vectors.stories import answers, judging, places, texts
from tests.vectors.stories.hooks import Hooks

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
_REFUSED = 300
_PIECES_BYTES = 512 * 1024
# The code where a connection has ended, or the time has.
NO_ANSWER = 0
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


class Difference(NamedTuple):
    """Where a server answers otherwise."""

    story: str
    step: int
    parts: list[str]
    want: Any
    got: Any

    def __str__(self) -> str:
        shown = (json.dumps(value, sort_keys=True) for value in (self.want, self.got))
        return "{} step {}: {}\n  want {}\n  got  {}".format(self.story, self.step, ", ".join(self.parts), *shown)


@functools.cache
def families(file: str = "extensions/stories") -> dict[str, list[dict[str, Any]]]:
    """Read the stories of a file, by what stands before the colon in their names."""
    found: dict[str, list[dict[str, Any]]] = {}
    for story in map(json.loads, recordings.lines(file)):
        found.setdefault(story["name"].partition(":")[0], []).append(story)
    return found


class Told(NamedTuple):
    """What a server has answered to a step, and after how many seconds; None if the step was not reached."""

    answer: dict[str, Any] | None
    seconds: float


class Player:
    """Plays stories against the server of a session."""

    def __init__(self, session: aiohttp.ClientSession, token: str, hooks: Hooks, patience: float) -> None:
        """``patience`` is how many seconds a wait of a story may take."""
        self._session, self._token, self._hooks, self._patience = session, token, hooks, patience

    async def play(self, story: dict[str, Any]) -> list[Difference]:
        """Play a story to its end; it is cleaned up whatever came before."""
        run = _Run(story, self._session, self._token, self._hooks, self._patience)
        found: list[Difference] = []
        for index, step in enumerate(story["steps"]):
            if step.get("cleanup"):
                await run.request(step)
            elif not run.is_lost:
                found += await run.step(index, step)
        return found

    async def told(self, story: dict[str, Any], bound: float) -> list[Told]:
        """Play a story of which no answers are recorded; what is answered to each step within ``bound`` seconds.

        After a wait that fails, or a refusal where a step is ``vital``, there is only the cleaning up.
        """
        run = _Run(story, self._session, self._token, self._hooks, self._patience)
        return [
            Told(None, 0.0) if run.is_lost and not step.get("cleanup") else await run.tell(step, bound)
            for step in story["steps"]
        ]


class _Run:
    """One story under way, with the values that it has saved."""

    def __init__(
        self, story: dict[str, Any], session: aiohttp.ClientSession, token: str, hooks: Hooks, patience: float
    ) -> None:
        self._name, self._session, self._token, self._hooks = story["name"], session, token, hooks
        self._patience = patience
        self._key = self._name.replace(":", "-").replace("/", "-")
        self._hook = f"{hooks.url}/{self._key}"
        self._saved: dict[str, Any] = {}
        self._generated: list[str] = []
        # Whether the rest of the story makes no sense any more.
        self.is_lost = False
        if story.get("hooks"):
            hooks.rehearse(self._key, story["hooks"])

    async def step(self, index: int, step: dict[str, Any]) -> list[Difference]:
        """Do a step; what differs."""
        if "wait" in step:
            done, got = await self._wait(self._filled(step["wait"]))
            if not done:
                self.is_lost = True
            return [] if done else [Difference(self._name, index, ["wait"], step["wait"], got)]
        if step.get("sleep"):
            # Part of the story: something of the real server takes its time, such as the time of an entry.
            await asyncio.sleep(step["sleep"])
        got = self._asked(step["hookcalls"]) if "hookcalls" in step else await self.request(step)
        parts = judging.differences(step["response"], got)
        if "code" in parts and step.get("vital"):
            self.is_lost = True
        return [Difference(self._name, index, parts, step["response"], got)] if parts else []

    async def tell(self, step: dict[str, Any], bound: float) -> Told:
        """Do a step of which no answer is recorded; a wait has none."""
        began = time.monotonic()
        if "wait" in step:
            done, _ = await self._wait(self._filled(step["wait"]))
            self.is_lost = not done
            return Told(None, 0.0)
        try:
            async with asyncio.timeout(bound):
                answer = self._asked(step["hookcalls"]) if "hookcalls" in step else await self.request(step)
        except (aiohttp.ClientError, TimeoutError) as error:
            answer = {"code": NO_ANSWER, "reason": "", "message": repr(error)}
        if step.get("vital") and not NO_ANSWER < answer["code"] < _REFUSED:
            self.is_lost = True
        return Told(answer, time.monotonic() - began)

    async def request(self, step: dict[str, Any]) -> dict[str, Any]:
        """Send the request of a step; the answer as it would be recorded."""
        if "watch" in step:
            code, body, warnings = await self._watched(step)
            if code == 200:
                found = {"code": 200, "events": answers.events(body, step.get("keep", ()))}
                return self._scrubbed(found)
        else:
            code, body, warnings = await self._sent(step)
        if step.get("save"):
            self._saved[step["save"]] = body
        if step.get("generated"):
            self._generated.append(step["generated"])
        return self._scrubbed(answers.recorded(step, code, body, warnings))

    async def _sent(self, step: dict[str, Any]) -> tuple[int, Any, list[str]]:
        method, path = step.get("method", "GET"), self._filled(step["path"])
        data, headers = self._body(step), self._headers(step)
        if data is not None:
            headers.setdefault("Content-Type", "application/json")
        url = URL(str(self._session._base_url).rstrip("/") + path, encoded=True)
        skip = ("Content-Type",) if data is None or "Content-Type" not in headers else ()
        # A large body that is not read piece by piece would be warned of.
        sent = io.BytesIO(data) if data is not None and len(data) > _PIECES_BYTES else data
        async with self._session.request(method, url, data=sent, headers=headers, skip_auto_headers=skip) as response:
            raw = await response.read()
            warnings = answers.warned(response.headers.getall("Warning", []))
            return response.status, _parsed(raw), warnings

    def _body(self, step: dict[str, Any]) -> bytes | None:
        if step.get("raw") is not None:
            return str(self._filled(step["raw"])).encode(errors="surrogateescape")
        if step.get("body") is not None:
            return json.dumps(self._filled(step["body"])).encode()
        return b"" if step.get("method") in ("POST", "PUT", "PATCH") else None

    def _headers(self, step: dict[str, Any]) -> CIMultiDict[str]:
        headers = CIMultiDict(
            {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "User-Agent": "extvec/1.0"}
        )
        for name, value in (self._filled(step.get("headers")) or {}).items():
            headers.popall(name, None)
            for each in value if isinstance(value, list) else [value]:
                if each is not None:
                    headers.add(name, each)
        return headers

    async def _watched(self, step: dict[str, Any]) -> tuple[int, Any, list[str]]:
        wanted, events = step["watch"], list[Any]()
        url = URL(str(self._session._base_url).rstrip("/") + self._filled(step["path"]), encoded=True)
        async with self._session.get(url, headers=self._headers(step)) as response:
            if response.status != 200:
                return response.status, _parsed(await response.read()), []
            try:
                async with asyncio.timeout(wanted.get("timeout", 8)):
                    while len(events) < wanted["count"] and (line := await response.content.readline()):
                        events.append(json.loads(line))
            except TimeoutError:
                pass
        return 200, events, []

    async def _wait(self, wait: dict[str, Any]) -> tuple[bool, Any]:
        """Ask until what is waited for holds, as often as it has to."""
        end = time.monotonic() + max(wait.get("timeout", 0), self._patience)
        pause, times = _FIRST_PAUSE, 0
        while True:
            code, body, warnings = await self._sent(wait)
            times = times + 1 if _holds(wait, code, body, warnings) else 0
            if times >= wait.get("times", 1):
                if wait.get("save"):
                    self._saved[wait["save"]] = body
                return True, None
            if time.monotonic() > end:
                return False, {"code": code, "object": body}
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 1.4)

    def _asked(self, form: str) -> dict[str, Any]:
        """Build what would be recorded of the calls of the story's hooks."""
        calls: Any = [{**call, "review": answers.plain(call["review"])} for call in self._hooks.take(self._key)]
        if form == "names":
            calls = [call["hook"] for call in calls]
        elif form == "sorted":
            calls.sort(key=lambda call: (call["hook"], json.dumps(call, sort_keys=True)))
        elif form == "drop":
            calls = None
        return self._scrubbed({"code": 200, "object": {"calls": calls}})

    def _filled(self, value: Any) -> Any:
        return texts.mapped(value, lambda text: _PLACEHOLDER.sub(self._value, text))

    def _value(self, match: re.Match[str]) -> str:
        """Find what stands for a placeholder: a saved value, or where the hooks are."""
        known = {"hook": self._hook, "hookca": self._hooks.ca}
        if match[1] in known:
            return known[match[1]]
        name, _, path = match[1].removesuffix("|q").partition(".")
        found = places.at(self._saved.get(name), path) if path else self._saved.get(name)
        text = "" if found is None else str(found)
        return quote(text, safe="") if match[1].endswith("|q") else text

    def _scrubbed(self, answer: dict[str, Any]) -> dict[str, Any]:
        host = self._hooks.url.partition("://")[2]

        def change(text: str) -> str:
            text = text.replace(self._hook, "${hook}").replace(self._hooks.ca, "${hookca}").replace(host, "<hookhost>")
            return texts.scrubbed(text, self._generated)

        found: dict[str, Any] = texts.mapped(answer, change)
        return found


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw) if raw else None
    except ValueError:
        return raw.decode(errors="replace")


def _holds(wait: dict[str, Any], code: int, body: Any, warnings: list[str]) -> bool:
    right = code == wait["code"] if "code" in wait else code != wait["notcode"] if "notcode" in wait else code < 300
    if "warning" in wait:
        right = right and any(wait["warning"] in warning for warning in warnings)
    if "nowarning" in wait:
        right = right and not any(wait["nowarning"] in warning for warning in warnings)
    return right and all(_matches(match, body) for match in wait.get("match", ()))


def _matches(match: dict[str, Any], body: Any) -> bool:
    found = places.picked(body, match["pick"]) if match.get("pick") else places.at(body, match["path"])
    if "value" in match:
        return bool(found == match["value"])
    text = json.dumps(found)
    if "contains" in match:
        return match["contains"] in text
    if "lacks" in match:
        return match["lacks"] not in text
    return found is None if match.get("absent") else found is not None
