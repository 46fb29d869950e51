"""PATCH with an applied configuration: it creates the object, or changes it, as ``managedfields.applies`` decides.

k8s.io/apiserver/pkg/endpoints/handlers/patch.go (applyPatcher).
"""

from __future__ import annotations

from drakit_api import embedded
from drakit_embedded.apiserver import statuses, writes
from drakit_embedded.apiserver.call import Call
from drakit_embedded.apiserver.managedfields import applies
from drakit_embedded.apiserver.statuses import Object


def apply(call: Call, config: Object, *, subresource: str | None, dry_run: bool) -> writes.Written:
    """Create or merge; 409 if another manager owns what would change."""
    api, served, key = call.api, call.served, call.key
    writer, force = call.writer(subresource), call.query.flag("force")

    def change(stored: Object) -> Object:
        if served.converter is not None and stored:
            stored = served.converter.from_storage(stored)
        found = applies.applied(writer, stored or None, config, force=force)
        _check_names(call, found, created=not stored)
        return call.incoming(embedded.print_anew(found), "Ignore")

    if key in served.collection.records:
        return writes.update(
            api, served, key, change, subresource=subresource, dry_run=dry_run, user=call.user, verb="patch"
        )
    if subresource is not None:
        raise statuses.not_found(served.kind.plural, served.kind.group, key[1])
    made = change({})
    made["metadata"].pop("resourceVersion", None)
    return writes.create(api, served, key[0] or None, made, dry_run=dry_run, user=call.user)


def _check_names(call: Call, found: Object, *, created: bool) -> None:
    meta, kind, name = found["metadata"], call.served.kind, call.key[1]
    if created and meta.get("uid"):
        why = f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing object was found"
        raise statuses.conflict(kind.plural, kind.group, name, why)
    if not meta.get("name"):
        raise statuses.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if meta["name"] != name:
        raise statuses.bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({name})"
        )
