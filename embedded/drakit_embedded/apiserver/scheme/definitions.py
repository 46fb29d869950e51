"""What a CustomResourceDefinition makes of its kind: names, and in each version a schema and how it is shown.

Read once when a definition changes, so that no request for a custom resource looks at its definition again. After
k8s.io/apiextensions-apiserver v0.37 pkg/apiserver/customresource_handler.go (getOrCreateServingInfoFor).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_api.structural.schema import Structural, structural
from drakit_embedded.apiserver.scheme import version_order
from drakit_embedded.apiserver.scheme.definition_states import is_true
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.scheme.metadata import AGE_DESCRIPTION

_AGE: Object = {
    "name": "Age",
    "type": "date",
    "description": AGE_DESCRIPTION,
    "jsonPath": ".metadata.creationTimestamp",
}


# From an object, the name of its version and that of the wanted one.
Conversion = Callable[[Object, str, str], Object]


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a custom resource has what its ``scale`` subresource shows; each path is a sequence of keys."""

    replicas: tuple[str, ...]
    status_replicas: tuple[str, ...]
    selector: tuple[str, ...]
    # The three paths as the definition writes them, for messages.
    paths: tuple[str, str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One version of a custom resource."""

    name: str
    served: bool
    schema: Structural
    # ``additionalPrinterColumns``, or the age if there are none.
    columns: tuple[Object, ...]
    # JSON paths of fields for selectors, without their leading dots.
    selectable: tuple[str, ...]
    has_status: bool
    scale: Scale | None
    # Given with every answer, if the version is deprecated.
    warning: str
    # Whatever is compiled from the schema when it is first needed, by what it is.
    _made: dict[str, Any] = field(default_factory=dict)

    def compiled(self, what: str, compile_schema: Callable[[Structural], Any]) -> Any:
        """Compile the schema once for each purpose."""
        if what not in self._made:
            self._made[what] = compile_schema(self.schema)
        return self._made[what]


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A CustomResourceDefinition as it is served; a changed one is another object."""

    name: str
    group: str
    versions: Mapping[str, Version]
    # The version in which objects are stored.
    storage: str
    conversion: Object
    is_terminating: bool
    is_namespaced: bool
    # ``status.acceptedNames``.
    names: Object
    # Whether objects may be stored that were written under other schemas.
    has_older: bool = False
    # Converts objects, without their type, from one version to another; None if they are the same in all versions.
    converted: Conversion | None = None

    @property
    def is_converting(self) -> bool:
        """Whether a program outside converts its objects."""
        return self.conversion.get("strategy") == "Webhook"

    def kinds(self) -> list[Kind]:
        """List the kind in each version that is served."""
        return [self.kind(version) for version in self.versions.values() if version.served]

    def kind(self, version: Version) -> Kind:
        """Build the kind in one version."""
        subresources = [name for name, has in (("status", version.has_status), ("scale", version.scale)) if has]
        return Kind(
            group=self.group,
            version=version.name,
            plural=self.names["plural"],
            kind=self.names["kind"],
            namespaced=self.is_namespaced,
            short_names=tuple(self.names.get("shortNames") or ()),
            categories=tuple(self.names.get("categories") or ()),
            subresources=tuple(subresources),
            storage=self.name,
            singular_name=self.names["singular"],
            list_name=self.names["listKind"],
            definition=self,
        )


def read(crd: Object) -> Definition | None:
    """Read a stored definition; None as long as nothing is served by it."""
    if not (is_true(crd, "NamesAccepted") or is_true(crd, "Established")):
        return None
    spec, names = crd["spec"], crd["status"].get("acceptedNames") or {}
    if not all(names.get(each) for each in ("plural", "singular", "kind", "listKind")):
        return None
    versions = {each["name"]: _version(each, spec) for each in spec["versions"]}
    return Definition(
        name=crd["metadata"]["name"],
        group=spec["group"],
        versions=versions,
        storage=next(each["name"] for each in spec["versions"] if each.get("storage")),
        conversion=spec.get("conversion") or {},
        is_terminating=bool(crd["metadata"].get("deletionTimestamp")) or is_true(crd, "Terminating"),
        is_namespaced=spec["scope"] == "Namespaced",
        names=names,
    )


def _version(source: Object, spec: Object) -> Version:
    subresources = source.get("subresources") or {}
    scale = subresources.get("scale")
    return Version(
        name=source["name"],
        served=bool(source.get("served")),
        schema=structural((source.get("schema") or {}).get("openAPIV3Schema") or {}),
        columns=tuple(source.get("additionalPrinterColumns") or (_AGE,)),
        selectable=tuple(each["jsonPath"].removeprefix(".") for each in source.get("selectableFields") or ()),
        has_status=subresources.get("status") is not None,
        scale=_scale(scale) if scale is not None else None,
        warning=_deprecation(source, spec),
    )


def _scale(source: Object) -> Scale:
    paths = tuple(source.get(name) or "" for name in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath"))
    replicas, status, selector = (tuple(path.removeprefix(".").split(".")) if path else () for path in paths)
    return Scale(replicas, status, selector, (paths[0], paths[1], paths[2]))


def _deprecation(source: Object, spec: Object) -> str:
    """Build the warning about a deprecated version; empty for others (defaultDeprecationWarning)."""
    if not source.get("deprecated"):
        return ""
    if source.get("deprecationWarning") is not None:
        said: str = source["deprecationWarning"]
        return said
    group, kind, own = spec["group"], spec["names"]["kind"], version_order.rank(source["name"])
    text = f"{group}/{source['name']} {kind} is deprecated"
    others = [each["name"] for each in spec["versions"] if each.get("served") and not each.get("deprecated")]
    better = sorted((each for each in others if version_order.rank(each) < own), key=version_order.rank)
    return f"{text}; use {group}/{better[0]} {kind}" if better else text
