"""Requests that take long, by somebody who may send them: small ones of others are answered meanwhile."""

from __future__ import annotations

import http.client
import json
import random
import ssl
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from drakit_client.credentials import kubeconfig
from drakit_kind.clusters.manifests import pod
from e2e.attacks.victim import Victim

Request = tuple[str, str, str, Any]
_MAPS = "/api/v1/namespaces/default/configmaps"
_PODS = "/api/v1/namespaces/default/pods"
_JSON, _YAML = "application/json", "application/yaml"
_OPERATIONS, _MERGE = "application/json-patch+json", "application/merge-patch+json"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
# What each attack took of the loop before was 3 s at least, on a machine that has nothing else to do. While a loop does
# nothing else, a single small GET waits: one that is slow is one too many.
_SLOW_SECONDS = 2.0


def _owned() -> Request:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": f"o{n}", "uid": f"u{n}"} for n in range(20_000)]
    return "POST", f"{_MAPS}?dryRun=All", _JSON, {"metadata": {"name": "owned", "ownerReferences": owners}}


def _managed() -> Request:
    entry = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    entries = [{**entry, "manager": f"m{n}", "fieldsV1": {"f:data": {f"f:{n}": {}}}} for n in range(15_000)]
    return "PUT", f"{_MAPS}/target", _JSON, {"metadata": {"name": "target", "managedFields": entries}}


def _moved() -> Request:
    move = {"op": "move", "from": "/x/150000", "path": "/x/0"}
    return (
        "PATCH",
        f"{_MAPS}/target",
        _OPERATIONS,
        [{"op": "add", "path": "/x", "value": [0] * 150_001}, *[move] * 9_999],
    )


def _flat() -> Request:
    lines = "".join(f"  k{n}: v\n" for n in range(240_000))
    return "POST", _MAPS, _YAML, "metadata: {name: flat}\ndata:\n" + lines


def _repeated() -> Request:
    return (
        "POST",
        f"{_MAPS}?dryRun=All",
        _JSON,
        '{"metadata":{"name":"r"},"data":{' + '"a":"b",' * 350_000 + '"c":"d"}}',
    )


def _containers() -> Request:
    containers = [{"name": f"c{n}", "image": "i"} for n in range(50_000)]
    return "POST", f"{_PODS}?dryRun=All", _JSON, {"metadata": {"name": "p"}, "spec": {"containers": containers}}


_REQUESTS = {
    "owner references": _owned,
    "managed fields": _managed,
    "moves in a list": _moved,
    "a flat YAML": _flat,
    "repeated keys": _repeated,
    "containers": _containers,
}


class Sender:
    """Sends requests of any body, one after the other."""

    def __init__(self, victim: Victim) -> None:
        access = kubeconfig.read(str(victim.cluster.kubeconfig))
        assert access is not None
        address = urlsplit(access.server)
        assert address.hostname is not None
        context = access.tls if isinstance(access.tls, ssl.SSLContext) else ssl.create_default_context()
        self._connection = http.client.HTTPSConnection(address.hostname, address.port, timeout=120, context=context)
        self._authorization = {"Authorization": f"Bearer {access.token}"}

    def send(self, request: Request) -> tuple[int, str]:
        """The code and the text of an answer."""
        method, path, media, content = request
        body = content if isinstance(content, str) else json.dumps(content)
        headers = {**self._authorization, "Content-Type": media, "Accept": "application/json"}
        self._connection.request(method, path, body.encode(), headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read().decode()

    def list(self, path: str, accept: str) -> int:
        """How many bytes a list has."""
        self._connection.request("GET", path, headers={**self._authorization, "Accept": accept})
        return len(self._connection.getresponse().read())


@pytest.fixture
def sender(victim: Victim) -> Iterator[Sender]:
    sender = Sender(victim)
    assert sender.send(("POST", _MAPS, _JSON, {"metadata": {"name": "target"}}))[0] == 201
    yield sender
    sender._connection.close()


@pytest.mark.parametrize("what", _REQUESTS)
def test_a_request_that_takes_long_keeps_nobody_waiting(victim: Victim, sender: Sender, what: str) -> None:
    request = _REQUESTS[what]()
    assert victim.slow_answers_while(lambda: sender.send(request), limit=_SLOW_SECONDS) == []


def test_a_long_list_keeps_nobody_waiting(victim: Victim, sender: Sender) -> None:
    for number in range(3000):
        sender.send(("POST", _MAPS, _JSON, {"metadata": {"name": f"m{number}"}}))

    def list_them() -> None:
        for accept in (_TABLE, "application/yaml"):
            assert sender.list(_MAPS, accept) > 100_000

    assert victim.slow_answers_while(list_them, limit=_SLOW_SECONDS) == []


def test_variables_that_double_are_not_started(victim: Victim) -> None:
    """Forty times the one before twice would be a terabyte."""
    variables = [{"name": "V0", "value": "x" * 1000}]
    variables += [{"name": f"V{n}", "value": f"$(V{n - 1})$(V{n - 1})"} for n in range(1, 40)]
    made = pod("doubled", restartPolicy="Never")
    made["spec"]["containers"][0]["env"] = variables
    victim.api.create(made)
    victim.api.wait_event("doubled", "Failed", containing="argument list too long")


def test_random_patches_of_large_objects(
    victim: Victim, sender: Sender, attack_random: random.Random, rounds: Callable[[], Iterator[int]]
) -> None:
    """Of whatever depth and size: refused or taken, and never the server's fault."""
    for _ in rounds():
        depth, width = attack_random.choice((1, 10, 300, 900, 9000)), attack_random.choice((1, 100, 100_000))
        value = '{"a":' * depth + json.dumps([attack_random.random()] * width) + "}" * depth
        path = attack_random.choice(("x", "data", "metadata"))
        media, content = attack_random.choice(
            (
                (_MERGE, f'{{"{path}": {value}}}'),
                (_OPERATIONS, f'[{{"op": "add", "path": "/{path}", "value": {value}}}]'),
                ("application/strategic-merge-patch+json", f'{{"{path}": {value}}}'),
                (_JSON, f'{{"metadata": {{"name": "target"}}, "{path}": {value}}}'),
            )
        )
        method = "PUT" if media == _JSON else "PATCH"
        code, text = sender.send((method, f"{_MAPS}/target?dryRun=All", media, content))
        assert code != 500, text[:500]
