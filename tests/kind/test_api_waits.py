"""Bounds of waits are stretched by the cluster's patience, also where one bound is for several waits.

Waits go on while an API server is restarted.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drakit_client.connection import Connection
from drakit_client.errors import ApiError, ConfigurationError, NotFound
from drakit_client.resources import EVENTS, PODS
from drakit_kind.clusters.api import Api, WaitTimeout

PATIENCE = 4.0
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {}}]
current-context: a
"""
Waits = Callable[[Api], object]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    with Api(tmp_path / "kubeconfig", patience=PATIENCE) as api:
        yield api


@pytest.mark.parametrize(
    "several",
    [
        pytest.param(lambda api: api.wait_gone(PODS, ["a", "b", "c"], timeout=30), id="wait_gone"),
        pytest.param(lambda api: api.wait_running("a", "b", "c", timeout=30), id="wait_running"),
    ],
)
def test_waits_one_after_the_other_have_the_patience_together(
    monkeypatch: pytest.MonkeyPatch, api: Api, several: Waits
) -> None:
    clock = itertools.count(step=50)  # seconds that each wait takes
    bounds: list[float] = []

    def wait(self: Api, *args: Any, timeout: float, **options: Any) -> dict[str, Any]:
        bounds.append(timeout * PATIENCE)
        return {}

    with monkeypatch.context() as patch:
        patch.setattr(Api, "_wait", wait)
        patch.setattr("drakit_kind.clusters.api.time.monotonic", lambda: next(clock))
        several(api)
    assert bounds == pytest.approx([30 * PATIENCE - 50, 30 * PATIENCE - 100, 0.1])


def test_an_environment_is_waited_for(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    logs = iter(["", "# nothing yet\n", "A=1\nB=x=y\n"])
    monkeypatch.setattr(Api, "log", lambda *_: next(logs))
    assert api.environment("pod") == {"A": "1", "B": "x=y"}


def test_a_pod_that_prints_no_environment_is_named(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    monkeypatch.setattr(Api, "log", lambda *_: "hello\n")
    monkeypatch.setattr("drakit_kind.clusters.api._LOG_SECONDS", 0.05)
    with pytest.raises(WaitTimeout, match=r"Pod quiet has printed no environment; its log: \['hello'\]"):
        api.environment("quiet")


EVENT = {"metadata": {"name": "a", "namespace": "default", "resourceVersion": "1"}, "reason": "R", "message": "said"}


@pytest.mark.parametrize(
    "wait",
    [
        pytest.param(lambda api: api.wait(EVENTS, "a"), id="wait"),
        pytest.param(lambda api: api.wait_all(EVENTS, bool), id="wait_all"),
        pytest.param(lambda api: api.wait_event("pod", "R", containing="sa"), id="wait_event"),
    ],
)
@pytest.mark.parametrize(
    "away",
    [
        aiohttp.ServerDisconnectedError(),
        aiohttp.ClientPayloadError(),
        ConnectionRefusedError(),
        TimeoutError(),
        ApiError(503, {}),
        ApiError(429, {}),
    ],
    ids=repr,
)
def test_waits_go_on_while_the_api_server_is_away(
    monkeypatch: pytest.MonkeyPatch, api: Api, away: Exception, wait: Waits
) -> None:
    answers = iter([away, {"metadata": {"resourceVersion": "1"}, "items": [EVENT]}])

    async def listed(*_: Any, **__: Any) -> bytes:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return json.dumps(answer).encode()

    monkeypatch.setattr(Connection, "request", listed)
    assert wait(api) in (EVENT, [{"kind": "Event", "apiVersion": "v1", **EVENT}], "said")


@pytest.mark.parametrize(
    "wait",
    [
        pytest.param(lambda api: api.wait(EVENTS, "a"), id="wait"),
        pytest.param(lambda api: api.wait_all(EVENTS, bool), id="wait_all"),
        pytest.param(lambda api: api.wait_event("pod", "R"), id="wait_event"),
    ],
)
@pytest.mark.parametrize("refusal", [NotFound(404, {}), ApiError(403, {"message": "forbidden"})], ids=repr)
def test_what_the_api_server_refuses_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, api: Api, refusal: ApiError, wait: Waits
) -> None:
    async def listed(*_: Any, **__: Any) -> bytes:
        raise refusal

    monkeypatch.setattr(Connection, "request", listed)
    with pytest.raises(ApiError) as told:
        wait(api)
    assert told.value is refusal


@pytest.mark.parametrize(
    ("wait", "says"),
    [
        pytest.param(
            lambda api: api.wait(PODS, "a", timeout=0.05), "Pod a was not there after 0 s; its state", id="wait"
        ),
        pytest.param(
            lambda api: api.wait_event("a", "R", timeout=0.05), "no event R containing '' about a", id="event"
        ),
    ],
)
@pytest.mark.parametrize(
    "problem", [ConnectionRefusedError("refused"), ApiError(403, {"message": "forbidden"})], ids=repr
)
def test_what_did_not_happen_is_told_also_if_events_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, api: Api, problem: Exception, wait: Waits, says: str
) -> None:
    async def listed(*_: Any, **__: Any) -> bytes:
        return b'{"metadata": {"resourceVersion": "1"}, "items": []}'

    def events(*_: Any, **__: Any) -> Any:
        raise problem

    monkeypatch.setattr(Connection, "request", listed)
    monkeypatch.setattr(Api, "events", events)
    with pytest.raises(WaitTimeout) as told:
        wait(api)
    assert str(told.value).startswith(says)
    assert str(told.value).endswith(f"this cannot be told: {type(problem).__name__}: {problem}")


def test_an_event_that_does_not_come_is_told_with_those_that_did(monkeypatch: pytest.MonkeyPatch, api: Api) -> None:
    async def listed(*_: Any, **__: Any) -> bytes:
        return json.dumps({"metadata": {"resourceVersion": "1"}, "items": [EVENT]}).encode()

    monkeypatch.setattr(Connection, "request", listed)
    with pytest.raises(WaitTimeout, match=r"no event R containing 'else' about pod after 0 s; events:\nR: said"):
        api.wait_event("pod", "R", containing="else", timeout=0.05)


def test_an_api_without_a_kubeconfig_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with pytest.raises(ConfigurationError):
        Api(tmp_path / "none")
    assert set(threading.enumerate()) <= before


def test_a_wait_whose_caller_is_interrupted_ends_with_it(api: Api) -> None:
    """Else it would be there when the loop is closed, and say so in everybody's terminal."""
    ended = threading.Event()

    async def waits() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            ended.set()

    with pytest.raises(TimeoutError):  # as Ctrl-C, it comes from the future's result()
        api._run(waits(), timeout=0.01)
    assert ended.wait(5)
