"""Create and update: the steps that every write goes through, whatever the kind.

The order is that of k8s.io/apiserver/pkg/registry/generic/registry/store.go and registry/rest/{create,update}.go, with
the two chains of ``admission`` where pkg/endpoints/handlers has them. All of it is synchronous between reading the
stored object and committing the new one: updates need no locks, no retries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import msgspec

from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ObjectMeta
from drakit_api.validation.metadata import on_any_update, on_create
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.admission import claim_status_access
from drakit_embedded.apiserver.admission.attributes import Attributes
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.authorization.access import Access
from drakit_embedded.apiserver.managedfields import reset_fields, updates
from drakit_embedded.apiserver.managedfields.entries import same_but_times
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.scheme.kinds import Kind
from drakit_embedded.apiserver.statuses import MODIFIED, FieldFault
from drakit_embedded.apiserver.storage.limits import TooLargeError
from drakit_embedded.apiserver.storage.store import Key, Record
from drakit_embedded.apiserver.wire import bodies
from drakit_embedded.apiserver.writing import deletes, preconditions
from drakit_embedded.apiserver.writing.intent import OWN, Intent

_encode = msgspec.json.Encoder().encode
# How a request turns the stored object (a private copy, or an empty one) into the one it wants.
Change = Callable[[Object], Object]
_SYSTEM_FIELDS = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
)
_HOLDING_NOTHING = nullcontext()
# maxNameGenerationCreateAttempts
_NAMES_TRIED = 8
_NEVER_SET = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


class Written(NamedTuple):
    """The outcome of a write: the record as stored or, in a dry run, as it would be."""

    record: Record
    created: bool
    warnings: Sequence[str] = ()


def incoming(
    api: Api,
    served: Served,
    obj: Object,
    namespace: str | None,
    *,
    validation: str,
    warnings: list[str],
    applied: bool = False,
) -> Object:
    """Convert a parsed body to the storage version, and check its kind, structure and namespace.

    ``validation`` is the request's ``fieldValidation``; warnings for the client are appended to ``warnings``.
    ``applied`` is for what an apply has merged.
    """
    if served.kind.definition is None:
        obj = bodies.typed(obj, served.kind)
    decode = (served.strategy.decode_applied if applied else None) or served.strategy.decode
    obj, found = decode(obj, served.kind, validation, api)
    warnings += found
    meta = obj.pop("metadata", {})
    obj = {"metadata": meta, **obj}
    if namespace is None:
        meta.pop("namespace", None)
    else:
        statuses.check_namespace(meta.get("namespace"), namespace)
        meta["namespace"] = namespace
    if served.converter is not None:
        obj = served.converter.to_storage(obj)
    return obj


def create(
    api: Api, served: Served, namespace: str | None, obj: Object, intent: Intent = OWN, *, instead: str = ""
) -> Written:
    """POST to a collection. ``obj`` is as ``incoming`` returned it.

    ``instead`` is the name in the path of a PUT or PATCH that makes the object: who may update may not always create.
    """
    kind, strategy, user = served.kind, served.strategy, intent.user
    meta: ObjectMeta = obj["metadata"]
    _check_definition(kind, obj)
    status = _take_off(served, obj)
    strategy.default(obj, api)
    if intent.writer is not None:
        # Another version may show the status elsewhere, too, where fields of it are owned.
        updates.track(intent.writer, None, {**obj, "status": status} if status and served.converter else obj)
    place = namespace or "", meta.get("name", "")
    request = intent.attributes("CREATE", kind, place, obj, instead=instead)
    _admit(request, api)
    meta = obj["metadata"]
    _bring_up(served, obj, api, dry_run=intent.dry_run)
    request.name = request.name or meta["name"]
    if instead and not user.superuser:
        right = Access(user, "create", kind.group, kind.plural, namespace=namespace or "", name=instead)
        api.authorizer.check(right)
    api.admission.validate(request, api)
    _settle(served, obj, request)
    # What a PUT or PATCH makes is stored under the name in its path, even if a mutating policy has given it another.
    key: Key = (namespace or "", instead or meta["name"])
    form = _new_form(api, served, key, obj, intent)
    request.commit()
    with _holding(served, None, obj, api, intent):
        record = _put(api, served, key, obj, form, intent)
    record.is_valid = True
    return Written(record, True, strategy.warn_of_create(obj))


def _new_form(api: Api, served: Served, key: Key, obj: Object, intent: Intent) -> Object:
    """Convert a new object to the form in which it is stored, if its name is free."""
    if not intent.dry_run:
        # Upstream's storage reports this, which a dry run does not reach.
        if _has_version(obj):
            raise statuses.StatusError(500, "", "resourceVersion should not be set on objects to be created")
        # The version that the store gives it is its place among the changes.
        obj["metadata"]["resourceVersion"] = "0"
    form = _canonical(api, served, obj)
    if key in served.collection.records:
        raise _taken(served, key, obj)
    served.foresee(key, form)
    return form


def _admit(request: Attributes, api: Api) -> None:
    """Run the mutating chain; 400 if it has moved the object to another namespace (rest/meta.go)."""
    api.admission.admit(request, api)
    if not request.changed or request.object is None:
        return
    meta: ObjectMeta = request.object["metadata"]
    if request.namespace:
        statuses.check_namespace(meta.get("namespace"), request.namespace)
        meta["namespace"] = request.namespace
    else:
        meta.pop("namespace", None)


def _settle(served: Served, obj: Object, request: Attributes) -> None:
    """Give an object that was changed in admission the form in which it is stored."""
    if request.changed and served.strategy.settle is not None:
        served.strategy.settle(obj)


def _put(api: Api, served: Served, key: Key, obj: Object, form: Object, intent: Intent) -> Record:
    """Store an object; one that is too large without saying who owns its fields, before the client hears of it.

    isTooLargeError in k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go, which leaves out apply patches.
    """
    put = partial(api.store.put, served.collection, key, stored_in=served.stored_in, dry_run=intent.dry_run)
    try:
        return put(obj, form)
    except TooLargeError:
        if intent.writer is None or not obj["metadata"].get("managedFields"):
            raise
    for each in (obj, form):
        each["metadata"].pop("managedFields", None)
    served.foresee(key, form)
    return put(obj, form)


def _holding(
    served: Served, before: Object | None, after: Object, api: Api, intent: Intent
) -> AbstractContextManager[None]:
    """Build the context that stores an object's allocations (an IPAddress) with it; a dry run stores nothing."""
    holding = served.strategy.holding
    return _HOLDING_NOTHING if holding is None or intent.dry_run else holding(before, after, api)


def _check_definition(kind: Kind, obj: Object) -> None:
    """Refuse new objects of a definition that is being deleted (forbidCreateAdmission of apiextensions-apiserver)."""
    if kind.definition is not None and kind.definition.is_terminating:
        why = "create not allowed while custom resource definition is terminating"
        raise statuses.forbidden(kind.plural, kind.group, obj["metadata"].get("name", ""), why)


def _take_off(served: Served, obj: Object) -> Object | None:
    """Remove what a create may not set; returns the status, if it is among that."""
    for field in _NEVER_SET:
        obj["metadata"].pop(field, None)
    if "status" in served.kind.subresources and not served.strategy.status_on_create:
        status: Object | None = obj.pop("status", None)
        return status
    return None


def _bring_up(served: Served, obj: Object, api: Api, *, dry_run: bool) -> None:
    """Name it, allocate and prepare it by the rules of its kind, and refuse what is not valid (rest/create.go)."""
    kind, strategy, meta = served.kind, served.strategy, obj["metadata"]
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = _free_name(served, meta)
    meta["uid"] = metadata.new_uid()
    meta["creationTimestamp"] = metadata.timestamp()
    if strategy.generation:
        meta["generation"] = 1
    if strategy.begin_create is not None:
        strategy.begin_create(obj, api, dry_run=dry_run)
    strategy.prepare_create(obj, api)
    faults: list[FieldFault] = [*strategy.validate_create(obj, api)]
    if not strategy.owns_metadata:
        named, any_finalizer = strategy.name_format, strategy.any_finalizer
        faults[:0] = on_create(meta, namespaced=kind.namespaced, name_format=named, any_finalizer=any_finalizer)
    if faults:
        raise statuses.invalid(kind.kind, kind.group, meta.get("name", ""), faults)


def _has_version(obj: Object) -> bool:
    """Check whether a new object says that it has a version; one that is no number is overlooked here."""
    try:
        return preconditions.version_of(obj) != 0
    except statuses.StatusError:
        return False


def _free_name(served: Served, meta: Object) -> str:
    """Generate a name that is free; the last of those tried if none was (createWithGenerateNameRetry)."""
    name = ""
    for _ in range(_NAMES_TRIED):
        name = metadata.generated_name(meta["generateName"])
        if (meta.get("namespace") or "", name) not in served.collection.records:
            break
    return name


def _taken(served: Served, key: Key, obj: Object) -> statuses.StatusError:
    """Build the refusal of a name that is in use; it says if the name was generated, or its object is being deleted."""
    there = served.collection.records[key].object()["metadata"]
    generated, leaving = bool(obj["metadata"].get("generateName")), bool(there.get("deletionTimestamp"))
    return statuses.already_exists(served.kind.plural, served.kind.group, key[1], generated=generated, leaving=leaving)


def update(
    api: Api, served: Served, key: Key, change: Object | Change, intent: Intent = OWN, *, subresource: str = ""
) -> Written:
    """Update an object or a subresource; ``change`` is the wanted object, or makes it from the stored one."""
    record = served.collection.records.get(key)
    if record is None:
        return _create_by_update(api, served, key, change, intent, subresource)
    old = served.stored(record)
    new = _wanted(served, record, old, change)
    served.strategy.default(new, api)
    _share_spec(served, new, old)
    if intent.writer is not None:
        updates.track(intent.writer, old, new)
    request = intent.attributes("UPDATE", served.kind, key, new, old, subresource)
    if not intent.admitted:
        _admit(request, api)
    new = _checked(api, served, new, old, request, intent, was_valid=record.is_valid)
    form = _canonical(api, served, new, old)
    if deletes.done(served, new, old):
        served.foresee(key, form)
        request.commit()
        # Watchers see the stored object; only this client sees the one it wanted (deleteWithoutFinalizers).
        record = api.store.draft(served.collection, key, new, form, stored_in=served.stored_in)
        if not intent.dry_run:
            deletes.remove(api, served, key, old)
    elif _is_change(served, record, form, old):
        served.foresee(key, form)
        request.commit()
        is_valid = record.is_valid or not subresource
        with _holding(served, old, new, api, intent):
            record = _put(api, served, key, new, form, intent)
        record.is_valid = is_valid
    return Written(record, False, () if subresource else _warnings_of_update(served, new, old))


def _checked(
    api: Api, served: Served, new: Object, old: Object, request: Attributes, intent: Intent, *, was_valid: bool
) -> Object:
    """Prepare what is to replace an object, and refuse what is not valid; returns ``new`` or another object."""
    _check_identity(served, new, old)
    new = _begun(api, served, new, old, intent, request.subresource)
    _validate(served, new, old, api, request, was_valid=was_valid)
    if not intent.admitted:
        request.object = new
        api.admission.validate(request, api)
        _settle(served, new, request)
    return new


def _is_change(served: Served, record: Record, form: Object, old: Object) -> bool:
    """Check whether something else is to be stored: other values, or the same in another version."""
    is_former = record.api_version != served.stored_in and bool(record.api_version)
    return is_former or _differs(form, old if served.is_stored else record.object())


def _warnings_of_update(served: Served, new: Object, old: Object) -> Sequence[str]:
    return [*served.strategy.warn_of_update(new), *served.strategy.warn_of_change(new, old)]


def _begun(api: Api, served: Served, new: Object, old: Object, intent: Intent, subresource: str) -> Object:
    """Restore what this kind of write may not change; returns ``new`` or another object."""
    if subresource in ("status", "approval"):
        return _with_status(served, new, old, api, subresource)
    if not subresource:
        if served.strategy.begin_update is not None:
            served.strategy.begin_update(new, old, api, dry_run=intent.dry_run)
        _with_spec(served, new, old, api)
    elif (part := served.strategy.parts.get(subresource)) is not None:
        part.prepare(new, old, api)
        _count(served, new, old)
    return new


def _wanted(served: Served, record: Record, old: Object, change: Object | Change) -> Object:
    """Compute what is to become of the stored object; 409 first if the change is meant for another one."""
    if callable(change):
        new = change(served.stored(record))
    else:
        preconditions.check_update(served.kind, old, uid=change["metadata"].get("uid"))
        new = change
    name = record.key[1]
    if new["metadata"].setdefault("name", name) != name:
        raise statuses.misnamed(new["metadata"]["name"], name)
    return new


def _share_spec(served: Served, new: Object, old: Object) -> None:
    """Share an equal long spec between both objects, so that later comparisons are quick."""
    spec = old.get("spec")
    if served.strategy.validate_same_spec is not None and spec is not None and new.get("spec") == spec:
        new["spec"] = spec


def _create_by_update(
    api: Api, served: Served, key: Key, change: Object | Change, intent: Intent, subresource: str
) -> Written:
    """Create an object by an update, which only some kinds allow; 404 for the others."""
    if not served.strategy.create_on_update or subresource or statuses.unstorable(key[1]):
        raise statuses.absent(served.kind.plural, served.kind.group, key[1])
    if not callable(change):
        preconditions.check_new(served.kind, key, uid=change["metadata"].get("uid"))
    wanted = change({}) if callable(change) else change
    preconditions.version_of(wanted)
    wanted["metadata"].pop("resourceVersion", None)
    return create(api, served, key[0] or None, wanted, intent, instead=key[1])


def finalize(api: Api, served: Served, key: Key, obj: Object, intent: Intent) -> Written:
    """Update the finalizers of a namespace by its ``finalize`` subresource."""

    def change(stored: Object) -> Object:
        preconditions.check_update(served.kind, stored, uid=obj["metadata"].get("uid"))
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        return {**obj, "spec": {"finalizers": finalizers} if finalizers else {}, "status": stored.get("status", {})}

    return update(api, served, key, change, intent, subresource="finalize")


def _check_identity(served: Served, new: Object, old: Object) -> None:
    """Check UID and version (optimistic concurrency), and set the fields that are the server's own."""
    kind, meta, was = served.kind, new["metadata"], old["metadata"]
    name = was["name"]
    version = preconditions.version_of(new)
    if version and version != int(was["resourceVersion"]):
        raise statuses.conflict(kind.plural, kind.group, name, MODIFIED)
    if not version and not served.strategy.unconditional_update:
        message = "Invalid value: 0: must be specified for an update"
        fault = statuses.Cause("FieldValueInvalid", "metadata.resourceVersion", message)
        raise statuses.invalid(kind.plural, kind.group, name, [fault])
    meta["resourceVersion"] = was["resourceVersion"]
    for field in _SYSTEM_FIELDS:
        # No seconds are some: the one of these fields that may be a pointer to nothing.
        given = meta.get(field) is not None if field == "deletionGracePeriodSeconds" else bool(meta.get(field))
        if not given:
            _restore(meta, was, field)
    _restore(meta, was, "generation")
    # Changes of these are ignored: the first always, the second once it is set.
    _restore(meta, was, "creationTimestamp")
    if was.get("deletionTimestamp"):
        _restore(meta, was, "deletionTimestamp")


def _differs(new: Object, old: Object) -> bool:
    """Check whether more than times in ``managedFields`` changed; otherwise nothing is stored (equality.go)."""
    return new != old and not _only_times_differ(new, old)


def _only_times_differ(new: Object, old: Object) -> bool:
    meta, was = new["metadata"], old["metadata"]
    now, before = meta.get("managedFields") or [], was.get("managedFields") or []
    return (
        same_but_times(now, before)
        and {**meta, "managedFields": None} == {**was, "managedFields": None}
        and {**new, "metadata": None} == {**old, "metadata": None}
    )


def _with_status(served: Served, new: Object, old: Object, api: Api, subresource: str) -> Object:
    """Write the status or approval only: all else (but, for most kinds, metadata) stays as it was."""
    wanted = {**old, "metadata": new["metadata"]}
    for field in reset_fields.metadata_kept(served.kind):
        _restore(wanted["metadata"], old["metadata"], field)
    wanted.pop("status", None)
    if new.get("status") is not None:
        wanted["status"] = new["status"]
    strategy = served.strategy
    (strategy.prepare_approval if subresource == "approval" else strategy.prepare_status)(wanted, old, api)
    return wanted


def _with_spec(served: Served, new: Object, old: Object, api: Api) -> None:
    """Write the object itself: the status stays as it was, and a changed spec increases ``generation``."""
    strategy = served.strategy
    if "status" in served.kind.subresources:
        _restore(new, old, "status")
    strategy.prepare_update(new, old, api)
    _count(served, new, old)


def _count(served: Served, new: Object, old: Object) -> None:
    """Increase ``generation`` if a part changed that counts."""
    strategy = served.strategy
    if strategy.generation and any(_part(new, part) != _part(old, part) for part in strategy.counted):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _part(obj: Object, path: str) -> Any:
    """Look up the value at a dotted path; None if it is empty."""
    found: Any = obj
    for key in path.split("."):
        found = (found or {}).get(key)
    return found or None


def _restore(new: Object, old: Object, field: str) -> None:
    if field in old:
        new[field] = old[field]
    else:
        new.pop(field, None)


def _validate(served: Served, new: Object, old: Object, api: Api, request: Attributes, *, was_valid: bool) -> None:
    """Validate the object; ``was_valid`` says whether this process has found the old one valid."""
    strategy, kind = served.strategy, served.kind
    meta: ObjectMeta = new["metadata"]
    faults: list[FieldFault] = []
    if not strategy.owns_metadata and meta != old["metadata"]:
        faults += on_any_update(meta, old["metadata"], any_finalizer=strategy.any_finalizer)
    if request.subresource == "status":
        if request.resource == claim_status_access.RESOURCE and not request.user.superuser:
            request.object = new
            faults += claim_status_access.faults(request, api)
        faults += strategy.validate_status(new, old, api)
    elif request.subresource == "approval":
        faults += strategy.validate_approval(new, old, api)
    elif request.subresource in strategy.parts:
        faults += strategy.parts[request.subresource].validate(new, old, api)
    elif not request.subresource:
        brief = strategy.validate_same_spec if was_valid else None
        if brief is not None and new.get("spec") == old.get("spec"):
            faults += brief(new, old)
        else:
            faults += strategy.validate_update(new, old, api)
    if faults:
        raise statuses.invalid(kind.kind, kind.group, meta.get("name", ""), faults)


def _canonical(api: Api, served: Served, obj: Object, old: Object | None = None) -> Object:
    """Convert an object to the form in which it is stored."""
    canonical = served.strategy.canonical
    if canonical is None:
        return obj
    if old is None or "spec" not in old or served.kind.definition is not None:
        return canonical(obj, api)
    if obj.get("spec") == old["spec"]:
        # The stored spec, most of the object, has that form already.
        return {**canonical({**obj, "spec": {}}, api), "spec": old["spec"]}
    form = canonical(obj, api)
    spec = form.get("spec")
    if isinstance(spec, msgspec.Raw) and spec == msgspec.Raw(_encode(old["spec"])):
        form["spec"] = old["spec"]
    return form
