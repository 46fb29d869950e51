"""The rules of a custom resource in one version.

k8s.io/apiextensions-apiserver v0.37 pkg/registry/customresource (strategy.go, status_strategy.go, validator.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from drakit_api.formats import label_key
from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_api.rules.validator import Validator
from drakit_api.structural import lists, values
from drakit_api.validation.errors import FieldError, invalid
from drakit_api.validation.metadata import on_create, on_update
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.registry.custom import decoding, scale_rules, slice_patches
from drakit_embedded.apiserver.registry.strategy import Cluster, Strategy
from drakit_embedded.apiserver.scheme.definitions import Version
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import FieldFault

# After these faults of a value, rules in CEL would meet values of a wrong type (hasBlockingErr).
_BLOCKING = frozenset(
    {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"}
)
_NEW: Object = {"metadata": {}}
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


def of(version: Version, kind: Kind, *, stored_form: Callable[[Object, Cluster], Object] | None) -> Strategy:
    """Build the strategy of a version; ``stored_form`` converts to the stored version, if that may differ."""
    rules = _Rules(version, kind)
    known = ("metadata.name", *(("metadata.namespace",) if kind.namespaced else ()), *version.selectable)
    strategy = Strategy(
        decode=decoding.decode,
        decode_applied=decoding.decode_applied,
        decode_changed=decoding.decode_changed,
        settle=partial(decoding.settle, version=version),
        restore=_as_merged,
        canonical=stored_form,
        owns_metadata=True,
        field_names={name: name for name in known},
        default=rules.default,
        prepare_create=rules.prepare_create,
        prepare_update=rules.prepare_update,
        validate_create=rules.validate_create,
        warn_of_create=rules.warn_of_create,
        warn_of_change=rules.warn_of_change,
        validate_update=rules.validate_update,
        validate_status=rules.validate_status,
        generation=True,
        counted=(),
        status_on_create=not version.has_status,
        unconditional_update=False,
    )
    return slice_patches.gated(strategy, kind)


def _as_merged(obj: Object, _: Kind) -> Object:
    """Take what was merged as it is: there is no Go type to restore."""
    return obj


class _Rules:
    """The compiled schema of a version."""

    def __init__(self, version: Version, kind: Kind) -> None:
        self._scale, self._kind, self._has_status = version.scale, kind, version.has_status
        self._defaults, self._embedded = decoding.defaults(version), decoding.embedded_resources(version)
        self._values, self._unique = values.Validator(version.schema), lists.Uniqueness(version.schema)
        status = version.schema.properties.get("status")
        self._status = values.Validator(status) if status is not None else None
        self._rules = Validator(version.schema)
        # What rules say of unchanged values, until the end of the write: one write is made at a time.
        self._noticed: list[str] = []

    def default(self, obj: Object, cluster: Cluster) -> None:
        self._defaults.fill(obj)

    def prepare_create(self, obj: Object, cluster: Cluster) -> None:
        """Remove a status that somebody has set in admission."""
        if self._has_status:
            obj.pop("status", None)

    def prepare_update(self, new: Object, old: Object, cluster: Cluster) -> None:
        """Count a change of anything but metadata; the status, where it has a subresource, has been put back."""
        if {**new, "metadata": None} != {**old, "metadata": None}:
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def validate_create(self, obj: Object, cluster: Cluster) -> Sequence[FieldFault]:
        typed = self._typed(obj)
        faults: list[FieldError] = self._type_faults(typed) or [
            *on_create(obj["metadata"], namespaced=self._kind.namespaced, any_finalizer=True),
            *self._values.faults(typed),
            *self._scale_faults(obj),
        ]
        faults += [
            *self._embedded.faults(typed),
            *self._unique.faults(typed),
        ]
        faults += self._broken_rules(faults, typed, None)
        return self._named(faults, typed)

    def validate_update(self, new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
        typed, before = self._typed(new), self._typed(old)
        general, metadata = self._metadata_faults(new, old)
        faults: list[FieldError] = [
            *general,
            *(
                self._type_faults(typed)
                or [*metadata, *self._values.update_faults(typed, before), *self._scale_faults(new)]
            ),
            *self._embedded.faults(typed),
            *self._unique.update_faults(typed, before),
        ]
        faults += self._broken_rules(faults, typed, before)
        return self._named(faults, typed)

    def validate_status(self, new: Object, old: Object, cluster: Cluster) -> Sequence[FieldFault]:
        general, metadata = self._metadata_faults(new, old)
        faults = [*general, *metadata]
        if self._status is not None and "status" in new:
            faults += self._status.update_faults(new["status"], old.get("status"), "status")
        if self._scale is not None:
            faults += scale_rules.faults_of_status(new, self._scale)
        typed, before = self._typed(new), self._typed(old)
        faults += self._unique.update_faults(typed, before)
        return [*faults, *self._broken_rules(faults, typed, before)]

    def _metadata_faults(self, new: Object, old: Object) -> tuple[list[FieldError], list[FieldError]]:
        """Check changed metadata as all kinds of registries do, and then once more as that of custom resources does."""
        meta, was = new["metadata"], old["metadata"]
        if meta == was:
            return [], []
        own = [*on_update(meta, was, any_finalizer=True)]
        general = on_create(meta, namespaced=self._kind.namespaced, name_format=_any_name, any_finalizer=True)
        return [*general, *own], own

    def _type_faults(self, typed: Object) -> list[FieldError]:
        """Check kind and apiVersion (ValidateTypeMeta); nothing else is then said of the values."""
        wanted = {"kind": self._kind.kind, "apiVersion": self._kind.api_version}
        return [
            invalid(field, typed[field], f"must be {value}") for field, value in wanted.items() if typed[field] != value
        ]

    def _named(self, faults: list[FieldError], typed: Object) -> list[FieldError]:
        """Return the faults; of an object of another type, raise them by the name that it has itself."""
        if not faults or not self._type_faults(typed):
            return faults
        group, name = typed["apiVersion"].rpartition("/")[0], typed["metadata"].get("name") or ""
        raise statuses.invalid(typed["kind"], group, name, faults)

    def _broken_rules(self, faults: Sequence[FieldError], new: Object, old: Object | None) -> Sequence[FieldError]:
        """Evaluate the rules in CEL, unless values are so wrong that they would not be what rules expect."""
        self._noticed = []
        if not self._rules.has_rules:
            return ()
        if any(fault.reason in _BLOCKING for fault in faults):
            return [_NOT_CHECKED]
        return self._rules.faults(new, old, warn=self._noticed.append)

    def warn_of_create(self, obj: Object) -> Sequence[str]:
        return [*_of_finalizers(obj, _NEW), *self._noticed]

    def warn_of_change(self, new: Object, old: Object) -> Sequence[str]:
        return [*_of_finalizers(new, old), *self._noticed]

    def _scale_faults(self, obj: Object) -> Iterator[FieldError]:
        if self._scale is not None:
            yield from scale_rules.faults_of_spec(obj, self._scale)
            yield from scale_rules.faults_of_status(obj, self._scale)

    def _typed(self, obj: Object) -> Object:
        """Add the type, which a schema may say something of."""
        return {"apiVersion": self._kind.api_version, "kind": self._kind.kind, **obj}


# hasBlockingErr, which rules are not evaluated after.
_NOT_CHECKED = FieldError(
    "FieldValueInvalid",
    "<nil>",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)


def _any_name(name: str) -> Sequence[str]:
    """Accept the name of a stored object."""
    return ()


def _of_finalizers(obj: Object, old: Object) -> Sequence[str]:
    """Warn of added finalizers whose names say not whose they are (validateKubeFinalizerName)."""
    warnings = []
    added = set(obj["metadata"].get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
    for name in sorted(added):
        where = f"metadata.finalizers: {quote(name)}: "
        warnings += [where + problem for problem in label_key(name)]
        if "/" in name or name in _STANDARD_FINALIZERS:
            continue
        how = "a domain-qualified finalizer name" + (" including a path (/)" if "." in name else "")
        warnings.append(f"{where}prefer {how} to avoid accidental conflicts with other finalizer writers")
    return warnings
