"""Pods and workloads are accepted and refused as a real kube-apiserver 1.37.1 did, in the same words."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest

from drakit_api.features import FeatureGates
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.catalog import Catalog
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Store
from drakit_embedded.apiserver.writing import writes
from drakit_embedded.apiserver.writing.intent import Intent
from tests.vectors.exchanges import Vector, recorded

CLAIMING_PODS = [vector for vector in recorded("create") if vector["resource"] == "pods"]


@cache
def server() -> Api:
    store = Store()
    gates = FeatureGates()
    api = Api(store, Catalog(store, gates, {}), gates)
    store.load()
    namespaces = api.catalog.find("", "v1", "namespaces")
    assert namespaces is not None
    writes.create(api, namespaces, None, {"metadata": {"name": "default"}})
    return api


def replay(vector: Vector) -> tuple[int, Any]:
    """Code, and the causes or the message."""
    api = server()
    served = api.catalog.find("" if vector["resource"] == "pods" else "apps", "v1", vector["resource"])
    assert served is not None
    try:
        obj = writes.incoming(api, served, vector["object"], "default", validation="Strict", warnings=[])
        writes.create(api, served, "default", obj, Intent(dry_run=True))
    except StatusError as error:
        causes = (error.details or {}).get("causes")
        return error.code, error.message if causes is None else causes_of(causes)
    return 201, None


def causes_of(causes: list[dict[str, str]]) -> Any:
    return Counter((cause["field"], cause["reason"], cause["message"]) for cause in causes)


@pytest.mark.parametrize("vector", [*CLAIMING_PODS, *recorded("workloads")], ids=lambda vector: vector["name"])
def test_answers_as_kube_apiserver(vector: Vector) -> None:
    response = vector["response"]
    expected = causes_of(response["causes"]) if "causes" in response else response.get("message")
    assert replay(vector) == (response["code"], expected)
