"""Ten thousand requests that nobody should send: refused or taken, but never the server's fault, and without a trace.

Bodies, paths, selectors, patches and headers are random, of pieces that mean something to the server, so that they get
far. Which ones is fixed by a seed; a failure names its request.
"""

from __future__ import annotations

import json
import random
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from yarl import URL

from drakit_embedded.apiserver import Server, ServerConfig
from tests.vectors.exchanges import Vector
from tests.vectors.record.apiserver.changes import bases
from tests.vectors.record.apiserver.mutations import mutations
from tests.vectors.replay import CLUSTER_WIDE, RUNTIME_CONFIG

TOKEN = "of-the-tests"
REQUESTS, PARTS = 10_000, 4
# Refusals with this code in the real server, too.
_REFUSED_AS_500 = (
    "resourceVersion should not be set",
    "failed to create typed",
    "does not contain declared merge key",
    "list element types are not identical",
    "unknown patch type",
    "Non-matching dry-run options",
    "strconv.ParseUint",
)


def words(text: str) -> list[str]:
    """One a line, so that they may have spaces; the empty line is the empty string."""
    return [line.strip() for line in text.strip("\n").split("\n")]


METHODS = ["GET", "GET", "POST", "POST", "PUT", "PATCH", "PATCH", "PATCH", "DELETE", "OPTIONS", "HEAD"]
ROOTS = [
    "api/v1",
    "apis/resource.k8s.io/v1",
    "apis/resource.k8s.io/v1beta1",
    "apis/apps/v1",
    "apis/nope/v1",
    "apis",
    "api",
]
PLURALS = [
    "resourceclaims",
    "resourceslices",
    "deviceclasses",
    "resourceclaimtemplates",
    "pods",
    "configmaps",
    "nodes",
    "namespaces",
    "secrets",
    "deployments",
    "serviceaccounts",
    "events",
    "leases",
    "services",
    "bogus",
    "%2e%2e",
]
NAMES = ["c", "st", "..", "%2F", "%C3%A9", "a" * 300, "default", "-", "%00", ""]
SUBRESOURCES = ["", "", *["status", "scale", "binding", "log", "token", "eviction", "finalize", "bogus"]]
TYPES = [
    "application/json",
    "application/json",
    "application/yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;x",
    "text/plain",
    ";",
]
ACCEPTS = [
    "*/*",
    "application/json",
    "application/yaml",
    "text/html",
    ";",
    "application/vnd.kubernetes.protobuf",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
]
SELECTORS = words("""
a=b
a in (b,c
!a,,
a==b=c
metadata.name=c
spec.x!=1
,
a notin ()
=
é=é
a>1
(
""")
QUERY = {
    "labelSelector": SELECTORS,
    "fieldSelector": SELECTORS,
    "limit": ["1", "-1", "x", "9" * 30],
    "continue": ["zzz", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9hIn0", "="],
    "resourceVersion": ["0", "1", "x", "-1", "9" * 25],
    "resourceVersionMatch": ["Exact", "NotOlderThan", "x"],
    "dryRun": ["All", "x", ""],
    "fieldValidation": ["Strict", "Warn", "Ignore", "x"],
    "fieldManager": ["m", "m" * 200, "\x01", ""],
    "force": ["true", "x", ""],
    "propagationPolicy": ["Orphan", "Foreground", "x"],
    "gracePeriodSeconds": ["0", "-5", "x"],
    "pretty": ["true", "x"],
    "timeoutSeconds": ["0", "1", "x", "-1"],
    "sendInitialEvents": ["true", "x"],
    "watch": ["0", "x\0"],
}
FIELDS = [
    "metadata",
    "name",
    "spec",
    "status",
    "devices",
    "requests",
    "exactly",
    "firstAvailable",
    "selectors",
    "cel",
    "expression",
    "attributes",
    "capacity",
    "taints",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "data",
    "containers",
    "resources",
    "claims",
    "resourceClaims",
    "template",
    "replicas",
    "config",
    "opaque",
    "parameters",
    "allocation",
    "reservedFor",
    "nodeSelector",
    "kind",
    "apiVersion",
    "$patch",
    "$retainKeys",
    "managedFields",
    "uid",
    "resourceVersion",
]
LEAVES: list[Any] = [None, True, -1, 0, 2**63, 1.5, "", "a", "A/b", "é\u2028", "x" * 300, "replace", "1Gi", [], {}]
LEAVES += ["0", "9" * 5000]
OPERATIONS = ["add", "remove", "replace", "move", "copy", "test", "x"]
POINTERS = ["/metadata/labels/a", "/spec", "", "/metadata/name", "/nope/x", "x", "/spec/devices/requests/9", "/~2"]
POINTERS += ["/metadata/finalizers", "/metadata/finalizers/-", f"/metadata/finalizers/{'1' * 5000}"]
NOISE = [b"{", b'"', b"\xff", b",", b"", b"\x00", b"&a *a"]
# What is deeper than a stack, and numbers that no reader should take its time for.
NOISE += [b"[" * 30_000, b"- " * 20_000, b"{a: " * 20_000, b"9" * 5000]
# Protobuf: the kind is a number, the kind is no text, a name is a message, the time is no time.
_CONFIG_MAP = b"\n\x0f\n\x02v1\x12\tConfigMap"
MESSAGES = [
    b"k8s\0\n\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x3f",
    b"k8s\0\n\x03\n\x01\xff",
    b"k8s\0" + _CONFIG_MAP + b"\x12\x06\n\x04\n\x02\x08\x01",
    b"k8s\0" + _CONFIG_MAP + b"\x12\x0f\n\x0d\n\x01aB\x08\x08\xff\xff\xff\xff\xff\xff\x7f",
    b"k8s\0" + _CONFIG_MAP + b"\x12\x07\n\x05Z\x03\n\x01\xff",
]


def collection(base: Vector) -> str:
    """The path where an object is made, in the namespace default."""
    plural = base["resource"]
    namespace = "" if plural in CLUSTER_WIDE else "namespaces/default/"
    root = "api/v1" if plural == "pods" else f"apis/{base['object']['apiVersion']}"
    return f"/{root}/{namespace}{plural}"


class Requests:
    """Random requests, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        # Where objects that are accepted are made, and each of them with something wrong in one place.
        self._changed = [
            (collection(base), change.object) for base in bases().values() for change in mutations(base["object"])
        ]

    def next(self) -> tuple[str, str, bytes | None, dict[str, str]]:
        """Method, path with query, body and headers."""
        return self._nearly_right() if self._random.random() < 0.3 else self._wild()

    def _nearly_right(self) -> tuple[str, str, bytes | None, dict[str, str]]:
        path, obj = self._random.choice(self._changed)
        headers = {"Content-Type": "application/json"}
        if self._random.random() < 0.5:
            return "POST", path + self._query(), json.dumps(obj).encode(), headers
        headers["Content-Type"] = self._random.choice(TYPES)
        return self._random.choice(["PUT", "PATCH"]), f"{path}/c{self._query()}", json.dumps(obj).encode(), headers

    def _wild(self) -> tuple[str, str, bytes | None, dict[str, str]]:
        pick = self._random.choice
        method, headers = pick(METHODS), {"Content-Type": pick(TYPES), "Accept": pick(ACCEPTS)}
        body = self._body(headers["Content-Type"]) if method in ("POST", "PUT", "PATCH", "DELETE") else None
        return method, self._path() + self._query(), body, headers

    def _path(self) -> str:
        pick = self._random.choice
        parts = [pick(ROOTS)]
        if self._random.random() < 0.7:
            parts += ["namespaces", pick(NAMES) if self._random.random() < 0.3 else "default"]
        parts.append(pick(PLURALS))
        if self._random.random() < 0.7:
            parts += [pick(NAMES), pick(SUBRESOURCES)]
        return "/" + "/".join(part for part in parts if part or self._random.random() < 0.2)

    def _query(self) -> str:
        chosen = self._random.sample(sorted(QUERY), self._random.choice([0, 0, 1, 2, 3]))
        pairs = (f"{name}={quote(self._random.choice(QUERY[name]), safe='')}" for name in chosen)
        return "?" + "&".join(pairs) if chosen else ""

    def _body(self, kind: str) -> bytes:
        pick = self._random.choice
        value = pick(self._changed)[1] if self._random.random() < 0.4 else self._value(4)
        if "json-patch" in kind:
            value = [{"op": pick(OPERATIONS), "path": pick(POINTERS), "value": self._value(2)} for _ in range(2)]
        elif isinstance(value, dict) and self._random.random() < 0.6:
            meta = value.get("metadata")
            value = {**value, "metadata": {**(meta if isinstance(meta, dict) else {}), "name": pick(["c", "new", "A"])}}
        raw = json.dumps(value).encode()
        if "protobuf" in kind and self._random.random() < 0.8:
            raw = pick(MESSAGES)
        if self._random.random() < 0.2:
            at = self._random.randrange(len(raw) + 1)
            raw = raw[:at] + pick(NOISE) + raw[at + 1 :]
        return raw

    def _value(self, depth: int) -> Any:
        kind = self._random.random()
        if depth == 0 or kind < 0.25:
            return self._random.choice(LEAVES)
        if kind < 0.45:
            return [self._value(depth - 1) for _ in range(self._random.randrange(3))]
        return {self._random.choice(FIELDS): self._value(depth - 1) for _ in range(self._random.randrange(5))}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
async def test_malformed_requests(part: int) -> None:
    config = ServerConfig(token=TOKEN, runtime_config=RUNTIME_CONFIG)
    requests, codes = Requests(part), set()
    timeout = aiohttp.ClientTimeout(total=10)
    async with Server(config) as server, aiohttp.ClientSession(timeout=timeout) as session:
        for base in bases().values():
            await make(session, server.url, base)
        before = await version(session, server.url)
        for _ in range(REQUESTS // PARTS):
            method, path, body, headers = requests.next()
            authorized = {**headers, "Authorization": f"Bearer {TOKEN}"}
            url = URL(server.url + path, encoded=True)
            async with session.request(method, url, data=body, headers=authorized) as response:
                code, text = response.status, await answer_of(response)
            asked = f"{method} {path} {headers} {body!r}: {code} {text[:300]!r}"
            assert code < 500 or any(known in text for known in _REFUSED_AS_500), asked
            after = await version(session, server.url)
            # Of a deletion with a body, the query is not looked at.
            dry = "dryRun=All" in path and not (method == "DELETE" and body)
            assert after == before or (code < 400 and not dry), asked
            before = after
            codes.add(code)
    assert {201, 400, 404, 405, 415, 422} <= codes


async def make(session: aiohttp.ClientSession, url: str, base: Vector) -> None:
    """One object of each kind, to be asked for."""
    obj = base["object"]
    meta = {name: value for name, value in obj["metadata"].items() if name != "namespace"}
    body = {**obj, "metadata": {**meta, "name": "c"}}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with session.post(url + collection(base), json=body, headers=headers) as response:
        await response.read()


async def answer_of(response: aiohttp.ClientResponse) -> str:
    """The text of an answer; of a watch, which has no end, that it is one."""
    if response.headers.get("Transfer-Encoding") == "chunked":
        response.close()
        return "a stream"
    return (await response.read()).decode(errors="replace")


async def version(session: aiohttp.ClientSession, url: str) -> str:
    """The version that the store has come to."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with session.get(f"{url}/api/v1/secrets?limit=1", headers=headers) as response:
        listed = await response.json()
    return str(listed["metadata"]["resourceVersion"])
