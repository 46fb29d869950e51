"""PATCH with an applied configuration: it creates the object, or changes it, as ``managedfields.applies`` decides.

k8s.io/apiserver/pkg/endpoints/handlers/patch.go (applyPatcher).
"""

from __future__ import annotations

from dataclasses import replace

from drakit_api.kubernetes_objects import Object
from drakit_api.objects import restoring
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.endpoints.call import Call
from drakit_embedded.apiserver.managedfields import applies
from drakit_embedded.apiserver.writing import preconditions, writes
from drakit_embedded.apiserver.writing.intent import Intent
from drakit_embedded.apiserver.writing.patch_bodies import Patch


def apply(call: Call, patch: Patch, intent: Intent, *, subresource: str) -> writes.Written:
    """Create or merge; 409 if another manager owns what would change."""
    api, served, key = call.api, call.served, call.key
    writer, force = call.writer(subresource), call.query.flag("force")
    # Applying sets ``managedFields`` itself.
    intent = replace(intent, writer=None)

    def change(stored: Object) -> Object:
        if served.converter is not None and stored:
            stored = served.converter.from_storage(stored)
        found = applies.applied(writer, stored or None, patch.content, force=force)
        _check_repeated(call, patch)
        _check_names(call, found, created=not stored)
        try:
            return call.applied(served.strategy.restore(found, served.kind))
        except restoring.RestoreError as error:
            raise applies.unconvertible(served.kind, patch.content, str(error)) from None
        except statuses.StatusError as error:
            raise _unconvertible(error, call, patch.content) from None

    if key in served.collection.records:
        return writes.update(api, served, key, change, intent, subresource=subresource)
    if subresource:
        raise statuses.absent(served.kind.plural, served.kind.group, key[1])
    if refused := statuses.unstorable(key[1]):
        raise refused
    made = change({})
    preconditions.version_of(made)
    made["metadata"].pop("resourceVersion", None)
    return writes.create(api, served, key[0] or None, made, intent, instead=key[1])


def _unconvertible(error: statuses.StatusError, call: Call, config: Object) -> statuses.StatusError:
    """Turn the 400 of a body into the 500 of an applied configuration, in the words of FromUnstructured."""
    kind = call.served.kind
    prefix = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
    if not error.message.startswith(prefix):
        return error
    return applies.unconvertible(kind, config, restoring.self_read(error.message.removeprefix(prefix)))


def _check_repeated(call: Call, patch: Patch) -> None:
    """Report repeated keys, last of all checks."""
    validation = call.query.text("fieldValidation")
    if not patch.complaints or validation == "Ignore":
        return
    if validation == "Strict":
        lines = "\n".join(patch.complaints)
        why = f"error converting YAML to JSON: yaml: unmarshal errors:\n{lines}"
        raise statuses.bad_request(f"error strict decoding patch: {why}")
    call.warnings += [line.strip() for line in patch.complaints]


def _check_names(call: Call, found: Object, *, created: bool) -> None:
    meta, kind, name = found["metadata"], call.served.kind, call.key[1]
    if created and meta.get("uid"):
        why = f"uid mismatch: the provided object specified uid {meta['uid']}, and no existing object was found"
        raise statuses.conflict(kind.plural, kind.group, name, why)
    statuses.check_name(meta.get("name"), name)
