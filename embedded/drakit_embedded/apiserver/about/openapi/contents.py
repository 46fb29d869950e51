"""What each OpenAPI document holds: which there are, what they are made of, and how they are put together.

The content of a document is put together when somebody asks for it, in a thread. So everything it is made of is looked
up before, by whom the catalog belongs to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.about.openapi import custom_paths, custom_schemas, paths, schemas, versions
from drakit_embedded.apiserver.registry.catalog import Catalog, Served
from drakit_embedded.apiserver.scheme.kinds import Kind

_SECURITY = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}
_OPTIONS = (f"{schemas.META}.DeleteOptions", f"{schemas.META}.WatchEvent")
_CUSTOM_INFO = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_JSON = ["application/json"]


class Content(NamedTuple):
    """A document that can be made: ``essence`` is all that it follows from."""

    essence: Any
    make: Callable[[], Object]


class _Version(NamedTuple):
    """One version of one group, with what is served in it."""

    group: str
    version: str
    kinds: list[Served]

    @property
    def path(self) -> str:
        return paths.root(self.group, self.version)[1:]


def of(catalog: Catalog) -> dict[str, Content]:
    """List the documents of version 3 by their paths below ``/openapi/v3``, and that of version 2 as ``v2``."""
    contents = _Contents(catalog)
    own = contents.own_essence
    found = {path.strip("/"): Content(own, contents.plain(listed)) for path, listed in contents.discovery.items()}
    found |= {version.path: Content(own, contents.of_version(version)) for version in contents.own}
    found |= {
        version.path: Content(_essence(version.kinds), contents.of_custom(version)) for version in contents.custom
    }
    everything = own, [_essence(version.kinds) for version in contents.custom]
    return {**found, "v2": Content(everything, contents.swagger)}


def _essence(kinds: list[Served]) -> list[Any]:
    """Collect what the paths and schemas of custom resources follow from."""
    found = []
    for kind in (served.kind for served in kinds):
        assert kind.definition is not None
        names = kind.api_version, kind.kind, kind.list_kind, kind.plural, kind.namespaced, kind.subresources
        found.append((names, custom_schemas.essence(kind.definition.versions[kind.version])))
    return found


class _Contents:
    def __init__(self, catalog: Catalog) -> None:
        self._info = {"title": "Kubernetes", "version": f"1.{catalog.minor}"}
        groups = catalog.groups()
        named = [(group, version) for group, listed in groups.items() for version in listed]
        served = [_Version(*each, catalog.in_version(*each)) for each in [("", "v1"), *named]]
        self.own = [each for each in served if not each.group or catalog.is_own(each.group)]
        self.custom = [each for each in served if each.group and not catalog.is_own(each.group)]
        self._kinds: list[Kind] = [served.kind for version in self.own for served in version.kinds]
        self._versions = [(each.group, each.version) for each in self.own]
        self.own_essence = self._info, [(kind.api_version, kind.kind) for kind in self._kinds]
        self.discovery = _discovery([group for group in groups if catalog.is_own(group)])

    def plain(self, path: Object) -> Callable[[], Object]:
        return lambda: self._openapi_3(path, [("", "v1")])

    def of_version(self, version: _Version) -> Callable[[], Object]:
        told = [("", "v1"), (version.group, version.version)]
        return lambda: self._openapi_3(_paths(version), told)

    def _openapi_3(self, listed: dict[str, Object], told: list[tuple[str, str]]) -> Object:
        converted = {path: versions.path_3(entry) for path, entry in listed.items()}
        found = self._schemas(converted, told)
        components = {"schemas": found, "securitySchemes": _SECURITY}
        return {"openapi": "3.0.0", "info": self._info, "paths": converted, "components": components}

    def of_custom(self, version: _Version) -> Callable[[], Object]:
        return lambda: self._custom_openapi_3(version)

    def _custom_openapi_3(self, version: _Version) -> Object:
        listed = _custom_paths([version])
        converted = {path: versions.path_3(entry) for path, entry in sorted(listed.items())}
        found = _custom_schemas([version], 3)
        found |= self._schemas({"paths": converted, "found": found}, self._versions, found)
        components = {"schemas": dict(sorted(found.items()))}
        return {"openapi": "3.0.0", "info": _CUSTOM_INFO, "paths": converted, "components": components}

    def swagger(self) -> Object:
        """Put together the document of version 2, which has all in one."""
        listed = {path: entry for one in self.discovery.values() for path, entry in one.items()}
        for version in self.own:
            listed |= _paths(version)
        found = self._schemas({path: versions.path_3(entry) for path, entry in listed.items()}, self._versions)
        definitions = {name: versions.schema_2(schema) for name, schema in found.items()}
        return {
            "swagger": "2.0",
            "info": self._info,
            "paths": dict(sorted((_custom_paths(self.custom) | listed).items())),
            "definitions": dict(sorted((_custom_schemas(self.custom, 2) | definitions).items())),
            "securityDefinitions": _SECURITY,
            "security": [{"BearerToken": []}],
        }

    def _schemas(
        self, referring: Object, told: list[tuple[str, str]], but: dict[str, Object] | None = None
    ) -> dict[str, Object]:
        """Build the schemas that something of OpenAPI 3 refers to, ``but`` those that are there already."""
        found = schemas.of(set(schemas.references(referring)).difference(but or ()), self._kinds)
        _tell_options(found, told)
        return found


def _paths(version: _Version) -> dict[str, Object]:
    """Describe the paths of a group's version, with the list of its resources, by path."""
    tag, title = paths.tag_of(version.group, version.version), paths.camel(version.group, version.version)
    where = f"/{version.path}/"
    found = paths.listing(where, "get available resources", f"get{title}APIResources", tag, "APIResourceList")
    for served in version.kinds:
        found |= paths.of(served)
    return dict(sorted(found.items()))


def _custom_paths(listed: list[_Version]) -> dict[str, Object]:
    kinds = [served.kind for version in listed for served in version.kinds]
    return {path: entry for kind in kinds for path, entry in custom_paths.of(kind).items()}


def _custom_schemas(listed: list[_Version], version: custom_schemas.OpenApi) -> dict[str, Object]:
    kinds = [served.kind for each in listed for served in each.kinds]
    return {name: schema for kind in kinds for name, schema in custom_schemas.of(kind, version).items()}


def _discovery(groups: list[str]) -> dict[str, dict[str, Object]]:
    """Describe the paths that list groups and versions, for each of which there is a document."""
    words = "get available API versions"
    found = {
        "/api/": paths.listing("/api/", words, "getCoreAPIVersions", "core", "APIVersions"),
        "/apis/": paths.listing("/apis/", words, "getAPIVersions", "apis", "APIGroupList"),
        "/version/": _version_path(),
    }
    for group in groups:
        path, name = f"/apis/{group}/", f"get{paths.camel(group)}APIGroup"
        found[path] = paths.listing(path, "get information of a group", name, paths.tag_of(group), "APIGroup")
    return found


def _version_path() -> dict[str, Object]:
    words, name = "get the version information for this server", "getCodeVersion"
    (operation,) = paths.listing("/version/", words, name, "version", "Status")["/version/"].values()
    answer = {"description": "OK", "schema": {"$ref": f"{schemas.DEFINITIONS}io.k8s.apimachinery.pkg.version.Info"}}
    operation |= {"consumes": _JSON, "produces": _JSON, "responses": {**operation["responses"], "200": answer}}
    return {"/version/": {"get": operation}}


def _tell_options(found: dict[str, Object], served: list[tuple[str, str]]) -> None:
    """Declare that options of a deletion and events of a watch are of every version."""
    for name in _OPTIONS:
        if name in found:
            kind = name.rpartition(".")[2]
            listed = [{"group": group, "kind": kind, "version": version} for group, version in dict.fromkeys(served)]
            found[name]["x-kubernetes-group-version-kind"] = listed
