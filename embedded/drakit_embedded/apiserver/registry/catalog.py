"""The kinds of one server: in which versions each is served (by emulation and configuration), and where it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver.registry import conversion, strategies
from drakit_embedded.apiserver.registry.strategy import Strategy
from drakit_embedded.apiserver.scheme import api_services, kinds, older_versions, stored_only, version_order
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.limits import StoredKind
from drakit_embedded.apiserver.storage.store import Collection, Key, Record, Store
from drakit_embedded.runtime_config import RuntimeConfig, check, enabled

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates
    from drakit_embedded.apiserver.scheme.definitions import Conversion, Definition, Version

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"


@dataclass(slots=True, eq=False)
class Served:
    """One kind in one API version, with its rules and its collection."""

    kind: Kind
    strategy: Strategy
    collection: Collection
    # The warning to whoever writes the kind, if nothing in the cluster acts on it; else empty.
    stored_only: str
    # Reads a stored object in this version, where it may differ: of another version, or an older schema.
    reader: Callable[[Record], Object] | None = None
    # The API version of records that are as they are read all the same.
    as_stored: str | None = None
    converter: conversion.Converter | None = field(init=False)
    # What ``Record.converted`` has bodies of this version under: another program may convert otherwise.
    form_key: str = field(init=False)
    # Warnings about requests in this version, if it is deprecated.
    warnings: tuple[str, ...] = field(init=False)
    # Names that field selectors may use, and the path of each.
    fields: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.converter = conversion.between(self.kind)
        self.form_key = self.kind.api_version
        if self.is_converting:
            self.form_key += f" {id(self.kind.definition)}"
        deprecation = older_versions.deprecation(self.kind) if self.kind.definition is None else _warning(self.kind)
        self.warnings = (deprecation,) if deprecation else ()
        self.fields = self.strategy.field_names or {path: path for path in self._paths()}

    def _paths(self) -> tuple[str, ...]:
        own = self.strategy.fields
        return (_NAME, _NAMESPACE, *own) if self.kind.namespaced or not own else (_NAME, *own)

    @property
    def is_stored(self) -> bool:
        """Whether objects look in this version as they are stored."""
        return self.converter is None and self.reader is None

    @property
    def is_converting(self) -> bool:
        """Whether a program outside converts objects between this version and others."""
        return self.kind.definition is not None and self.kind.definition.is_converting

    @property
    def stored_in(self) -> str:
        """The API version in which custom resources are stored; empty for other kinds, of which all are alike."""
        definition = self.kind.definition
        return f"{definition.group}/{definition.storage}" if definition is not None else ""

    def body(self, record: Record) -> bytes:
        """Encode an object in this version, without kind and apiVersion.

        Raises:
            StatusError: if it cannot be converted.
            Pending: if a program is still to convert it.
        """
        if self.is_stored or record.api_version == self.as_stored:
            return record.body
        made = record.converted.get(self.form_key)
        if made is None:
            made = record.converted[self.form_key] = conversion.encode(self._read(record))
        return made

    def _read(self, record: Record) -> Object:
        if self.reader is not None:
            return self.reader(record)
        assert self.converter is not None
        return self.converter.from_storage(record.object())

    def stored(self, record: Record) -> Object:
        """Decode a copy of an object as writes see it: a custom resource in this version, others in the stored one."""
        if self.reader is None:
            return record.object()
        return conversion.decode(self.body(record))

    def anew(self, record: Record) -> Record:
        """Copy a record, so that what is read of it is converted once more, as upstream reads single objects."""
        return replace(record, converted={}) if self.is_converting else record

    def seen(self, record: Record) -> Record:
        """Return an object as selectors of this version see it, whose labels and fields conversion may change."""
        if not self.is_converting or record.api_version == self.kind.api_version:
            return record
        body = self.body(record)
        return Record(record.key, record.version, body, self.collection.fields, {self.form_key: body})

    def foresee(self, key: Key, form: Object) -> None:
        """Have a program convert what is about to be stored, as it is to be read then. Raises ``Pending``."""
        if self.is_converting and self.stored_in != self.kind.api_version:
            record = Record(key, 0, conversion.encode(form), self.collection.fields)
            with suppress(StatusError):
                # That it cannot be read is found when it is.
                self.body(record)

    def object(self, record: Record) -> Object:
        """Decode an object in this version, with kind and apiVersion."""
        obj = self.stored(record)
        if self.converter is not None:
            obj = self.converter.from_storage(obj)
        return {"kind": self.kind.kind, "apiVersion": self.kind.api_version, **obj}


class Catalog:
    """Lookup of served kinds by group, version and plural."""

    def __init__(
        self,
        store: Store,
        gates: FeatureGates,
        runtime_config: RuntimeConfig,
        beside: Iterable[stored_only.Part] = (),
    ) -> None:
        """Collect the kinds to serve; ``beside`` are the other parts of the cluster that are drakit's own."""
        check(runtime_config)
        self._store = store
        # Finds what converts the objects of a definition.
        self.conversions: Callable[[Definition], Conversion] = _no_program
        # Increases whenever something else is served.
        self.edition = 0
        self._definitions: dict[str, Definition] = {}
        self._versions: dict[tuple[str, str], dict[str, Served]] = {}
        # By the name of the collection in which their objects are.
        self._sharing: dict[str, list[Kind]] = {}
        # The emulated minor release.
        self.minor = int(gates.emulated_version.partition(".")[2])
        known = strategies.strategies()
        ours: frozenset[stored_only.Part] = frozenset({"apiserver", *beside})
        for kind in kinds.all_kinds():
            warning = stored_only.warning(kind, ours)
            strategy = known.get((kind.group, kind.plural), Strategy())
            fields = _field_values((_NAME, _NAMESPACE, *strategy.fields), strategy.field_zeros)
            stored = StoredKind(kind.plural, kind.kind, kind.api_version)
            collection = store.collection(kind.storage, fields, stored)
            self._add(Served(kind, strategy, collection, warning), runtime_config)
            for older in older_versions.of(kind):
                rules = strategies.of_older(older, strategy)
                self._add(Served(older, rules, collection, warning), runtime_config)
        self._groups = self._grouped()
        self._own_groups = frozenset(self._groups)

    def _add(self, served: Served, runtime_config: RuntimeConfig) -> None:
        kind = served.kind
        if kind.since <= self.minor and enabled(kind.api_version, kind.plural, runtime_config):
            self._versions.setdefault((kind.group, kind.version), {})[kind.plural] = served
            self._sharing.setdefault(kind.storage, []).append(kind)

    def serve(self, definition: Definition) -> None:
        """Serve a custom resource as its definition says, in place of what was served by that name before.

        Groups of Kubernetes' own have handlers of their own there, so that a definition in them has no effect.
        """
        # Imported here, as most clusters have no custom resources.
        from drakit_embedded.apiserver.registry.custom import served_kinds

        if definition.group in self._own_groups:
            return
        if definition.is_converting:
            definition = replace(definition, converted=self.conversions(definition))
        definition = served_kinds.declared(definition, self._store, self._remove(definition.name))
        for version in definition.versions.values():
            if not version.served:
                continue
            served = self._custom(definition, version)
            kind = served.kind
            self._versions.setdefault((kind.group, kind.version), {})[kind.plural] = served
        self._definitions[definition.name] = definition
        self._changed()

    def definition(self, name: str) -> Definition | None:
        """Find the definition of a custom resource (``crontabs.stable.example.com``) as it is served."""
        return self._definitions.get(name)

    def stored_kind(self, definition: Definition) -> Served:
        """Build the kind of a definition in the version in which objects are stored, whether that is served or not."""
        return self._custom(definition, definition.versions[definition.storage])

    def _custom(self, definition: Definition, version: Version) -> Served:
        from drakit_embedded.apiserver.registry.custom import served_kinds

        made = served_kinds.of_version(definition, version, self._store)
        return Served(made.kind, made.strategy, made.collection, "", made.reader, made.as_stored)

    def is_own(self, group: str) -> bool:
        """Check whether a group is the server's own, and not brought by definitions."""
        return group in self._own_groups

    def custom_groups(self) -> dict[str, list[str]]:
        """List the versions of each group that definitions bring."""
        return {group: versions for group, versions in self._groups.items() if group not in self._own_groups}

    def withdraw(self, name: str) -> None:
        """Serve a custom resource no longer: its definition is gone, or has lost its names."""
        if name in self._definitions:
            self._remove(name)
            self._changed()

    def _remove(self, name: str) -> Definition | None:
        definition = self._definitions.pop(name, None)
        for kind in definition.kinds() if definition is not None else ():
            found = self._versions[kind.group, kind.version]
            del found[kind.plural]
            if not found:
                del self._versions[kind.group, kind.version]
        return definition

    def _changed(self) -> None:
        self._groups = self._grouped()
        self.edition += 1

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """Find a served kind by group, version and plural, or None."""
        return self._versions.get((group, version), {}).get(plural)

    def found(self, kind: Kind) -> Served:
        """Look up a kind that is served."""
        return self._versions[kind.group, kind.version][kind.plural]

    def kind_named(self, group: str, version: str, name: str) -> Kind | None:
        """Find a served kind by its name, or None; objects that are only answered are no kind of their own."""
        served = self._versions.get((group, version), {}).values()
        return next((each.kind for each in served if each.kind.kind == name), None)

    def equivalents(self, kind: Kind) -> list[Kind]:
        """List the other kinds that are served from the collection of a kind (apimachinery/pkg/runtime/mapper.go)."""
        sharing = self._sharing.get(kind.storage, ()) if kind.definition is None else kind.definition.kinds()
        return [other for other in sharing if other != kind]

    def in_version(self, group: str, version: str) -> list[Served]:
        """List all kinds of a version, by plural; empty if it is not served."""
        return sorted(self._versions.get((group, version), {}).values(), key=lambda served: served.kind.plural)

    def groups(self) -> dict[str, list[str]]:
        """List the versions of each named group, preferred first; groups in the order of discovery."""
        return self._groups

    def _grouped(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for group, version in self._versions:
            if group:
                found.setdefault(group, []).append(version)
        ordered = sorted(found, key=api_services.rank)
        return {group: sorted(found[group], key=version_order.rank) for group in ordered}


def _no_program(definition: Definition) -> Conversion:
    raise RuntimeError(f"nothing asks the program that converts {definition.name}")


def _warning(kind: Kind) -> str:
    """Find the warning about a deprecated version of a custom resource."""
    assert kind.definition is not None
    return kind.definition.versions[kind.version].warning


def _field_values(paths: tuple[str, ...], zeros: Mapping[str, str]) -> Callable[[Object], dict[str, str]]:
    readers = [(path, path.split(".")) for path in paths]

    def values(obj: Object) -> dict[str, str]:
        found = dict(zeros)
        for path, keys in readers:
            value: Any = obj
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else None
            if value is not None:
                found[path] = _text(value)
        return found

    return values


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
