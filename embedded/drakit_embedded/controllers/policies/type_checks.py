"""Finds expressions of a policy that cannot work for the kinds that it names.

After k8s.io/apiserver/pkg/admission/plugin/policy/validating/typechecking.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from drakit_api.cel import admission
from drakit_api.cel.declared import Declared
from drakit_api.cel.values.types import Type
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_embedded.controllers.policies.published_types import PublishedTypes

# maxTypesToCheck
_MOST_KINDS = 10


class _Kind(NamedTuple):
    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


class TypeChecker:
    """Checks policies by the types that an API server publishes."""

    def __init__(self, connection: Connection) -> None:
        self._types = PublishedTypes(connection)

    async def check(self, policy: Object) -> list[Object]:
        """List the ``expressionWarnings`` of a policy's status."""
        spec = policy.get("spec") or {}
        types = {kind: found for kind in await self._kinds(spec) if (found := await self._types.declared(*kind))}
        reference = spec.get("paramKind")
        params = await self._params(reference) if reference else None
        warnings = []
        for path, expression in _expressions(spec):
            problems = [
                f"{kind}: {problem}\n"
                for kind, declared in types.items()
                if (problem := _problem(expression, spec, declared, params))
            ]
            if problems:
                warnings.append({"fieldRef": path, "warning": "\n".join(problems)})
        return warnings

    async def _params(self, reference: Object) -> Declared | None:
        group, _, version = (reference.get("apiVersion") or "").rpartition("/")
        return await self._types.declared(group, version, reference.get("kind") or "")

    async def _kinds(self, spec: Object) -> list[_Kind]:
        """List the kinds that a policy names without wildcards, in order; only the first few are looked for."""
        found: set[_Kind] = set()
        for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
            in_rule = 0
            for group, version, plural in _named(rule):
                kind = await self._types.kind(group, version, plural)
                if kind is None:
                    continue
                found.add(_Kind(group, version, kind))
                in_rule += 1
                if in_rule == _MOST_KINDS:
                    return sorted(found)
        return sorted(found)


def _named(rule: Object) -> Iterator[tuple[str, str, str]]:
    groups: Sequence[str] = rule.get("apiGroups") or ()
    versions: Sequence[str] = rule.get("apiVersions") or ()
    if any("*" in name for name in (*groups, *versions)):
        return
    plurals = sorted(plural for plural in rule.get("resources") or () if not set(plural) & set("*/"))
    for group in sorted(groups):
        for version in sorted(versions):
            yield from ((group, version, plural) for plural in plurals)


def _expressions(spec: Object) -> Iterator[tuple[str, str]]:
    for index, validation in enumerate(spec.get("validations") or ()):
        yield f"spec.validations[{index}].expression", validation.get("expression") or ""
        if validation.get("messageExpression"):
            yield f"spec.validations[{index}].messageExpression", validation["messageExpression"]


def _problem(expression: str, spec: Object, declared: Declared, params: Declared | None) -> str:
    """Say what is wrong with an expression if objects are of a type."""
    typed = {"object": declared, "oldObject": declared}
    if params is not None:
        typed["params"] = params
    variables: dict[str, Type] = {}
    known = admission.environment(params="paramKind" in spec, authorizer=True, variables=variables, typed=typed)
    for variable in spec.get("variables") or ():
        variables[variable["name"]] = admission.result_type(variable["expression"], known)
    return admission.type_problems(expression, known)
