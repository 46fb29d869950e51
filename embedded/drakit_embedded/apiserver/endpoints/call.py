"""One request for a resource, as the verbs see it: what it names, what it carries, how it wants its answer.

It stands apart from the verbs because some of them (apply, reviews) are large enough for modules of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from aiohttp import web

from drakit_api.kubernetes_objects import Object
from drakit_embedded.apiserver import statuses
from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.identity.users import User
from drakit_embedded.apiserver.managedfields import managers
from drakit_embedded.apiserver.managedfields.updates import Writer
from drakit_embedded.apiserver.reading.watching import Watches
from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.requests import Query, Target
from drakit_embedded.apiserver.scheme import metadata
from drakit_embedded.apiserver.storage.store import Key, Record
from drakit_embedded.apiserver.wire import bodies, forms, responses
from drakit_embedded.apiserver.writing import writes
from drakit_embedded.apiserver.writing.intent import Intent

T = TypeVar("T")
_NO_CONTEXT = nullcontext()
_OF_CONTAINERS = frozenset({"attach", "exec", "log", "portforward"})


class Call:
    """One request for a resource."""

    __slots__ = (
        "_sent",
        "accept",
        "api",
        "query",
        "request",
        "served",
        "target",
        "user",
        "warnings",
        "watched",
        "watches",
    )

    def __init__(
        self,
        api: Api,
        watches: Watches,
        served: Served,
        target: Target,
        request: web.BaseRequest,
        query: Query,
        user: User,
        *,
        watched: bool = False,
    ) -> None:
        self.api, self.watches, self.served = api, watches, served
        self.target, self.request, self.query = target, request, query
        self.user = user
        # Whether it is a watch by its path (/api/v1/watch/pods), as the oldest clients request it.
        self.watched = watched
        self.warnings: list[str] = list(served.warnings)
        self.accept = request.headers.get("Accept", "")
        # Bytes of the body, once it has been read.
        self._sent = 0

    def anew(self) -> Call:
        """Forget what a run of this request has told the client; returns the call itself."""
        self.warnings = list(self.served.warnings)
        return self

    @property
    def of_container(self) -> bool:
        """Whether it is for a running container, and may last as long as that."""
        return self.target.subresource in _OF_CONTAINERS and self.target.subresource in self.served.kind.subresources

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.target.namespace or "", self.target.name or ""

    def form(self, *, listing: bool = False, watching: bool = False) -> forms.Form:
        """Negotiate the form of the answer from what the client accepts."""
        include = self.query.text("includeObject")
        return forms.negotiate(self.accept, self.served, include, listing=listing, watching=watching)

    def writer(self, subresource: str = "") -> Writer:
        """Build the field manager that comes to own what this request changes."""
        manager = managers.name(self.query.text("fieldManager"), self.request.headers.get("User-Agent", ""))
        return Writer(manager, self.served.kind, subresource)

    def intent(self, options: str, subresource: str = "", *, verb: str = "update", applying: bool = False) -> Intent:
        """Read who writes, and whether it is a dry run, from the request; 422 for options that are not valid.

        ``options`` is their kind (CreateOptions, say). No write is made without: that is why this reads ``dryRun``.
        """
        dry_run = self.query.dry_run(options, applying=applying)
        writer = self.writer(subresource)
        return Intent(self.user, writer, verb, dry_run, options=self.query.options(), warn=self.warnings.append)

    def plain_intent(self) -> Intent:
        """Build the intent of a request without options, or whose options are not read from the query."""
        return Intent(self.user, warn=self.warnings.append)

    def record(self) -> Record:
        """Look up the object that the path names.

        Raises:
            StatusError: 404 if it does not exist.
        """
        record = self.served.collection.records.get(self.key)
        if record is None:
            kind = self.served.kind
            raise statuses.absent(kind.plural, kind.group, self.key[1])
        return record

    async def object(self, *, named: bool = False) -> Object:
        """Decode the object in the body and run the checks of all writes; ``named``: it must have the path's name."""
        raw, kind = await self.body(), self.served.kind
        custom, validation = kind.definition is not None, self.query.text("fieldValidation")
        obj = await self.read(
            lambda: self._incoming(bodies.parse(raw, self.content_type, kind.kind, custom=custom), validation), raw
        )
        if custom and "apiVersion" in obj:
            found = obj["apiVersion"].removeprefix("/")
            raise statuses.bad_request(
                f"the API version in the data ({found}) does not match the expected API version ({kind.api_version})"
            )
        if named:
            statuses.check_name(obj["metadata"].get("name"), self.key[1])
        self.warnings += metadata.without_repeated_owners(obj["metadata"])
        return obj

    def patched(self, obj: Object) -> Object:
        """Run the same checks on an object that a patch has produced."""
        return self._merged(self._incoming(obj, self.query.text("fieldValidation")))

    def applied(self, obj: Object) -> Object:
        """Run the same checks on an object that an apply has merged, of whose fields nothing is left to be said."""
        return self._merged(self._incoming(obj, "Ignore", applied=True))

    def _merged(self, obj: Object) -> Object:
        self.warnings += metadata.without_repeated_owners(obj["metadata"], patched=True)
        return obj

    def _incoming(self, obj: Object, validation: str, *, applied: bool = False) -> Object:
        return writes.incoming(
            self.api,
            self.served,
            obj,
            self.target.namespace,
            validation=validation,
            warnings=self.warnings,
            applied=applied,
        )

    def answer(self, body: bytes, status: int = 200) -> web.Response:
        """Build a JSON answer with the warnings collected so far."""
        return responses.answer(body, status, self.warnings)

    async def raw_object(self, kind: str) -> Object:
        """Parse the object in the body without checking it."""
        raw = await self.body()
        return await self.read(lambda: bodies.parse(raw, self.content_type, kind), raw)

    @property
    def content_type(self) -> str:
        """The ``Content-Type`` header of the request."""
        return self.request.headers.get("Content-Type", "")

    async def body(self) -> bytes:
        """Read the bytes of the body.

        Raises:
            StatusError: 413 for more than a request may have, 504 if they do not come in time.
        """
        # Most bodies arrive with their headers; a timer would take a tenth of the time of a small write.
        there = self.request.content.is_eof()
        try:
            async with asyncio.timeout(None if there else self.api.request_timeout):
                raw = await self.request.read()
        except TimeoutError:
            raise statuses.incomplete_request() from None
        self._sent = len(raw)
        return raw

    async def read(self, work: Callable[[], T], raw: bytes) -> T:
        """Run ``work``, which decodes ``raw`` without reading the store: in a thread if ``raw`` is long."""
        return await self.api.background.run(work) if bodies.is_long(raw, self.content_type) else work()

    async def write(self, work: Callable[[], T], within: AbstractContextManager[None] | None = None) -> T:
        """Run a write in its turn, within a context, if one is given."""
        stored = self.served.collection.records.get(self.key)
        size = self._sent + (len(stored.body) if stored is not None else 0)

        def write() -> T:
            with within or _NO_CONTEXT:
                return work()

        return await self.api.turns.take(write, size, self.served.kind.stored_under)
