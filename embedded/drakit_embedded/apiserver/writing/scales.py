"""The scale subresource: replicas of a workload, seen and set without the rest of it (autoscaling/v1 Scale)."""

from __future__ import annotations

from dataclasses import replace

from drakit_api.golang.gostrings import quote
from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.managedfields import applies, conflicts, scaling
from drakit_embedded.apiserver.managedfields.updates import Writer
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.registry.custom import scale_rules
from drakit_embedded.apiserver.scheme import structures
from drakit_embedded.apiserver.scheme.definitions import Scale
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import Cause, StatusError
from drakit_embedded.apiserver.storage.store import Key, Record
from drakit_embedded.apiserver.wire import bodies, selector_texts
from drakit_embedded.apiserver.writing import patches, preconditions, writes
from drakit_embedded.apiserver.writing.intent import Intent
from drakit_embedded.apiserver.writing.patch_bodies import Patch

# What stands for the replicas of a custom resource that has none, where its Scale is changed.
_UNSET = -(2**31)
_BAD_REQUEST = 400
# The kind of the subresource, which is of no group's resources.
_SCALE = Kind("autoscaling", "v1", "scales", "Scale", namespaced=True)


def scale(served: Served, record: Record, *, absent: int | None = None) -> Object:
    """Build the Scale of an object. That of a custom resource without replicas has ``absent``, if that is given.

    Raises:
        StatusError: 500 for a custom resource whose replicas are no number, or are absent where they must not be.
    """
    obj, paths = served.stored(record), _paths(served.kind)
    if paths is None:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        wanted, there, selector = spec.get("replicas"), status.get("replicas"), selector_texts.printed(_selector(spec))
        return _scale(obj["metadata"], wanted, {"replicas": there or 0, "selector": selector})
    try:
        wanted, there = scale_rules.number(obj, paths.replicas), scale_rules.number(obj, paths.status_replicas)
        selector = scale_rules.text(obj, paths.selector) if paths.selector else ""
    except scale_rules.WrongValue as error:
        raise statuses.StatusError(500, "", str(error)) from None
    if wanted is None and absent is None:
        raise statuses.internal(f"the spec replicas field {quote(paths.paths[0])} does not exist")
    wanted = absent if wanted is None else wanted
    shown = {"replicas": there or 0, **({"selector": selector} if selector else {})}
    return _scale(obj["metadata"], wanted, shown)


def _scale(meta: Object, replicas: int | None, status: Object) -> Object:
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector(spec: Object) -> Object:
    """Read the selector of pods; a ReplicationController, which is older, has a map of labels for it."""
    selector = spec.get("selector") or {}
    is_plain = all(isinstance(value, str) for value in selector.values())
    return {"matchLabels": selector} if is_plain else selector


def read(obj: Object, validation: str) -> tuple[Object, list[str]]:
    """Decode the Scale in a body, and the warnings about it; 400 if it is none."""
    made, warnings = structures.decode(bodies.typed(obj, _SCALE), _SCALE, validation)
    return {**made, "metadata": made.get("metadata") or {}}, warnings


def unreadable(error: StatusError, kind: Kind) -> StatusError:
    """Build the refusal of a Scale that cannot be read.

    For that of a custom resource, upstream's words need a type that is not registered where it looks for it.
    """
    if kind.definition is None or error.code != _BAD_REQUEST:
        return error
    return statuses.bad_request('no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"')


def patched(served: Served, record: Record, patch: Patch, validation: str, warnings: list[str]) -> Object:
    """Apply a patch to the Scale of an object; 422 if what comes out is none."""

    def incoming(obj: Object) -> Object:
        made, found = read(obj, validation)
        warnings.extend(found)
        return made

    reader = patches.Reader(incoming, validation, warnings, has_internal_type=served.kind.definition is None)
    found = patches.plain(scale(served, record, absent=_UNSET), patch)
    return patches.read(_SCALE, record.key, patch, found, reader)


def check_named(scale: Object, key: Key) -> None:
    """Check that a Scale has the name and the namespace in the URL; 400 if it has not."""
    statuses.check_name(scale["metadata"].get("name"), key[1])
    statuses.check_namespace(scale["metadata"].get("namespace"), key[0])


def set_replicas(api: Api, served: Served, key: Key, wanted: Object, intent: Intent) -> Object:
    """Set the replicas to those of a Scale; the Scale as it is then. Admission sees Scales, not the whole object.

    ScaleREST.Update of k8s.io/kubernetes/pkg/registry/apps/deployment/storage/storage.go.
    """
    kind, name = served.kind, key[1]
    record = served.collection.records.get(key)
    if record is None:
        raise statuses.absent(kind.plural, kind.group, name)
    before = _plain(scale(served, record, absent=0))
    request = intent.attributes("UPDATE", kind, key, wanted, before, "scale")
    api.admission.admit(request, api)
    # A webhook may have changed it to anything.
    wanted = structures.decode(wanted, _SCALE, "Ignore")[0]
    replicas, meta = (wanted.get("spec") or {}).get("replicas") or 0, wanted.get("metadata") or {}
    _check(kind, name, replicas)

    def change(obj: Object) -> Object:
        preconditions.check_update(kind, obj, uid=meta.get("uid"))
        _set(obj, replicas, meta, served, intent)
        request.object = {**before, "spec": {"replicas": replicas} if replicas else {}}
        api.admission.validate(request, api)
        return obj

    changed = writes.update(api, served, key, change, replace(intent, writer=None, admitted=True)).record
    return scale(served, changed, absent=0)


def _check(kind: Kind, name: str, replicas: int) -> None:
    """Check the wanted replicas; those of a custom resource are checked with the whole object."""
    paths = _paths(kind)
    if paths is not None and replicas == _UNSET:
        raise statuses.bad_request(f"the spec replicas field {quote(paths.paths[0])} cannot be empty")
    if paths is None and replicas < 0:
        message = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise statuses.invalid("Scale", "autoscaling", name, [Cause("FieldValueInvalid", "spec.replicas", message)])


def _set(obj: Object, replicas: int, meta: Object, served: Served, intent: Intent) -> None:
    """Set the replicas of an object, and who owns them."""
    path = _path(served.kind)
    # The update checks the version, as for all kinds; without one, what is stored is changed.
    version = meta.get("resourceVersion") or (
        None if served.strategy.unconditional_update else obj["metadata"]["resourceVersion"]
    )
    obj["metadata"]["resourceVersion"] = version
    before = _holder(obj, path).get(path[-1]) or 0
    if intent.writer is not None:
        entries = obj["metadata"].pop("managedFields", [])
        if entries := scaling.after(intent.writer, entries, before=before, now=replicas, path=path):
            obj["metadata"]["managedFields"] = entries
    _holder(obj, path)[path[-1]] = replicas


def _plain(obj: Object) -> Object:
    """Leave out what says of which type an object is, as everywhere inside the server."""
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def refuse_apply(served: Served, record: Record, config: Object, writer: Writer, *, force: bool) -> StatusError:
    """Build the refusal of an apply to the scale of a custom resource: 409 for conflicts, otherwise upstream's 500.

    Raises:
        StatusError: for a configuration that is none of a Scale.
    """
    applies.check(_SCALE, config)
    obj, path = served.stored(record), _path(served.kind)
    if not force and (config.get("spec") or {}).get("replicas") != _holder(obj, path).get(path[-1]):
        fought = scaling.owners(writer, obj["metadata"].get("managedFields") or [], path)
        if fought:
            return conflicts.refusal(fought)
    meta = config.get("metadata") or {}
    where = f"{meta.get('namespace') or ''}/{meta.get('name') or ''}; autoscaling/v1, Kind=Scale"
    why = f"request to convert CR to an invalid group/version: {_SCALE.api_version}"
    return StatusError(500, "", f"failed to convert new object ({where}) to proper version: {why}")


def _paths(kind: Kind) -> Scale | None:
    """Find where a custom resource has what its Scale shows; None for a built-in kind."""
    return kind.definition.versions[kind.version].scale if kind.definition is not None else None


def _path(kind: Kind) -> tuple[str, ...]:
    paths = _paths(kind)
    return paths.replicas if paths is not None else scaling.PATH


def _holder(obj: Object, path: tuple[str, ...]) -> Object:
    """Find the object that has the replicas; it is made if there is none."""
    for key in path[:-1]:
        obj = obj.setdefault(key, {})
    return obj
