"""What tests of admission policies write: policies with their bindings, and requests that these are about."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

import aiohttp

from drakit_api.kubernetes_objects import Object

GROUP = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
_TYPES = {"PATCH": "application/merge-patch+json"}
Phase = Literal["mutating", "validating"]


class Answer(NamedTuple):
    """What the server answered."""

    code: int
    body: Object
    warnings: list[str]

    @property
    def denial(self) -> str:
        """What a policy said, behind its name."""
        message: str = self.body.get("message", "")
        return message.partition("denied request: ")[2]


class Cluster:
    """A client of the API server that may set up policies."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def ask(self, method: str, path: str, body: Object | None = None, **headers: str) -> Answer:
        """Make a request."""
        sent = {"Content-Type": _TYPES.get(method, "application/json"), **headers}
        async with self._session.request(method, path, data=json.dumps(body or {}), headers=sent) as response:
            warnings = [text.partition('"')[2][:-1] for text in response.headers.getall("Warning", ())]
            return Answer(response.status, await response.json(), warnings)

    async def make(self, path: str, body: Object) -> Object:
        """Create an object, which nobody refuses."""
        answer = await self.ask("POST", path, body)
        assert answer.code == 201, answer.body
        return answer.body

    async def create(self, name: str = "m", **data: str) -> Answer:
        """Try to create a ConfigMap."""
        return await self.ask("POST", MAPS, config_map(name, **data))

    async def policy(self, name: str, *, phase: Phase, binding: Object | None, on: Object, **spec: Any) -> None:
        """Set up a policy for writes of ConfigMaps, or of ``on``; ``binding`` is the spec of its binding."""
        rule = {"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], **on}
        rule.setdefault("resources", ["configmaps"])
        constraints = {"resourceRules": [rule]}
        await self.make(
            f"{GROUP}/{phase}admissionpolicies",
            {"metadata": {"name": name}, "spec": {"matchConstraints": constraints, **spec}},
        )
        if binding is not None:
            await self.bind(name, phase=phase, **binding)

    async def bind(self, name: str, *, phase: Phase, **spec: Any) -> None:
        """Bind a policy, by a binding of its name."""
        made = {"metadata": {"name": name}, "spec": {"policyName": name, **spec}}
        await self.make(f"{GROUP}/{phase}admissionpolicybindings", made)

    async def validating(
        self, name: str, *validations: Object, binding: Object | None = None, on: Object | None = None, **spec: Any
    ) -> None:
        """Set up a validating policy; its binding denies, unless ``binding`` says otherwise."""
        bound = {"validationActions": ["Deny"], **(binding or {})}
        listed = {"validations": list(validations)} if validations else {}
        await self.policy(name, phase="validating", binding=bound, on=on or {}, **listed, **spec)

    async def mutating(
        self, name: str, *expressions: str, binding: Object | None = None, on: Object | None = None, **spec: Any
    ) -> None:
        """Set up a mutating policy; expressions that begin with a bracket are JSON patches."""
        mutations = [
            {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
            if expression.startswith("[")
            else {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
            for expression in expressions
        ]
        spec = {"reinvocationPolicy": "Never", "mutations": mutations, **spec}
        await self.policy(name, phase="mutating", binding=binding or {}, on=on or {}, **spec)


def config_map(name: str = "m", **data: str) -> Object:
    """A ConfigMap."""
    return {"metadata": {"name": name}, "data": data}
