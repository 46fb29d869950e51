"""The paths of kinds and what can be done there, in the form of OpenAPI 2; version 3 is made of the same.

After k8s.io/apiserver/pkg/endpoints/installer.go, which registers the routes, and k8s.io/kube-openapi/pkg/builder,
which describes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.about import discovery
from drakit_embedded.apiserver.about.openapi import schemas
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.scheme.kinds import Kind

STATUS, _WATCH_EVENT = f"{schemas.META}.Status", f"{schemas.META}.WatchEvent"
DELETE_OPTIONS, PATCH = f"{schemas.META}.DeleteOptions", f"{schemas.META}.Patch"
_MEDIA = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
_STREAMS = ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"]
_PATCHES = [
    *("application/json-patch+json", "application/merge-patch+json"),
    *("application/strategic-merge-patch+json", "application/apply-patch+yaml"),
]
# What separates words in names of operations; they may not begin with a digit.
_NO_LETTER = re.compile(r"^[0-9]|[^A-Za-z0-9_]+")
_INTEGERS = frozenset(
    {"gracePeriodSeconds", "limit", "limitBytes", "ports", "sinceSeconds", "tailLines", "timeoutSeconds"}
)
_BOOLEANS = frozenset(
    {
        *("allowWatchBookmarks", "follow", "force", "ignoreStoreReadErrorWithClusterBreakingPotential"),
        *("insecureSkipTLSVerifyBackend", "orphanDependents", "previous", "sendInitialEvents", "timestamps", "watch"),
        *("stderr", "stdin", "stdout", "tty"),
    }
)
_SELECTION = (
    *("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch"),
    *("sendInitialEvents", "shardSelector", "timeoutSeconds"),
)
LIST = ("allowWatchBookmarks", *_SELECTION, "watch")
WRITE = ("dryRun", "fieldManager", "fieldValidation")
DELETE = (
    *("dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents"),
    "propagationPolicy",
)
_LOG = (
    *("container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous", "sinceSeconds", "stream"),
    *("tailLines", "timestamps"),
)
_ATTACH = ("container", "stderr", "stdin", "stdout", "tty")
# What the connections to a container can be asked for.
_CONNECTIONS = {"attach": _ATTACH, "exec": ("command", *_ATTACH), "portforward": ("ports",)}
# What is said of the field manager in addition if a request may be an apply.
_APPLIES = (
    "This field is required for apply requests (application/apply-patch) but optional for non-apply patch types "
    "(JsonPatch, MergePatch, StrategicMergePatch)."
)
# Kinds whose DELETE answers with the object, which is still there, although a Status is declared.
_STAYING = frozenset({"namespaces"})


def of(served: Served) -> dict[str, Object]:
    """Describe the paths of one kind in one version, by path."""
    return _Paths(served).made()


def root(group: str, version: str) -> str:
    """Build the root path of a version: ``/api/v1`` or ``/apis/GROUP/VERSION``."""
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def listing(path: str, description: str, operation: str, tag: str, schema: str) -> dict[str, Object]:
    """Describe a path of discovery, whose answer is a list or a group."""
    made = {
        "description": description,
        "consumes": _MEDIA,
        "produces": _MEDIA,
        "schemes": ["https"],
        "tags": [tag],
        "operationId": operation,
        "responses": responses(f"{schemas.META}.{schema}"),
    }
    return {path: {"get": made}}


def tag_of(group: str, version: str = "") -> str:
    """Build the tag of operations: ``rbacAuthorization_v1``, or ``rbacAuthorization`` for all versions."""
    return f"{_joined(_trimmed(group), first=False)}{f'_{version}' if version else ''}"


def camel(group: str, version: str = "") -> str:
    """Build the name of group and version in names of operations: ``RbacAuthorizationV1``."""
    return _joined(_trimmed(group)) + _joined(version)


def name_part(kind: str) -> str:
    """Build the name of a kind in names of operations, which is without dashes."""
    return _joined(kind)


def _trimmed(group: str) -> str:
    return group.removesuffix(".k8s.io") if group else "core"


def _joined(text: str, *, first: bool = True) -> str:
    """Join the words of a text, each with a capital, the ``first`` perhaps without (ToValidOperationID)."""
    head, *rest = _NO_LETTER.split(text)
    return "".join([_capital(head) if first else head, *map(_capital, rest)])


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


class _Paths:
    def __init__(self, served: Served) -> None:
        self._served, self._kind = served, served.kind
        self._verbs = discovery.verbs(served)
        kind = served.kind
        self._root = root(kind.group, kind.version)
        self._scope = "/namespaces/{namespace}" if kind.namespaced else ""
        self._title = camel(kind.group, kind.version)
        self._of = f"{'Namespaced' if kind.namespaced else ''}{kind.kind}"

    def made(self) -> dict[str, Object]:
        kind, verbs = self._kind, self._verbs
        found: dict[str, Object] = {}
        base = f"{self._root}{self._scope}/{kind.plural}"
        if kind.namespaced and "list" in verbs:
            found[f"{self._root}/{kind.plural}"] = path_item({"get": self._list(everywhere=True)}, kind, "")
        found[base] = path_item(self._collection(), kind, self._scope)
        if "get" in verbs:
            found[f"{base}/{{name}}"] = path_item(self._object(), kind, f"{self._scope}/{{name}}")
            for name in kind.subresources:
                found[f"{base}/{{name}}/{name}"] = self._subresource(name)
        if "watch" in verbs:
            found |= self._watches()
        return found

    def _operation(self, method: str, action: str, words: str, operation: str, schema: str, **more: Any) -> Object:
        kind: Kind = more.pop("kind", self._kind)
        codes = {"post": ("200", "201", "202"), "put": ("200", "201"), "patch": ("200", "201")}.get(method, ("200",))
        return {
            "description": words,
            "consumes": _PATCHES if method == "patch" else ["*/*"],
            "produces": [*more.pop("first", ()), *_MEDIA, *(_STREAMS if more.pop("streams", False) else ())],
            "schemes": ["https"],
            "tags": [tag_of(self._kind.group, self._kind.version)],
            "operationId": operation,
            "parameters": list(more.pop("parameters", ())),
            "responses": responses(schema, more.pop("codes", codes)),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": kind.group, "kind": kind.kind, "version": kind.version},
        }

    def _list(self, *, everywhere: bool = False) -> Object:
        name = self._kind.kind
        of = f"{name}ForAllNamespaces" if everywhere else self._of
        may_watch = "watch" in self._verbs
        return self._operation(
            "get",
            "list",
            f"list {'or watch ' if may_watch else ''}objects of kind {name}",
            f"list{self._title}{of}",
            schemas.list_name_of(self._kind),
            parameters=query(LIST),
            streams=True,
        )

    def _collection(self) -> dict[str, Object]:
        kind, title, schema = self._kind, self._title, schemas.name_of(self._kind)
        found: dict[str, Object] = {}
        if "list" in self._verbs:
            found["get"] = self._list()
        if "create" in self._verbs:
            parameters = [body_of(schema), *query(WRITE)]
            words = f"create {article(kind.kind)} {kind.kind}"
            found["post"] = self._operation(
                "post", "post", words, f"create{title}{self._of}", schema, parameters=parameters
            )
        if "deletecollection" in self._verbs:
            parameters = [body_of(DELETE_OPTIONS, required=False), *query((*_SELECTION, *DELETE))]
            words, name = f"delete collection of {kind.kind}", f"delete{title}Collection{self._of}"
            found["delete"] = self._operation("delete", "deletecollection", words, name, STATUS, parameters=parameters)
        return found

    def _object(self) -> dict[str, Object]:
        kind, title, schema = self._kind, self._title, schemas.name_of(self._kind)
        found = {
            method: operation
            for method, operation in self._reads_and_writes("", schema, kind).items()
            if {"get": "get", "put": "update", "patch": "patch"}[method] in self._verbs
        }
        if "delete" in self._verbs:
            parameters = [body_of(DELETE_OPTIONS, required=False), *query(DELETE)]
            answer = schema if self._served.strategy.returns_deleted and kind.plural not in _STAYING else STATUS
            words = f"delete {article(kind.kind)} {kind.kind}"
            found["delete"] = self._operation(
                "delete",
                "delete",
                words,
                f"delete{title}{self._of}",
                answer,
                parameters=parameters,
                codes=("200", "202"),
            )
        return found

    def _reads_and_writes(self, sub: str, schema: str, kind: Kind) -> dict[str, Object]:
        """GET, PUT and PATCH of an object or a subresource of it."""
        what, of = f"{sub} of " if sub else "", f"{self._of}{sub.capitalize()}"
        the = f"{what}the specified {self._kind.kind}"
        write, patch = [body_of(schema), *query(WRITE)], [body_of(PATCH), *patch_query()]
        title = self._title
        return {
            "get": self._operation("get", "get", f"read {the}", f"read{title}{of}", schema, kind=kind),
            "put": self._operation(
                "put", "put", f"replace {the}", f"replace{title}{of}", schema, kind=kind, parameters=write
            ),
            "patch": self._operation(
                "patch", "patch", f"partially update {the}", f"patch{title}{of}", schema, kind=kind, parameters=patch
            ),
        }

    def _subresource(self, name: str) -> Object:
        kind = discovery.subresource_kind(self._served, name)
        if name in _CONNECTIONS:
            return self._connection(name, kind)
        schema, verbs = schemas.name_of(kind), discovery.subresource_verbs(self._served, name)
        scope, of = f"{self._scope}/{{name}}", f"{self._title}{self._of}{name.capitalize()}"
        if name == "log":
            read = self._operation(
                "get",
                "get",
                f"read log of the specified {kind.kind}",
                f"read{of}",
                "string",
                first=("text/plain",),
                parameters=query(_LOG),
            )
            return path_item({"get": read}, kind, scope)
        if verbs == ["create"]:
            words = f"create {name} of {article(self._kind.kind)} {self._kind.kind}"
            made = self._operation(
                "post",
                "post",
                words,
                f"create{of}",
                schema,
                kind=kind,
                parameters=[body_of(schema), *query(WRITE)],
            )
            return path_item({"post": made}, kind, scope)
        found = self._reads_and_writes(name, schema, kind)
        methods = {"get": "get", "put": "update", "patch": "patch"}
        return path_item({method: entry for method, entry in found.items() if methods[method] in verbs}, kind, scope)

    def _connection(self, name: str, kind: Kind) -> Object:
        """Describe a subresource whose connections go on in another protocol than HTTP."""
        found: dict[str, Object] = {}
        for method in ("get", "post"):
            words = f"connect {method.upper()} requests to {name} of {self._kind.kind}"
            operation = f"connect{self._title}{method.capitalize()}{self._of}{name.capitalize()}"
            parameters = query(_CONNECTIONS[name], name)
            made = self._operation(
                method, "connect", words, operation, "string", kind=kind, parameters=parameters, codes=("200",)
            )
            found[method] = {**made, "produces": ["*/*"]}
        made = path_item(found, self._kind, f"{self._scope}/{{name}}")
        # What comes is not JSON, so it cannot be pretty.
        return {**made, "parameters": [each for each in made["parameters"] if each["name"] != "pretty"]}

    def _watches(self) -> dict[str, Object]:
        kind, title, scope = self._kind, self._title, self._scope
        base = f"{self._root}/watch{scope}/{kind.plural}"
        rest = "deprecated: use the 'watch' parameter with a list operation instead"
        many = f"watch individual changes to a list of {kind.kind}. {rest}."
        one = (
            f"watch changes to an object of kind {kind.kind}. {rest}, filtered to a single item with the "
            "'fieldSelector' parameter."
        )

        def watch(words: str, of: str, action: str, where: str) -> Object:
            operation = self._operation(
                "get", action, words, f"watch{title}{of}", _WATCH_EVENT, parameters=query(LIST), streams=True
            )
            return path_item({"get": operation}, kind, where)

        found = {base: watch(many, f"{self._of}List", "watchlist", scope)}
        found[f"{base}/{{name}}"] = watch(one, self._of, "watch", f"{scope}/{{name}}")
        if kind.namespaced:
            everywhere = f"{kind.kind}ListForAllNamespaces"
            found[f"{self._root}/watch/{kind.plural}"] = watch(many, everywhere, "watchlist", "")
        return found


def path_item(operations: dict[str, Object], kind: Kind, scope: str) -> Object:
    """Describe a path with its operations; the parameters that all of them have are the path's."""
    parameters = [_parameter("pretty")]
    if "{name}" in scope:
        parameters.append(_in_path("name", f"name of the {kind.kind}"))
    if "{namespace}" in scope:
        parameters.append(_in_path("namespace", "object name and auth scope, such as for teams and projects"))
    every = list(operations.values())
    shared = [entry for entry in every[0]["parameters"] if entry["in"] == "query"]
    shared = [entry for entry in shared if all(entry in operation["parameters"] for operation in every)]
    for operation in every:
        operation["parameters"] = [entry for entry in operation["parameters"] if entry not in shared]
        if not operation["parameters"]:
            del operation["parameters"]
    return {**operations, "parameters": sorted([*parameters, *shared], key=lambda entry: str(entry["name"]))}


def responses(schema: str, codes: Iterable[str] = ("200",)) -> Object:
    """Describe the answers of an operation, all of one type, by their codes."""
    words = {"200": "OK", "201": "Created", "202": "Accepted"}
    described: Object = {"type": "string"} if schema == "string" else {"$ref": schemas.DEFINITIONS + schema}
    found: Object = {code: {"description": words[code], "schema": described} for code in codes}
    return {**found, "401": {"description": "Unauthorized"}}


def body_of(schema: str, *, required: bool = True) -> Object:
    """Describe the body of a request as a parameter."""
    body: Object = {"name": "body", "in": "body", "schema": {"$ref": schemas.DEFINITIONS + schema}}
    return {**body, "required": True} if required else body


def query(names: Iterable[str], of: str = "") -> list[Object]:
    """Describe parameters of the query by their names; ``of`` the subresource in which they may mean something else."""
    return [_parameter(name, of) for name in sorted(names)]


def patch_query() -> list[Object]:
    """Describe the parameters of the query of a patch, which may be an apply."""
    return [
        {**each, "description": f"{each['description']} {_APPLIES}"} if each["name"] == "fieldManager" else each
        for each in query((*WRITE, "force"))
    ]


def _parameter(name: str, of: str = "") -> Object:
    kind = "integer" if name in _INTEGERS else "boolean" if name in _BOOLEANS else "string"
    known = schemas.facts().parameters
    described = known.get(f"{name} of {of}") or known[name]
    return {"uniqueItems": True, "type": kind, "description": described, "name": name, "in": "query"}


def _in_path(name: str, words: str) -> Object:
    return {
        "uniqueItems": True,
        "type": "string",
        "description": words,
        "name": name,
        "in": "path",
        "required": True,
    }


def article(word: str) -> str:
    """Choose between ``a`` and ``an`` for the word that follows."""
    return "an" if word[0] in "AEIOUaeiou" else "a"
