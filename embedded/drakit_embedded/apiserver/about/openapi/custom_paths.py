"""The paths of custom resources and what can be done there, in the form of OpenAPI 2.

They are described by other code than those of built-in kinds, and said to take and to give less: neither protobuf nor
strategic merge patches, and no paths of watches, though all are served alike. After k8s.io/apiextensions-apiserver
v0.37 pkg/controller/openapi/builder/builder.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.about.openapi import paths, schemas
from drakit_embedded.apiserver.scheme.kinds import Kind

_MEDIA = ["application/json", "application/yaml"]
_PATCHES = ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"]
_SCALE = "io.k8s.api.autoscaling.v1.Scale"
_CODES = {"post": ("200", "201", "202"), "put": ("200", "201"), "delete": ("200", "202")}


def of(kind: Kind) -> dict[str, Object]:
    """Describe the paths of one custom resource in one version, by path."""
    described = _Operations(kind)
    scope = "/namespaces/{namespace}" if kind.namespaced else ""
    root = paths.root(kind.group, kind.version)
    base, one = f"{root}{scope}/{kind.plural}", f"{scope}/{{name}}"
    schema = schemas.name_of(kind)
    found: dict[str, Object] = {}
    if kind.namespaced:
        everywhere = {"get": described.listing(f"{paths.name_part(kind.kind)}ForAllNamespaces")}
        found[f"{root}/{kind.plural}"] = paths.path_item(everywhere, kind, "")
    found[base] = paths.path_item(described.collection(), kind, scope)
    found[f"{base}/{{name}}"] = paths.path_item(
        {**described.reads_and_writes("", schema), "delete": described.deletion()}, kind, one
    )
    for name in kind.subresources:
        taken = described.reads_and_writes(name, _SCALE if name == "scale" else schema)
        found[f"{base}/{{name}}/{name}"] = paths.path_item(taken, kind, one)
    return found


class _Operations:
    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._title = paths.camel(kind.group, kind.version)
        self._of = f"{'Namespaced' if kind.namespaced else ''}{paths.name_part(kind.kind)}"
        self._schema = schemas.name_of(kind)

    def _operation(
        self, method: str, action: str, words: str, name: str, schema: str, parameters: Iterable[Object]
    ) -> Object:
        kind = self._kind
        return {
            "description": words,
            "consumes": _PATCHES if method == "patch" else _MEDIA,
            "produces": _MEDIA,
            "schemes": ["https"],
            "tags": [paths.tag_of(kind.group, kind.version)],
            "operationId": name,
            "parameters": list(parameters),
            "responses": paths.responses(schema, _CODES.get(action, ("200",))),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": kind.group, "kind": kind.kind, "version": kind.version},
        }

    def listing(self, of: str) -> Object:
        words, listed = f"list objects of kind {self._kind.kind}", schemas.list_name_of(self._kind)
        return self._operation("get", "list", words, f"list{self._title}{of}", listed, paths.query(paths.LIST))

    def collection(self) -> dict[str, Object]:
        kind, title, of = self._kind.kind, self._title, self._of
        taken = [paths.body_of(self._schema), *paths.query(paths.WRITE)]
        words = f"create {paths.article(kind)} {kind}"
        gone, name = f"delete collection of {kind}", f"delete{title}Collection{of}"
        return {
            "get": self.listing(of),
            "post": self._operation("post", "post", words, f"create{title}{of}", self._schema, taken),
            "delete": self._operation("delete", "deletecollection", gone, name, paths.STATUS, paths.query(paths.LIST)),
        }

    def deletion(self) -> Object:
        kind, name = self._kind.kind, f"delete{self._title}{self._of}"
        taken = [paths.body_of(paths.DELETE_OPTIONS, required=False), *paths.query(paths.DELETE)]
        return self._operation("delete", "delete", f"delete {paths.article(kind)} {kind}", name, paths.STATUS, taken)

    def reads_and_writes(self, sub: str, schema: str) -> dict[str, Object]:
        """Describe GET, PUT and PATCH of an object or a subresource of it."""
        title, of = self._title, f"{self._of}{sub.capitalize()}"
        the = f"{sub} of the specified {self._kind.kind}".removeprefix(" of ")
        write = [paths.body_of(schema), *paths.query(paths.WRITE)]
        patch = [paths.body_of(paths.PATCH), *paths.patch_query()]
        read = paths.query(("resourceVersion",))
        return {
            "get": self._operation("get", "get", f"read {the}", f"read{title}{of}", schema, read),
            "put": self._operation("put", "put", f"replace {the}", f"replace{title}{of}", schema, write),
            "patch": self._operation("patch", "patch", f"partially update {the}", f"patch{title}{of}", schema, patch),
        }
