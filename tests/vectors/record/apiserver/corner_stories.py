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


def made() -> Iterator[Object]:
    """Make all stories; the part of their names before the colon is what they are about."""
    for number, (name, steps) in enumerate(_told().items()):
        text = json.dumps({"name": name, "steps": list(steps)})
        yield json.loads(text.replace("$id", f"s{7_000_000 + number}"))


def _told() -> dict[str, Iterable[Step]]:
    return {
        **{f"repeated:{name}": [_raw(kind, text)] for name, (kind, text) in _REPEATED.items()},
    }


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
    "the first of two that are wrong": (_POLICY, _policy('"message":[],"expression":1,"message":{},"expression":"true"')),
    "metadata": (_POLICY, _policy().replace('"metadata":', '"metadata":[],"metadata":')),
    "null keeps a text": (_POLICY, _policy('"expression":"true","expression":null')),
    "null keeps a struct": (_POLICY, _policy().replace("]}}", ']},"spec":null}', 1)),
    "null takes a list": (_POLICY, _policy('"expression":"true"').replace(']}}', '],"validations":null}}', 1)),
    "null takes a pointer": (_POLICY, _policy(more='"failurePolicy":"Ignore","failurePolicy":null,')),
    "structs are filled": (_POLICY, _policy().replace('"metadata":', '"metadata":{"labels":{"a":"b"},"name":"x"},"metadata":')),
    "maps are filled": (_POLICY, _policy().replace('"name":"$id"', '"name":"$id","labels":{"a":"b","c":"d"},"labels":{"a":"e"}')),
    "lists are not": (_POLICY, _policy(more='"variables":[{"name":"a","expression":"1"}],"variables":[{"name":"b"}],')),
    "names": (_DEFINITION, _definition(names='"singular":["a",1,null,{}],')),
    "kind": (_POLICY, _policy().replace('"kind":', '"kind":1,"kind":')),
    "another kind": (_POLICY, _policy().replace('"kind":', '"kind":"Other","kind":')),
    "in a schema": (_DEFINITION, _definition('{"type":1,"type":"object"}')),
    "in properties": (_DEFINITION, _definition('{"type":"object","properties":{"a":"x","a":{"type":"string"}}}')),
}
