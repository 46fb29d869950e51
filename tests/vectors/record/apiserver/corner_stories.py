"""Stories of what is seldom wrong about definitions, custom resources, policies and webhooks.

Malformed input by chance has found what these ask: each has once been answered otherwise by our server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.vectors.malformed import stages

Object = dict[str, Any]
Step = dict[str, Any]

_DRY = "?dryRun=All"
_APPLIED = "?dryRun=All&fieldManager=m&force=true"
_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_OPERATIONS = "application/json-patch+json"


def made() -> Iterator[Object]:
    """Make all stories; the part of their names before the colon is what they are about."""
    for number, (name, steps) in enumerate(_told().items()):
        text = json.dumps({"name": name, "steps": list(steps)})
        yield json.loads(text.replace("$id", f"s{7_000_000 + number}"))


def _told() -> dict[str, Iterable[Step]]:
    return {
        **{f"repeated:{name}": [_raw(kind, text)] for name, (kind, text) in _REPEATED.items()},
        **{f"numbers:{name}": [_raw(kind, text)] for name, (kind, text) in _NUMBERS.items()},
        "numbers:of objects": _with_things(_numbers_of_objects()),
    }


def _with_things(steps: Iterable[Step]) -> list[Step]:
    """Define a kind of which a field may be anything, create one object, and clean up after what follows."""
    spec = {
        "a": {"x-kubernetes-preserve-unknown-fields": True},
        "n": {"type": "number"},
        "i": {"type": "integer"},
        "s": {"type": "string"},
        "l": {"type": "array", "items": {"type": "integer"}},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    definition = json.loads(_definition(json.dumps(schema)))
    definition["spec"]["versions"][0]["subresources"] = {
        "status": {},
        "scale": {"specReplicasPath": ".spec.i", "statusReplicasPath": ".status.i"},
    }
    created = _write("POST", '{"spec":{"i":1}}', name="o")
    return [*stages.defined(definition), {**created, "vital": True}, *steps, *stages.removed(definition)]


def _write(method: str, text: str, *, name: str = "x", kind: str = "", below: str = "", query: str = "") -> Step:
    """Write an object of the kind; ``kind`` of a patch is its content type."""
    path = stages.objects_path(json.loads(_definition()))
    if method != "PATCH":
        metadata = f'"metadata":{{"name":"{name}"}},' if '"metadata"' not in text else ""
        text = '{"apiVersion":"$id.example.com/v1","kind":"Thing",' + metadata + text[1:]
    if method != "POST":
        path += f"/o{below}"
    headers = {"headers": {"Content-Type": kind}} if kind else {}
    return {"method": method, "path": path + query, "raw": text, **headers}


def _numbers_of_objects() -> Iterator[Step]:
    for number in _ODD_NUMBERS:
        for text in (f'{{"spec":{{"a":{number}}}}}', f'{{"spec":{{"i":{number}}}}}', f'{{"spec":{{"n":{number}}}}}'):
            yield _write("POST", text, query=_DRY)
            yield _write("PATCH", text, kind=_MERGE, query=_DRY)
            yield _write(
                "PATCH", f'{{"apiVersion":"$id.example.com/v1","kind":"Thing",{text[1:]}', kind=_APPLY, query=_APPLIED
            )
        yield _write("PATCH", f'[{{"op":"add","path":"/spec/a","value":{number}}}]', kind=_OPERATIONS, query=_DRY)
        yield _write("PATCH", f'[{{"op":"test","path":"/spec/i","value":{number}}}]', kind=_OPERATIONS, query=_DRY)
        yield _write("POST", f'{{"metadata":{{"name":"x","labels":{{"a":{number}}}}}}}', query=_DRY)
        yield _write("POST", f'{{"metadata":{{"name":"x","generation":{number}}}}}', query=_DRY)
        yield _write("POST", f'{{"unknown":{number}}}', query=_DRY)


def _raw(kind: str, text: str) -> Step:
    return {"method": "POST", "path": stages.PATHS[kind] + _DRY, "raw": text}


def _definition(schema: str = '{"type":"object"}', *, names: str = "", version: str = "") -> str:
    """Write a definition, with more of its names and of its version before what they have to have."""
    return (
        '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.$id.example.com"},'
        f'"spec":{{"group":"$id.example.com","scope":"Namespaced","names":{{{names}"plural":"things","singular":"thing",'
        f'"kind":"Thing","listKind":"ThingList"}},"versions":[{{{version}"name":"v1","served":true,"storage":true,'
        f'"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}'
    )


def _policy(validation: str = '"expression":"true"', constraints: str = "", more: str = "") -> str:
    rule = '{"apiGroups":["$id.example.com"],"apiVersions":["*"],"operations":["CREATE"],"resources":["things"]}'
    return (
        '{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"$id"},"spec":{'
        f'"matchConstraints":{{{constraints}"resourceRules":[{rule}]}},{more}"validations":[{{{validation}}}]}}}}'
    )


_POLICY = "ValidatingAdmissionPolicy"
_DEFINITION = "CustomResourceDefinition"
# Each value of a repeated field is decoded, and has to be of the right type.
_REPEATED = {
    "text": (_POLICY, _policy('"expression":1,"expression":"true"')),
    "list": (_POLICY, _policy(constraints='"resourceRules":{"":""},')),
    "map": (_POLICY, _policy(constraints='"objectSelector":{"matchLabels":"x","matchLabels":{"a":"b"}},')),
    "value of a map": (_POLICY, _policy(constraints='"objectSelector":{"matchLabels":{"a":1,"a":"b"}},')),
    "struct": (_DEFINITION, _definition(version='"schema":"x",')),
    "second is wrong": (_POLICY, _policy('"expression":"true","expression":1')),
    "the first of two that are wrong": (
        _POLICY,
        _policy('"message":[],"expression":1,"message":{},"expression":"true"'),
    ),
    "metadata": (_POLICY, _policy().replace('"metadata":', '"metadata":[],"metadata":')),
    "null keeps a text": (_POLICY, _policy('"expression":"true","expression":null')),
    "null keeps a struct": (_POLICY, _policy().replace("]}}", ']},"spec":null}', 1)),
    "null takes a list": (_POLICY, _policy('"expression":"true"').replace("]}}", '],"validations":null}}', 1)),
    "null takes a pointer": (_POLICY, _policy(more='"failurePolicy":"Ignore","failurePolicy":null,')),
    "structs are filled": (
        _POLICY,
        _policy().replace('"metadata":', '"metadata":{"labels":{"a":"b"},"name":"x"},"metadata":'),
    ),
    "maps are filled": (
        _POLICY,
        _policy().replace('"name":"$id"', '"name":"$id","labels":{"a":"b","c":"d"},"labels":{"a":"e"}'),
    ),
    "lists are not": (_POLICY, _policy(more='"variables":[{"name":"a","expression":"1"}],"variables":[{"name":"b"}],')),
    "names": (_DEFINITION, _definition(names='"singular":["a",1,null,{}],')),
    "kind": (_POLICY, _policy().replace('"kind":', '"kind":1,"kind":')),
    "another kind": (_POLICY, _policy().replace('"kind":', '"kind":"Other","kind":')),
    "in a schema": (_DEFINITION, _definition('{"type":1,"type":"object"}')),
    "in properties": (_DEFINITION, _definition('{"type":"object","properties":{"a":"x","a":{"type":"string"}}}')),
}
# Those that no 64 bits hold are named where they are read as any value.
_ODD_NUMBERS = (
    "1E400",
    "-1e400",
    "1e-400",
    "1.0",
    "-0",
    "-0.0",
    "1e3",
    "9223372036854775808",
    "1" * 400,
    "0." + "3" * 30,
)
_NUMBERS = {
    "as a text": (_POLICY, _policy('"expression":1E400')),
    "as a count": (_DEFINITION, _definition('{"type":"object","maxProperties":1E400}')),
    "as a bound": (_DEFINITION, _definition('{"type":"object","properties":{"a":{"type":"number","maximum":1E400}}}')),
    "as a small bound": (
        _DEFINITION,
        _definition('{"type":"object","properties":{"a":{"type":"number","maximum":1e-400}}}'),
    ),
    "as a default": (
        _DEFINITION,
        _definition('{"type":"object","properties":{"a":{"type":"number","default":1E400}}}'),
    ),
    "as a small default": (
        _DEFINITION,
        _definition('{"type":"object","properties":{"a":{"type":"number","default":1e-400}}}'),
    ),
    "in an enum": (_DEFINITION, _definition('{"type":"object","properties":{"a":{"type":"number","enum":[1E400]}}}')),
    "unknown": (_DEFINITION, _definition('{"type":"object","unknown":1E400}')),
    "as a type": (_DEFINITION, _definition('{"type":1E400}')),
    "as an object": (_DEFINITION, _definition('{"type":"object","properties":1E400}')),
}
