"""A suite hears of objects that nothing acts on: pytest shows the warning, also of tests that pass."""

from __future__ import annotations

import asyncio
import json
import warnings
from pathlib import Path

import pytest

from drakit_client.resources import Resource
from drakit_embedded.apiserver import Server, ServerConfig
from drakit_kind.clusters.api import Api, IdleObjectWarning

_JOBS = Resource("batch", "v1", "jobs", "Job")
_ENDPOINTS = Resource("", "v1", "endpoints", "Endpoints")
_TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
_JOB = {"metadata": {"name": "j"}, "spec": {"template": _TEMPLATE}}


def _kubeconfig(path: Path, server: Server) -> Path:
    entry = {"clusters": [{"name": "a", "cluster": {"server": server.url}}], "current-context": "a"}
    user = {"users": [{"name": "a", "user": {"token": server.token}}]}
    context = {"contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]}
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **entry, **user, **context}))
    return path


def _warned(kubeconfig: Path) -> None:
    with Api(kubeconfig) as api:
        with pytest.warns(
            IdleObjectWarning, match="the Job is stored and nothing acts on it: no pods are made"
        ) as told:
            api.create(_JOB, resource=_JOBS)
        assert Path(told[0].filename) == Path(__file__)
        with pytest.warns(IdleObjectWarning, match="the Job is stored"):
            api.patch(_JOBS, "j", {"metadata": {"labels": {"a": "b"}}})


def _silent(kubeconfig: Path) -> None:
    with warnings.catch_warnings(), Api(kubeconfig) as api:
        warnings.simplefilter("error")
        api.create(_JOB, resource=_JOBS)
        # Of this one, any Kubernetes API server warns.
        api.create({"metadata": {"name": "e"}}, resource=_ENDPOINTS)


async def test_who_writes_an_idle_object_is_warned_where_the_test_writes_it(tmp_path: Path) -> None:
    async with Server(ServerConfig(beside=frozenset({"controllers"}))) as server:
        await asyncio.to_thread(_warned, _kubeconfig(tmp_path / "config", server))


async def test_nobody_is_warned_of_what_other_controllers_act_on(tmp_path: Path) -> None:
    async with Server(ServerConfig()) as server:
        await asyncio.to_thread(_silent, _kubeconfig(tmp_path / "config", server))
