"""Logs of containers, as far as ``kubectl logs`` can ask for them.

What a simulated container prints, and when, is in ``containers`` and ``commands``.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import UTC, datetime, timedelta

from aiohttp import web

from drakit_api.core.pod_claims import is_terminal
from drakit_embedded.kubelet.containers import Container
from drakit_embedded.kubelet.pod_run import PodRun

_TRUE = ("true", "1")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # only a line feed ends a line, as in files of the container runtime


async def answer(request: web.BaseRequest, run: PodRun, name: str, stopping: asyncio.Event) -> web.StreamResponse:
    """Answer with the log of a container, and follow it if that is asked for, until it ends or ``stopping`` is set."""
    try:
        container = _container(run, name, request.query.get("previous") in _TRUE)
        shown = container.printed()
        text = _select(container, shown, request.query)
    except ValueError as error:
        return web.Response(status=400, text=str(error))
    response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
    await response.prepare(request)
    await response.write(text)
    if request.query.get("follow") in _TRUE:
        stamped = request.query.get("timestamps") in _TRUE
        async for news in following(container, len(shown), stopping):
            if text := _text(_lines(news), stamped=stamped):
                await response.write(text)
    await response.write_eof()
    return response


async def following(
    container: Container, shown: int, stopping: asyncio.Event
) -> AsyncIterator[list[tuple[datetime, str]]]:
    """Yield what is printed after the first ``shown`` pieces, until the container ends or ``stopping`` is set."""
    waits = [asyncio.create_task(container.ended.wait()), asyncio.create_task(stopping.wait())]
    try:
        ended = False
        while not ended:
            pause = container.next_print()
            done, _ = await asyncio.wait(waits, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            ended = bool(done)
            news = container.printed()[shown:]
            shown += len(news)
            yield news
    finally:
        for wait in waits:
            wait.cancel()


def _container(run: PodRun, name: str, previous: bool) -> Container:
    """Find the container run whose log is meant.

    Raises:
        ValueError: if there is none, in the words of kubelet_pods.go (validateContainerLogStatus).
    """
    container, where = run.containers.get(name), f'container "{name}" in pod "{run.pod["metadata"]["name"]}"'
    if container is not None:
        if previous and container.last is None:
            raise ValueError(f"previous terminated {where} not found")
        return container
    if is_terminal(run.pod):
        raise ValueError(f"{where} is not available")
    if previous:
        raise ValueError(f"previous terminated {where} not found")
    reason, _ = run.waiting.get(name, ("ContainerCreating", ""))
    raise ValueError(f"{where} is waiting to start: {reason}")


def _select(container: Container, printed: list[tuple[datetime, str]], query: Mapping[str, str]) -> bytes:
    """Select the lines that were asked for (PodLogOptions)."""
    since = _since(query)
    lines = [(when, line) for when, line in _lines(printed) if when >= since]
    if (tail := query.get("tailLines")) is not None:
        if not tail.isdecimal():
            raise ValueError(f'tailLines: "{tail}" is not a number of lines')
        lines = lines[-int(tail) :] if int(tail) else []
    text = _text(lines, stamped=query.get("timestamps") in _TRUE)
    limit = query.get("limitBytes")
    return text[: int(limit)] if limit is not None and limit.isdecimal() else text


def _lines(printed: Iterable[tuple[datetime, str]]) -> list[tuple[datetime, str]]:
    """Split into lines with their ends, each with the time of its beginning; the last one may have no end."""
    lines: list[tuple[datetime, str]] = []
    for when, text in printed:
        for line in _LINE.findall(text):
            if lines and not lines[-1][1].endswith("\n"):
                lines[-1] = lines[-1][0], lines[-1][1] + line
            else:
                lines.append((when, line))
    return lines


def _text(lines: list[tuple[datetime, str]], *, stamped: bool) -> bytes:
    stamps = (f"{when.strftime('%Y-%m-%dT%H:%M:%S.%fZ')} " if stamped else "" for when, _ in lines)
    return "".join(stamp + line for stamp, (_, line) in zip(stamps, lines, strict=True)).encode()


def _since(query: Mapping[str, str]) -> datetime:
    """Parse the time before which lines are left out."""
    seconds, moment = query.get("sinceSeconds"), query.get("sinceTime")
    if seconds is not None:
        if not seconds.isdecimal():
            raise ValueError(f'sinceSeconds: "{seconds}" is not a number of seconds')
        return datetime.now(UTC) - timedelta(seconds=min(int(seconds), 10**9))
    if moment is None:
        return datetime.min.replace(tzinfo=UTC)
    try:
        since = datetime.fromisoformat(moment)
    except ValueError:
        raise ValueError(f'sinceTime: "{moment}" is not a time') from None
    return since if since.tzinfo is not None else since.replace(tzinfo=UTC)
