"""What holds for every kind is answered as kube-apiserver 1.37.1 answers it.

``vectors/api/http.jsonl.gz`` has the real server's answers to odd paths, options of lists and watches, selectors, media
types and bodies. They all leave things as they are: nothing is written, or with ``dryRun``.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
from yarl import URL

from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors.exchanges import Vector, recorded

Object = dict[str, Any]

# What the recording server held, beside what every server has.
NAMESPACE = "/api/v1/namespaces/dd"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/dd/resourceclaims"
CONTAINERS = [{"name": "c", "image": "i"}]
OLDER = {f"resource.k8s.io/{version}": "true" for version in ("v1alpha3", "v1beta1", "v1beta2")}
# Whatever differs from run to run.
NOT_COMPARED = {
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "continue",
    "remainingItemCount",
    "generation",
}


def _objects() -> list[tuple[str, Object]]:
    objects: list[tuple[str, Object]] = [
        ("/api/v1/namespaces", {"metadata": {"name": "dd"}}),
        (f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "default"}}),
        (f"{NAMESPACE}/configmaps", {"metadata": {"name": "kube-root-ca.crt"}}),
    ]
    for number in range(7):
        labels = {"app": "web" if number % 2 else "db", "tier": str(number), "e": ""}
        config_map = {"metadata": {"name": f"c{number}", "labels": labels}, "data": {"k": str(number)}}
        objects.append((f"{NAMESPACE}/configmaps", config_map))
    objects.append(("/apis/resource.k8s.io/v1/deviceclasses", {"metadata": {"name": "cls"}, "spec": {}}))
    for number in range(2):
        requests = [{"name": "r", "exactly": {"deviceClassName": "cls"}}]
        metadata = {"name": f"k{number}", "labels": {"n": str(number)}}
        objects.append((CLAIMS, {"metadata": metadata, "spec": {"devices": {"requests": requests}}}))
    pod = {"metadata": {"name": "p0", "labels": {"app": "web"}}, "spec": {"containers": CONTAINERS}}
    objects.append((f"{NAMESPACE}/pods", pod))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    objects.append(("/apis/apps/v1/namespaces/dd/deployments", {"metadata": {"name": "dep"}, "spec": spec}))
    return objects


def _compared(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _compared(item) for key, item in value.items() if key not in NOT_COMPARED}
    return [_compared(item) for item in value] if isinstance(value, list) else value


async def _answer(session: aiohttp.ClientSession, url: str, line: Vector) -> Object:
    body = line["body"]
    request = session.request(
        line["method"],
        URL(url + line["path"], encoded=True),
        headers=line["headers"],
        data=None if body is None else body.encode(),
        skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
    )
    async with request as response:
        text = (await response.read()).decode()
        try:
            read = json.loads(text)
        except ValueError:
            read = text
        return {"code": response.status, "contentType": response.headers.get("Content-Type"), "body": _compared(read)}


async def test_recorded_requests_are_answered_as_the_real_server_did() -> None:
    config = ServerConfig(token="t", runtime_config=OLDER)
    headers = {"Authorization": "Bearer t"}
    different: list[tuple[Vector, Object]] = []
    async with Server(config) as server, aiohttp.ClientSession(headers=headers) as session:
        for path, item in _objects():
            async with session.post(f"{server.url}{path}", json=item) as created:
                assert created.status == 201, await created.text()
        waiting = iter(recorded("http"))

        async def ask() -> None:
            for line in waiting:
                answer = await _answer(session, server.url, line)
                if answer != line["response"]:
                    different.append((line, answer))

        await asyncio.gather(*(ask() for _ in range(30)))
    shown = [f"{line['name']}: {line['method']} {line['path']}\n  {line['response']}\n  {a}" for line, a in different]
    assert not different, f"{len(different)} differ\n" + "\n".join(shown[:10])
