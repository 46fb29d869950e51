"""Who writes an object that nothing in the cluster acts on is told so."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_embedded.apiserver.scheme import stored_only
from drakit_embedded.apiserver.scheme.kinds import all_kinds
from drakit_embedded.apiserver.scheme.stored_only import ACTED_ON, STORED_ONLY, Part

_TOKEN = "of-the-tests"
_PROGRAMS = {
    "kube-apiserver": "apiserver",
    "kube-controller-manager": "controllers",
    "kube-scheduler": "scheduler",
    "kubelet": "kubelet",
}
_ALL: frozenset[Part] = frozenset({"controllers", "scheduler", "kubelet"})
_READ_MORE = 'docs/clusters.md, "Stored and nothing more"'
_JOB = (
    f"drakit: the Job is stored and nothing acts on it: no pods are made for it. With --real controllers it works; "
    f"{_READ_MORE}"
)
_BUDGET = (
    "drakit: the PodDisruptionBudget is stored and nothing acts on it: evictions are granted without asking it. "
    f"With --real apiserver,controllers it works; {_READ_MORE}"
)
_JOBS = "/apis/batch/v1/namespaces/default/jobs"
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_SETS = "/apis/apps/v1/namespaces/default/statefulsets"


def _job() -> Object:
    containers = [{"name": "c", "image": "i"}]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": {"containers": containers, "restartPolicy": "Never"}}},
    }


async def _sent(
    session: aiohttp.ClientSession, method: str, path: str, body: Any, kind: str = "application/json"
) -> tuple[int, list[str]]:
    """The code of an answer, and what it warns of."""
    headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": kind}
    async with session.request(method, path, data=json.dumps(body), headers=headers) as response:
        await response.read()
        return response.status, [
            json.loads(text.partition(" - ")[2]) for text in response.headers.getall("Warning", [])
        ]


def _config(beside: Collection[Part]) -> ServerConfig:
    return ServerConfig(token=_TOKEN, beside=frozenset(beside))


def test_of_every_kind_it_is_decided_whether_anything_acts_on_it() -> None:
    acted_on = {(group, plural) for group, plurals in ACTED_ON.items() for plural in plurals}
    assert acted_on & STORED_ONLY.keys() == set()
    stored = {(kind.group, kind.plural) for kind in all_kinds() if not kind.is_review and not kind.is_read_only}
    assert acted_on | STORED_ONLY.keys() == stored


def test_the_guide_names_the_same_kinds() -> None:
    guide = (Path(__file__).parents[4] / "docs" / "clusters.md").read_text()
    rows = re.findall(r"^\| (kube-apiserver|kube-[a-z-]+|kubelet)[^|]* \| ([A-Za-z, ]+) \|$", guide, re.MULTILINE)
    told = {(_PROGRAMS[program], kind) for program, kinds in rows for kind in kinds.split(", ")}
    kinds = {(kind.group, kind.plural): kind.kind for kind in all_kinds()}
    assert told == {(unused.part, kinds[key]) for key, unused in STORED_ONLY.items()}


@pytest.mark.parametrize("kind", [kind for kind in all_kinds() if (kind.group, kind.plural) in STORED_ONLY])
def test_a_warning_is_one_line_that_clients_show_whole(kind: Any) -> None:
    text = stored_only.warning(kind, {"apiserver", *_ALL})
    assert text.startswith(f"drakit: the {kind.kind} is stored and nothing acts on it: ")
    assert len(text) <= 256
    assert "\n" not in text


@pytest.mark.parametrize(
    ("beside", "expected"),
    [(_ALL, [_JOB]), ({"controllers"}, [_JOB]), ({"scheduler", "kubelet"}, []), ((), [])],
    ids=["all ours", "our controllers", "others' controllers", "nobody knows"],
)
async def test_a_job_is_warned_of_where_the_controllers_are_ours(beside: Collection[Part], expected: list[str]) -> None:
    async with Server(_config(beside)) as server, aiohttp.ClientSession(server.url) as session:
        assert await _sent(session, "POST", _JOBS, _job()) == (201, expected)


@pytest.mark.parametrize("beside", [_ALL, ()], ids=["all ours", "others' controllers"])
async def test_what_the_api_server_leaves_out_is_warned_of_whoever_the_controllers_are(
    beside: Collection[Part],
) -> None:
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}}
    async with Server(_config(beside)) as server, aiohttp.ClientSession(server.url) as session:
        assert await _sent(session, "POST", _BUDGETS, budget) == (201, [_BUDGET])


async def test_every_way_to_write_is_warned_of_and_no_other() -> None:
    merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
    async with Server(_config(_ALL)) as server, aiohttp.ClientSession(server.url) as session:
        for method, path, body, kind in (
            ("POST", f"{_JOBS}?dryRun=All", _job(), "application/json"),
            ("PATCH", f"{_JOBS}/applied?fieldManager=me", {**_job(), "metadata": {"name": "applied"}}, apply),
            ("POST", _JOBS, _job(), "application/json"),
            ("PATCH", f"{_JOBS}/j?dryRun=All", {"metadata": {"labels": {"a": "b"}}}, merge),
            ("PATCH", f"{_JOBS}/j", {"metadata": {"labels": {"a": "b"}}}, merge),
            ("PATCH", f"{_JOBS}/j?fieldManager=me&force=true", _job(), apply),
        ):
            code, warnings = await _sent(session, method, path, body, kind)
            assert (code in (200, 201), warnings) == (True, [_JOB]), (method, path)
        for method, path, body, kind in (
            ("GET", f"{_JOBS}/j", {}, "application/json"),
            ("GET", _JOBS, {}, "application/json"),
            ("PATCH", f"{_JOBS}/j/status", {"status": {"active": 1}}, merge),
            ("DELETE", f"{_JOBS}/j", {}, "application/json"),
        ):
            assert await _sent(session, method, path, body, kind) == (200, []), (method, path)


async def test_a_write_that_is_refused_is_not_warned_of() -> None:
    async with Server(_config(_ALL)) as server, aiohttp.ClientSession(server.url) as session:
        assert await _sent(session, "POST", _JOBS, {**_job(), "metadata": {"name": "No"}}) == (422, [])


async def test_a_scale_is_warned_of_as_its_object_is() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "serviceName": "s", "template": template}
    async with Server(_config(_ALL)) as server, aiohttp.ClientSession(server.url) as session:
        _, created = await _sent(session, "POST", _SETS, {"metadata": {"name": "s"}, "spec": spec})
        patch = {"spec": {"replicas": 2}}
        scaled = await _sent(session, "PATCH", f"{_SETS}/s/scale", patch, "application/merge-patch+json")
    assert len(created) == 1
    assert scaled == (200, created)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/apis/apiregistration.k8s.io/v1/apiservices", "takes no APIServices: it aggregates no other API server"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_a_kind_that_only_a_real_server_takes_says_how_to_get_one(path: str, what: str, method: str) -> None:
    async with Server(_config(_ALL)) as server, aiohttp.ClientSession(server.url) as session:
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": "application/apply-patch+yaml"}
        if method == "PATCH":
            path += "/x?fieldManager=me"
        else:
            headers["Content-Type"] = "application/json"
        async with session.request(method, path, data="{}", headers=headers) as response:
            refused = await response.json()
    assert (refused["code"], refused["reason"]) == (405, "MethodNotAllowed")
    assert refused["message"] == (
        f"drakit's embedded API server {what}. A cluster with Kubernetes' own kube-apiserver does: `drakit cluster up "
        "--real apiserver,controllers`, or all of Kubernetes with `--cluster binaries`"
    )
