"""From a target and a method to an answer: the verbs of the API.

Reads and writes are synchronous once the body is there, and long ones are made in threads (``Call.read``,
``Call.write``); only watches and what comes from containers take time. A request that needs answers from other
programs, as from webhooks, is run again from its verb on once they are there (``reruns``).
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TypeVar

import msgspec
from aiohttp import web

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.about import discovery
from drakit_embedded.apiserver.endpoints import apply_patches as applies
from drakit_embedded.apiserver.endpoints import pod_logs as logs
from drakit_embedded.apiserver.endpoints import reviews, token_requests
from drakit_embedded.apiserver.endpoints.call import Call
from drakit_embedded.apiserver.reading import conversions, get_options, list_options, lists
from drakit_embedded.apiserver.reading.list_options import ListOptions
from drakit_embedded.apiserver.reading.watching import Watch
from drakit_embedded.apiserver.registry.custom import unreadable
from drakit_embedded.apiserver.registry.custom.unreadable import UnreadableError
from drakit_embedded.apiserver.reruns import driver
from drakit_embedded.apiserver.scheme import stored_only
from drakit_embedded.apiserver.statuses import StatusError
from drakit_embedded.apiserver.storage.store import Record
from drakit_embedded.apiserver.wire import bodies, forms, headers, negotiation, presentation
from drakit_embedded.apiserver.wire.responses import answer, warn
from drakit_embedded.apiserver.writing import deletes, expressions, patch_bodies, patches, podverbs, scales, writes
from drakit_embedded.apiserver.writing.intent import Intent
from drakit_embedded.apiserver.writing.patch_bodies import Patch
from drakit_embedded.serving.background import Stretch

_encode = msgspec.json.Encoder().encode
# Bytes from which a list is sent in pieces.
_ONE_PIECE = 1024 * 1024
# Records up to which a table is made at once, in some 30 ms.
_FEW = 500
T = TypeVar("T")
Verb = Callable[[Call], Awaitable[web.StreamResponse]]


async def serve(call: Call) -> web.StreamResponse:
    """Answer a request for a collection, an object or a subresource."""
    handler, seconds = _handler(call), driver.SECONDS
    try:
        if call.query.given("timeout") and not _is_long(call):
            call.query.check_timeout()
            asked = call.query.timeout()
            seconds = asked if 0 < asked < seconds else seconds
        return await driver.settled(lambda: handler(call.anew()), seconds)
    except statuses.StatusError as error:
        told = _told(error, call)
        told.warnings = call.warnings
        raise told from None


def _told(error: statuses.StatusError, call: Call) -> statuses.StatusError:
    """Word it as the verb does if a stored object cannot be read."""
    if not isinstance(error, UnreadableError) or call.request.method not in ("GET", "DELETE"):
        return error
    return error.of_read() if call.target.name is not None else unreadable.of_list([error])


def _is_long(call: Call) -> bool:
    """Check whether a request may take as long as the client likes."""
    return call.watched or call.query.flag("watch") or call.of_container


def _handler(call: Call) -> Verb:
    """Find the handler of a request; 404 for a path that does not exist, 405 for a method that it does not take."""
    target, method, kind = call.target, call.request.method, call.served.kind
    if kind.definition is not None:
        return _custom_handler(call)
    _check_scope(call)
    verbs: Mapping[str, Verb]
    if kind.is_review:
        verbs = _REVIEW
    elif call.watched:
        verbs = _WATCHED
    elif target.name is None:
        verbs = _COLLECTION
    elif target.subresource is None:
        verbs = _OBJECT
    elif target.subresource in kind.subresources:
        verbs = _SUBRESOURCES.get(target.subresource, _STATUS)
    else:
        raise statuses.unknown_resource()
    found = verbs.get(method)
    if found is None or (kind.is_read_only and method != "GET"):
        raise statuses.method_not_allowed(stored_only.limit(kind))
    return found


def _custom_handler(call: Call) -> Verb:
    """Find the handler of a request for a custom resource (serveResource of crdHandler)."""
    target, method, kind = call.target, call.request.method, call.served.kind
    if target.subresource is not None and target.subresource not in kind.subresources:
        raise statuses.not_found(kind.plural, kind.group, target.name or "")
    if target.subresource is not None:
        verbs: Mapping[str, Verb] = _SUBRESOURCES.get(target.subresource, _STATUS)
    else:
        verbs = _WATCHED if call.watched else _COLLECTION if target.name is None else {**_OBJECT, "POST": _create}
    found = verbs.get(method)
    if found is not None:
        return found
    if target.name is None and method in ("PUT", "PATCH"):
        raise statuses.bad_request("name must be provided")
    raise statuses.not_supported(kind.plural, kind.group, _VERBS.get(method, ""))


def _check_scope(call: Call) -> None:
    target, kind = call.target, call.served.kind
    is_review = kind.is_review
    if (not kind.namespaced and target.namespace is not None) or (is_review and target.name is not None):
        raise statuses.unknown_resource()
    if kind.namespaced and target.namespace is None:
        if target.name is not None or is_review:
            raise statuses.unknown_resource()
        if call.request.method != "GET":
            raise statuses.method_not_allowed()


async def _review(call: Call) -> web.StreamResponse:
    forms.check_untabled(call.accept)
    intent = call.intent("CreateOptions", "binding" if call.served.kind.plural == "bindings" else "")
    return call.answer(_encode(await reviews.review(call.api, call.served, call, intent)), 201)


async def _list(call: Call) -> web.StreamResponse:
    watching = call.watched or call.query.flag("watch")
    form = call.form(listing=not watching, watching=watching)
    # Only the older watch paths have a name here: one object is watched.
    options = list_options.decode(call.served, call.query, watch=watching, name=call.target.name)
    if watching:
        return await _watch(call, options, form)
    page = await _page(call, options)
    listed = await _in_background(call, lambda: form.many(*page), len(page.records), quick=form.is_stored)
    if listed.size <= _ONE_PIECE or not presentation.is_plain(call.request):
        return call.answer(listed.whole())
    response = web.StreamResponse(headers=headers.JSON)
    warn(response, call.warnings)
    response.content_length = listed.size
    await response.prepare(call.request)
    for chunk in listed.chunks():
        await response.write(chunk)
    await response.write_eof()
    return response


async def _page(call: Call, options: ListOptions) -> lists.Page:
    found = lists.found(call.api.store, call.served, call.target.namespace, options)
    if options.selection:
        await conversions.prepared(call.served, found.records)
    page = await _in_background(call, found.page, len(found.records), quick=not options.selection)
    await conversions.prepared(call.served, page.records)
    return page


async def _in_background(call: Call, work: Callable[[], T], records: int, *, quick: bool) -> T:
    """Run ``work`` on many records: in the background if there are more than a few, unless it is ``quick``."""
    return work() if quick or records <= _FEW else await call.api.background.run(work)


async def _watch(call: Call, options: ListOptions, form: forms.Form) -> web.StreamResponse:
    if "watch" not in discovery.verbs(call.served):
        raise statuses.not_supported(call.served.kind.plural, call.served.kind.group, "watch")
    watch = Watch(call.api.store, call.served, call.target.namespace, options, form)
    response = web.StreamResponse(headers=headers.JSON)
    response.enable_chunked_encoding()
    warn(response, call.warnings)
    await response.prepare(call.request)
    await call.watches.run(watch, response)
    return response


async def _create(call: Call) -> web.StreamResponse:
    # The order of what is refused first is that of k8s.io/apiserver/pkg/endpoints/handlers, another for each verb.
    form = call.form()
    bodies.media_type(call.content_type)
    await call.body()
    intent = call.intent("CreateOptions")
    obj = await call.object()
    known = await expressions.compiled(obj, call.served.kind, call.api.gates, call.api.background)
    written = await call.write(lambda: writes.create(call.api, call.served, call.target.namespace, obj, intent), known)
    return _answer(call, form, written, call.served.stored_only)


async def _delete_collection(call: Call) -> web.StreamResponse:
    if "deletecollection" not in discovery.verbs(call.served):
        raise statuses.method_not_allowed()
    form = call.form(listing=True)
    options = list_options.decode(call.served, call.query)
    wanted = deletes.options(await call.body(), call.content_type, call.query)
    # Objects to delete are listed in pages, which matters for lists at a version.
    options = options._replace(limit=options.limit or sys.maxsize)
    page = await _page(call, options)
    stretch = Stretch()
    for record in page.records:
        delete = partial(_delete_listed, call, record, wanted)
        await driver.settled(partial(call.api.turns.take, delete, len(record.body)))
        await stretch.pause()
    # Answer with the objects as listed, not as deleted (DeleteCollection in registry/generic/registry/store.go).
    return call.answer(form.many(*page).whole())


def _delete_listed(call: Call, record: Record, wanted: deletes.Options) -> None:
    if record.key in call.served.collection.records:
        deletes.delete(call.api, call.served, record.key, wanted, call.plain_intent(), listed=True)


async def _get(call: Call) -> web.StreamResponse:
    if negotiation.takes_protobuf_only(call.accept) and (response := _in_protobuf(call)) is not None:
        return response
    form = call.form()
    get_options.check(call.query, call.api.store)
    return call.answer(form.one(call.served.anew(call.record())))


def _in_protobuf(call: Call) -> web.StreamResponse | None:
    """Encode the object as protobuf; None if its kind has no protobuf message."""
    # Imported here, as none of a cluster's own clients asks for it.
    from drakit_embedded.apiserver.wire import protobuf_answers

    kind = call.served.kind
    if not protobuf_answers.has_message(kind.api_version, kind.kind):
        return None
    get_options.check(call.query, call.api.store)
    body = protobuf_answers.encode(kind.kind, kind.api_version, call.served.object(call.record()))
    response = web.Response(body=body, headers={**headers.UNCACHED, "Content-Type": negotiation.PROTOBUF})
    warn(response, call.warnings)
    return response


async def _write(call: Call, subresource: str = "") -> web.StreamResponse:
    form = call.form()
    await call.body()
    intent = call.intent("UpdateOptions", subresource)
    obj = await call.object(named=True)
    known = await expressions.compiled(obj, call.served.kind, call.api.gates, call.api.background)
    written = await call.write(
        lambda: writes.update(call.api, call.served, call.key, obj, intent, subresource=subresource), known
    )
    return _answer(call, form, written, "" if subresource else call.served.stored_only)


def _answer(call: Call, form: forms.Form, written: writes.Written, warning: str) -> web.Response:
    """Answer with the object that was written; ``warning`` is for a kind that nothing acts on, and empty for others."""
    call.warnings += [*written.warnings, warning] if warning else written.warnings
    return call.answer(form.one(written.record), 201 if written.created else 200)


async def _change(call: Call, subresource: str = "") -> web.StreamResponse:
    content_type = call.content_type
    patch_bodies.check_type(content_type, call.served.kind)
    applying = patch_bodies.type_of(content_type) == "apply"
    form = call.form()
    raw = await call.body()
    intent = call.intent("PatchOptions", subresource, verb="patch", applying=applying)
    # Apply can create an object, but not by its status.
    may_be_new = applying and not subresource
    find = (lambda: None) if may_be_new else call.record
    validation = call.query.text("fieldValidation")
    patch = await call.read(lambda: patch_bodies.parse(raw, content_type, find, validation=validation), raw)
    known = await expressions.compiled(patch.content, call.served.kind, call.api.gates, call.api.background)
    written = await call.write(lambda: _patched(call, patch, intent, subresource), known)
    return _answer(call, form, written, "" if subresource else call.served.stored_only)


def _patched(call: Call, patch: Patch, intent: Intent, subresource: str) -> writes.Written:
    if patch.type == "apply":
        return applies.apply(call, patch, intent, subresource=subresource)
    is_typed, restore = call.served.kind.definition is None, call.served.strategy.restore
    reader = patches.Reader(call.patched, call.query.text("fieldValidation"), call.warnings, restore, is_typed)
    change = patches.change(call.served, call.key, patch, reader)
    return writes.update(call.api, call.served, call.key, change, intent, subresource=subresource)


async def _delete(call: Call) -> web.StreamResponse:
    wanted = deletes.options(await call.body(), call.content_type, call.query)
    form = call.form()
    done = await call.write(lambda: deletes.delete(call.api, call.served, call.key, wanted, call.plain_intent()))
    kind = call.served.kind
    if done.gone and not call.served.strategy.returns_deleted:
        # An object may have another name than its path (``writes.create``).
        name = done.record.object()["metadata"]["name"]
        return call.answer(_encode(statuses.success(kind.plural, kind.group, name, done.record.uid)))
    waits = not done.gone and wanted.orphanDependents is False
    return call.answer(form.one(done.record), 202 if waits else 200)


async def _get_status(call: Call) -> web.StreamResponse:
    if call.served.kind.group == "resource.k8s.io":
        # The status of these kinds has no table: kubectl gets the object, and formats it itself.
        return call.answer(forms.Plain(call.served).one(call.record()))
    return await _get(call)


async def _put_status(call: Call) -> web.StreamResponse:
    return await _write(call, "status")


async def _patch_status(call: Call) -> web.StreamResponse:
    return await _change(call, "status")


def _part(subresource: str) -> dict[str, Verb]:
    """Serve a subresource by which a part of the object is written."""

    async def put(call: Call) -> web.StreamResponse:
        return await _write(call, subresource)

    async def patch(call: Call) -> web.StreamResponse:
        return await _change(call, subresource)

    return {"GET": _get, "PUT": put, "PATCH": patch}


async def _get_scale(call: Call) -> web.StreamResponse:
    scale = scales.scale(call.served, call.served.anew(call.record()))
    return answer(_encode(forms.scale_table(scale) if forms.wants_table(call.accept) else scale))


async def _put_scale(call: Call) -> web.StreamResponse:
    intent = call.intent("UpdateOptions", "scale")
    try:
        wanted, warnings = scales.read(await call.raw_object("Scale"), call.query.text("fieldValidation"))
    except StatusError as error:
        raise scales.unreadable(error, call.served.kind) from None
    call.warnings += warnings
    return await _scaled(call, lambda: wanted, intent)


async def _patch_scale(call: Call) -> web.StreamResponse:
    patch_bodies.check_type(call.content_type, call.served.kind)
    intent = call.intent("PatchOptions", "scale", applying=patch_bodies.type_of(call.content_type) == "apply")
    patch = patch_bodies.parse(await call.body(), call.content_type, validation=call.query.text("fieldValidation"))
    if patch.type == "apply" and call.served.kind.definition is not None:
        force = call.query.flag("force")
        raise scales.refuse_apply(call.served, call.record(), patch.content, call.writer("scale"), force=force)
    validation, warnings = call.query.text("fieldValidation"), call.warnings
    return await _scaled(call, lambda: scales.patched(call.served, call.record(), patch, validation, warnings), intent)


async def _scaled(call: Call, wanted: Callable[[], Object], intent: Intent) -> web.StreamResponse:
    def write() -> Object:
        scale = wanted()
        scales.check_named(scale, call.key)
        return scales.set_replicas(call.api, call.served, call.key, scale, intent)

    scaled = await call.write(write)
    call.warnings += [call.served.stored_only] if call.served.stored_only else ()
    return call.answer(_encode(scaled))


async def _bind(call: Call) -> web.StreamResponse:
    intent = call.intent("CreateOptions", "binding")
    obj = await call.raw_object("Binding")
    await call.write(lambda: podverbs.bind(call.api, call.served, call.key, obj, intent))
    return call.answer(_encode(podverbs.SUCCESS), 201)


async def _evict(call: Call) -> web.StreamResponse:
    intent = call.intent("CreateOptions", "eviction")
    obj = await call.raw_object("Eviction")
    await call.write(lambda: podverbs.evict(call.api, call.served, call.key, obj, intent))
    return call.answer(_encode(podverbs.SUCCESS), 201)


async def _finalize(call: Call) -> web.StreamResponse:
    intent = call.intent("UpdateOptions", "finalize")
    obj = await call.object(named=True)
    written = await call.write(lambda: writes.finalize(call.api, call.served, call.key, obj, intent))
    return call.answer(forms.Plain(call.served).one(written.record))


async def _log(call: Call) -> web.StreamResponse:
    return await logs.stream(call.api, call.record(), call.query, call.request)


async def _token(call: Call) -> web.StreamResponse:
    intent = call.intent("CreateOptions", "token")
    obj = await call.raw_object("TokenRequest")
    made = token_requests.answer(call.api, call.served, call.record(), obj, intent)
    return call.answer(_encode(made), 201)


async def _connect(call: Call) -> web.StreamResponse:
    # Imported here, as few clients look into containers.
    from drakit_embedded.apiserver.endpoints import pod_streams

    return await pod_streams.connect(call)


_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_REVIEW = {"POST": _review}
_WATCHED = {"GET": _list}
_COLLECTION = {"GET": _list, "POST": _create, "DELETE": _delete_collection}
_OBJECT = {"GET": _get, "PUT": _write, "PATCH": _change, "DELETE": _delete}
_CONNECT = {"GET": _connect, "POST": _connect}
_STATUS = {"GET": _get_status, "PUT": _put_status, "PATCH": _patch_status}
_SUBRESOURCES: dict[str, Mapping[str, Verb]] = {
    "status": _STATUS,
    "approval": _part("approval"),
    "ephemeralcontainers": _part("ephemeralcontainers"),
    "scale": {"GET": _get_scale, "PUT": _put_scale, "PATCH": _patch_scale},
    "binding": {"POST": _bind},
    "eviction": {"POST": _evict},
    "finalize": {"PUT": _finalize},
    "log": {"GET": _log},
    "token": {"POST": _token},
    "attach": _CONNECT,
    "exec": _CONNECT,
    "portforward": _CONNECT,
}
