"""The roles and bindings that every cluster starts with.

They are a table beside this module, ``bootstrap_policy.txt``: a line for a role or binding, and below a role a line for
each rule, ``verbs groups resources [names]`` or ``verbs urls paths``. It says what kube-apiserver 1.37.1 makes with its
default gates (k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy), and a test compares it with what one
made; what is there only where a feature gate is on says so, ``gate=NAME``. Roles that collect others (admin, edit,
view) get their rules from the aggregation controller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from importlib import resources

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.authorization.rbac_rules import GROUP, Rule
from drakit_embedded.apiserver.storage.store import Key

_PLURALS = {"clusterrole": "clusterroles", "role": "roles"} | {
    "clusterrolebinding": "clusterrolebindings",
    "rolebinding": "rolebindings",
}
_AGGREGATE = f"{GROUP}/aggregate-to-"
_SUBJECTS = {"user": "User", "group": "Group", "account": "ServiceAccount"}
_CORE = "core"
_URLS = "urls"
_GATE = "gate="


@cache
def _lines() -> tuple[str, ...]:
    table = resources.files(__package__).joinpath("bootstrap_policy.txt")
    return tuple(table.read_text().splitlines())


def node_rules() -> tuple[Rule, ...]:
    """Read the rules of the role ``system:node``, which the Node authorizer allows without looking at objects."""
    lines = iter(_lines())
    for line in lines:
        if line == "clusterrole system:node":
            break
    found = []
    for line in lines:
        if not line.startswith(" "):
            break
        found.append(Rule.of(_rule(line)))
    return tuple(found)


def encoded(gates: Collection[str]) -> Iterator[tuple[str, Key, bytes]]:
    """Iterate over the plural, key and JSON of each object that exists with these ``gates`` on."""
    return ((plural, key, body) for gate, plural, key, body in _encoded() if not gate or gate in gates)


@cache
def _encoded() -> tuple[tuple[str, str, Key, bytes], ...]:
    """Encode the objects once, as a process may start many servers: feature gate or "", plural, key, JSON."""
    return tuple(
        (gate, plural, (obj["metadata"].get("namespace", ""), obj["metadata"]["name"]), msgspec.json.encode(obj))
        for gate, plural, obj in _objects()
    )


def _objects() -> Iterator[tuple[str, str, Object]]:
    """Parse the gate, plural and body of each object, in the order of the table."""
    gate, plural, obj = "", "", None
    for line in _lines():
        if line.startswith(" "):
            assert obj is not None
            obj["rules"].append(_rule(line))
            continue
        if obj is not None:
            yield gate, plural, obj
        sort, name, *rest = line.split()
        gate = rest.pop(0).removeprefix(_GATE) if rest and rest[0].startswith(_GATE) else ""
        plural = _PLURALS[sort]
        obj = _role(name, rest) if sort in ("clusterrole", "role") else _binding(sort, name, rest)
    if obj is not None:
        yield gate, plural, obj


def _metadata(name: str) -> Object:
    namespace, _, name = name.rpartition("/")
    metadata: Object = {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    return {**metadata, "namespace": namespace} if namespace else metadata


def _role(name: str, options: list[str]) -> Object:
    role: Object = {"metadata": _metadata(name), "rules": []}
    for option in options:
        key, _, value = option.partition("=")
        if key == "part-of":
            role["metadata"]["labels"][_AGGREGATE + value] = "true"
        else:
            role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {_AGGREGATE + value: "true"}}]}
    return role


def _rule(line: str) -> Object:
    verbs, groups, *rest = line.split()
    if groups == _URLS:
        return {"verbs": _words(verbs), "nonResourceURLs": _words(rest[0])}
    rule: Object = {"verbs": _words(verbs), "apiGroups": _words(groups), "resources": _words(rest[0])}
    if len(rest) > 1:
        rule["resourceNames"] = _words(rest[1])
    return rule


def _words(text: str) -> list[str]:
    return ["" if word == _CORE else word for word in text.split(",")]


def _binding(sort: str, name: str, words: list[str]) -> Object:
    role, *subjects = words
    kind = "ClusterRole" if sort == "clusterrolebinding" else "Role"
    binding: Object = {
        "metadata": _metadata(name),
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
    }
    if subjects:
        binding["subjects"] = [_subject(word) for word in subjects]
    return binding


def _subject(word: str) -> Object:
    sort, _, name = word.partition(":")
    if sort == "account":
        namespace, _, name = name.partition("/")
        return {"kind": _SUBJECTS[sort], "name": name, "namespace": namespace}
    return {"apiGroup": GROUP, "kind": _SUBJECTS[sort], "name": name}
