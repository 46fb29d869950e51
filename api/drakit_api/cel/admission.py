"""Expressions of admission policies and of the match conditions of webhooks: what they can refer to, and how they run.

Sources, ``k8s.io/apiserver`` v0.37: ``pkg/admission/plugin/cel`` (variables and their types, composed variables, costs)
and ``policy/validating/typechecking.go``.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from drakit_api.cel import compiler, declared, patches
from drakit_api.cel.checking.environment import TYPE_NAMES, Environment, Tables, library
from drakit_api.cel.cost import ranges
from drakit_api.cel.declared import Declared
from drakit_api.cel.errors import CelCompileError, CelRuntimeError
from drakit_api.cel.frames import layout
from drakit_api.cel.library.authorizer import Authorizations as Authorizations
from drakit_api.cel.library.authorizer import Authorizer as Authorizer
from drakit_api.cel.library.authorizer import Decision as Decision
from drakit_api.cel.library.authorizer import Question as Question
from drakit_api.cel.library.authorizer import ResourceCheck as ResourceCheck
from drakit_api.cel.program import Meter as Meter
from drakit_api.cel.program import Program as Compiled
from drakit_api.cel.values import types
from drakit_api.cel.values.declarations import functions
from drakit_api.cel.values.types import BOOL, DYN, INT, STRING, TIMESTAMP, Type, list_of, map_of, struct
from drakit_api.cel.values.values import Lazy

# What all expressions of a policy may cost for one object, and all match conditions.
POLICY_BUDGET: Final = 10_000_000
MATCH_CONDITIONS_BUDGET: Final = 2_500_000
OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"

_KIND, _RESOURCE = struct("kubernetes.GroupVersionKind"), struct("kubernetes.GroupVersionResource")
_REQUEST, _USER = struct("kubernetes.AdmissionRequest"), struct("kubernetes.UserInfo")
_NAMESPACE, _METADATA = struct("kubernetes.Namespace"), struct("kubernetes.NamespaceMetadata")
_SPEC, _STATUS = struct("kubernetes.NamespaceSpec"), struct("kubernetes.NamespaceStatus")
_CONDITION, _VARIABLES = struct("kubernetes.NamespaceCondition"), struct("kubernetes.variables")
_STRINGS, _TEXTS = list_of(STRING), map_of(STRING, STRING)

_STRUCTS: Final[Mapping[str, Mapping[str, Type]]] = {
    _KIND.name: dict.fromkeys(("group", "version", "kind"), STRING),
    _RESOURCE.name: dict.fromkeys(("group", "version", "resource"), STRING),
    _USER.name: {"username": STRING, "uid": STRING, "groups": _STRINGS, "extra": map_of(STRING, _STRINGS)},
    _REQUEST.name: {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
    _SPEC.name: {"finalizers": _STRINGS},
    _CONDITION.name: {
        **dict.fromkeys(("status", "type", "message", "reason"), STRING),
        "lastTransitionTime": TIMESTAMP,
    },
    _STATUS.name: {"conditions": list_of(_CONDITION), "phase": STRING},
    _METADATA.name: {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "finalizers": _STRINGS,
        "creationTimestamp": TIMESTAMP,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "deletionGracePeriodSeconds": INT,
    },
    _NAMESPACE.name: {"metadata": _METADATA, "spec": _SPEC, "status": _STATUS},
}
_AUTHORIZER: Final = types.parse_type("Authorizer")
_RESOURCE_CHECK: Final = types.parse_type("ResourceCheck")


@functools.lru_cache(maxsize=32)
def _base(params: bool, authorizer: bool, composed: bool, patching: bool, new: bool) -> Environment:
    variables = {"object": DYN, "oldObject": DYN, "namespaceObject": _NAMESPACE, "request": _REQUEST}
    if params:
        variables["params"] = DYN
    if authorizer:
        variables |= {"authorizer": _AUTHORIZER, "authorizer.requestResource": _RESOURCE_CHECK}
    if composed:
        variables["variables"] = _VARIABLES
    known = library(includes=not new)
    if patching:
        known = {**known, **functions(patches.FUNCTIONS)}
    return Environment(known, {**variables, **TYPE_NAMES}, Tables(_STRUCTS), layout(variables))


def environment(
    *,
    params: bool,
    authorizer: bool,
    variables: Mapping[str, Type] | None = None,
    patching: bool = False,
    typed: Mapping[str, Declared] | None = None,
    new: bool = False,
) -> Environment:
    """Make the environment of a policy's expressions, or of match conditions.

    ``variables`` are the types of the policy's own, as ``Program.result`` has them and ``variable_type`` makes them of
    that; None where there can be none. ``patching`` adds ``Object`` and ``JSONPatch``. ``typed`` says of which types
    ``object``, ``oldObject`` and ``params`` are, which else is known at run time only; two of the same object are of
    one type. ``new`` is for expressions in a request, which may use only what the previous minor version knows, too.
    """
    base = _base(params, authorizer, variables is not None, patching, new)
    structs: Any = base.structs
    names = dict(base.names)
    if typed:
        # Only where types are checked, nobody declares it.
        names.pop("authorizer.requestResource", None)
    if variables is not None:
        structs = Tables({**_STRUCTS, _VARIABLES.name: variables})
    if typed:
        structs = declared.DeclaredStructs(structs)
        # The name of a type must be none that an expression refers to. It changes each time, so nobody relies on it.
        suffix = time.time_ns() % 10**9
        kinds = {id(each): f"{name}Type{suffix}" for name, each in typed.items()}
        names |= {name: structs.declare(kinds[id(each)], each) for name, each in typed.items()}
    if patching:
        structs = patches.PatchStructs(structs)
    return dataclasses.replace(base, names=names, structs=structs)


def variable_type(result: Type | None) -> Type:
    """Return the type that a policy's variable has for other expressions; None is that of one that fails to compile.

    Objects, optionals and the values of libraries are of a type that is known at run time only.
    """
    if result is None:
        return DYN
    if result.kind in ("list", "map"):
        return Type(result.kind, result.name, tuple(map(variable_type, result.parameters)))
    return result if result.kind in _KEPT else DYN


_KEPT = frozenset({"any", "bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint"})


class Program:
    """A compiled expression of a policy, or of a match condition."""

    __slots__ = ("_compiled", "result")

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self.result = compiled.result

    def evaluate(self, values: Mapping[str, Any], meter: Meter) -> Any:
        """Evaluate the expression for the values of variables; those that are missing are null.

        Raises ``OutOfBudget`` if the meter has nothing left afterwards, else ``CelRuntimeError`` where the evaluation
        fails.
        """
        return self._compiled.evaluate(list(map(values.get, self._compiled.variables)), meter)

    def value(self, values: Mapping[str, Any], meter: Meter) -> Any:
        """Evaluate as a part of the evaluation of another expression."""
        return self._compiled.value(list(map(values.get, self._compiled.variables)), meter)


def compile(expression: str, known: Environment, *, returns: Iterable[Type] = ()) -> Program:
    """Compile an expression whose result must be of one of some types; any will do if none is given.

    Raises ``CelCompileError`` with the detail that kube-apiserver shows.
    """
    checked = compiler.checked(expression, known)
    wanted = tuple(returns)
    if wanted and checked.result not in wanted:
        names = " ".join(each.declared for each in wanted)
        expected = f"one of [{names}]" if len(wanted) > 1 else names
        raise CelCompileError(f"must evaluate to {expected} but got {checked.result.declared}")
    return Program(Compiled(expression, checked.tree, known, ranges.unknown))


def type_problems(expression: str, known: Environment) -> str:
    """Say what is wrong with the types of an expression; empty if nothing is."""
    try:
        compiler.checked(expression, known)
    except CelCompileError as error:
        return str(error).removeprefix("compilation failed: ")
    return ""


def result_type(expression: str, known: Environment) -> Type:
    """Return the type that a variable has for other expressions, where it only matters whether types agree."""
    try:
        return variable_type(compiler.checked(expression, known).result)
    except CelCompileError:
        return DYN


class _Composition:
    """How the variables of a policy come about: each when it is first asked for, and once for an object."""

    __slots__ = ("_failures", "_meter", "_values")

    def __init__(self, values: Mapping[str, Any], meter: Meter) -> None:
        self._values, self._meter = values, meter
        self._failures: dict[str, str] = {}

    def read(self, raw: Mapping[str, Any], key: str) -> Any:
        """Evaluate a variable."""
        found = raw[key]
        if isinstance(found, CelCompileError):
            raise CelRuntimeError(f'composited variable "{key}" fails to compile: {found}')
        if key in self._failures:
            raise CelRuntimeError(self._failures[key])
        try:
            return found.value(self._values, self._meter)
        except CelRuntimeError as error:
            self._failures[key] = f'composited variable "{key}" fails to evaluate: {error}'
            raise CelRuntimeError(self._failures[key]) from None

    def keys(self, raw: Mapping[str, Any]) -> Iterable[str]:
        """List the variables."""
        return raw

    def equal(self, left: Lazy, right: Any) -> bool:
        """Tell whether it is the same: variables are not compared."""
        return left is right


def with_variables(
    values: Mapping[str, Any], variables: Mapping[str, Program | CelCompileError], meter: Meter
) -> dict[str, Any]:
    """Add ``variables`` to the values for a policy's expressions: its variables, or why they do not compile."""
    complete = dict(values)
    complete["variables"] = Lazy(_Composition(complete, meter), variables)
    return complete
