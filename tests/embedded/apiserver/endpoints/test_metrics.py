"""What the server says about its work, in Prometheus' format and under Kubernetes' names."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import aiohttp
import pytest

from drakit_embedded.apiserver import Server, ServerConfig

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SAMPLES = {
    "a list": ("GET", CONFIG_MAPS, None, 'code="200"', 'scope="namespace"', 'verb="LIST"'),
    "a list of all": ("GET", "/api/v1/configmaps", None, 'code="200"', 'scope="cluster"', 'verb="LIST"'),
    "a refusal": ("GET", f"{CONFIG_MAPS}/nope", None, 'code="404"', 'scope="resource"', 'verb="GET"'),
    "a write": ("POST", CONFIG_MAPS, '{"metadata":{"name":"a"}}', 'code="201"', 'scope="resource"', 'verb="POST"'),
    "a dry run": (
        *("POST", f"{CONFIG_MAPS}?dryRun=All", '{"metadata":{"name":"b"}}'),
        *('code="201"', 'dry_run="All"', 'verb="POST"'),
    ),
    "a dry run that is none": (
        *("POST", f"{CONFIG_MAPS}?dryRun=x%22y", '{"metadata":{"name":"b"}}'),
        *('code="422"', 'dry_run="invalid"', 'verb="POST"'),
    ),
    "a watch": ("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1", None, 'code="200"', 'verb="WATCH"', 'version="v1"'),
    "what is not allowed": ("OPTIONS", CONFIG_MAPS, None, 'code="405"', 'verb="OPTIONS"', 'group=""'),
    "a subresource that there is not": (
        *("GET", f"{CONFIG_MAPS}/a/anything", None),
        *('code="404"', 'subresource=""', 'verb="GET"'),
    ),
    "a subresource": (
        *("GET", "/apis/apps/v1/namespaces/default/deployments/a/scale", None),
        *('code="404"', 'subresource="scale"', 'group="apps"'),
    ),
}


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": "Bearer t"}
    async with Server(ServerConfig(token="t")) as server, aiohttp.ClientSession(server.url, headers=headers) as client:
        yield client


async def lines(session: aiohttp.ClientSession, start: str = "") -> list[str]:
    """Those that begin so, with whole numbers in their shortest form."""
    async with session.get("/metrics") as response:
        assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return [line.removesuffix(".0") for line in (await response.text()).splitlines() if line.startswith(start)]


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES)
async def test_requests_are_counted(session: aiohttp.ClientSession, sample: str) -> None:
    method, path, body, *labels = SAMPLES[sample]
    for _ in range(2 if method == "GET" else 1):
        async with session.request(method, path, data=body, headers={"Content-Type": "application/json"}) as response:
            await response.read()
    (line,) = await lines(session, "apiserver_request_total")
    assert all(label in line for label in labels), line
    assert line.endswith(" 2" if method == "GET" else " 1")


async def test_durations_add_up(session: aiohttp.ClientSession) -> None:
    for path in (CONFIG_MAPS, f"{CONFIG_MAPS}?resourceVersion=x", CONFIG_MAPS):
        async with session.get(path) as response:
            await response.read()
    *buckets, last = [
        int(line.rpartition(" ")[2]) for line in await lines(session, "apiserver_request_duration_seconds_b")
    ]
    (count,) = await lines(session, "apiserver_request_duration_seconds_count")
    assert buckets == sorted(buckets)
    assert (last, int(count.rpartition(" ")[2])) == (3, 3)


async def test_open_watches_and_their_events_are_counted(session: aiohttp.ClientSession) -> None:
    async with session.get(f"{CONFIG_MAPS}?watch=1") as watch:
        async with session.post(CONFIG_MAPS, json={"metadata": {"name": "a"}}) as response:
            assert response.status == 201
        assert b'"ADDED"' in await asyncio.wait_for(watch.content.readline(), 10)
        (running,) = await lines(session, "apiserver_longrunning_requests")
        (sent,) = await lines(session, "apiserver_watch_events_total")
    assert 'resource="configmaps",scope="namespace",subresource="",verb="WATCH"' in running
    assert (running[-2:], sent) == (
        " 1",
        'apiserver_watch_events_total{group="",resource="configmaps",version="v1"} 1',
    )


async def test_a_watch_that_its_client_ends_was_no_failure(session: aiohttp.ClientSession) -> None:
    async with session.get(f"{CONFIG_MAPS}?watch=1"):
        pass
    async with asyncio.timeout(10):
        while not (found := await lines(session, "apiserver_request_total")):
            pass
    assert [('code="200"' in line, 'verb="WATCH"' in line) for line in found] == [(True, True)]


async def test_what_is_stored_and_switched_on_is_told(session: aiohttp.ClientSession) -> None:
    text = await lines(session)
    assert 'apiserver_resource_objects{group="",resource="namespaces"} 4' in text
    assert 'kubernetes_feature_enabled{name="DRAConsumableCapacity",stage="BETA"} 1' in text
    assert 'kubernetes_feature_enabled{name="DRAAdminAccess",stage=""} 1' in text
    assert any(line.startswith("kubernetes_build_info{") and 'minor="37"' in line for line in text)
    assert {line.split(" ")[2] for line in text if line.startswith("# TYPE process_")} >= {
        "process_resident_memory_bytes",
        "process_open_fds",
    }


async def test_every_family_has_help_and_type_before_its_samples(session: aiohttp.ClientSession) -> None:
    known: set[str] = set()
    for line in await lines(session):
        name = line.split(" ")[2] if line.startswith("#") else line.partition("{")[0].partition(" ")[0]
        if line.startswith("# TYPE"):
            known.add(name)
        elif not line.startswith("#"):
            assert name in known or name.rpartition("_")[0] in known


@pytest.mark.slow
def test_the_library_is_not_loaded_before_somebody_asks() -> None:
    code = "import sys, drakit_embedded.apiserver.server; sys.exit('prometheus_client' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
