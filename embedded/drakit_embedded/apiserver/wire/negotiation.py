"""Which of the forms that a client accepts it gets: the ``Accept`` header, read as kube-apiserver reads it.

After k8s.io/apiserver pkg/endpoints/handlers/negotiation/negotiate.go and github.com/munnerz/goautoneg. A clause that
asks for what cannot be given is passed over; parameters that nobody knows are ignored. A client that would
rather have protobuf gets its next choice; only where there is none, and for one object, protobuf is written.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from drakit_embedded.apiserver import statuses

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
# The media types that the real server names in a 406.
_NAMED = (JSON, YAML, PROTOBUF)
_STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_WRITTEN = (JSON, YAML)
# The media types that a route of the real server offers; empty for paths that are no routes.
OBJECT, COLLECTION, NO_ROUTE = _NAMED, (*_NAMED, *_STREAMS), ()


class Conversion(NamedTuple):
    """The conversion that a media type asks for: its parameters ``as``, ``g`` and ``v``."""

    kind: str
    group: str
    version: str


class Accepted(NamedTuple):
    """The media type and conversion of an answer."""

    media: str = JSON
    conversion: Conversion | None = None
    pretty: bool = False


class _Clause(NamedTuple):
    main: str
    sub: str
    quality: float
    options: dict[str, str]


# Tells whether a conversion (or None) is supported.
Allows = Callable[[Conversion | None], bool]
# Allowed values of ``sv``, the version of a schema, for objects; nothing else has one.
OF_OBJECTS, _NO_SCHEMA = ("", "v1"), ("",)


def takes_protobuf_only(accept: str) -> bool:
    """Check whether a client takes nothing but protobuf."""
    return accept.replace(" ", "") == PROTOBUF


def without_conversion(conversion: Conversion | None) -> bool:
    """Accept no conversion, for what is sent in one form only: errors and the lists of discovery."""
    return conversion is None


@lru_cache(maxsize=512)
def accepted(
    accept: str,
    allows: Allows,
    offered: tuple[str, ...] = NO_ROUTE,
    *,
    schemas: tuple[str, ...] = _NO_SCHEMA,
    stream: bool = False,
) -> Accepted:
    """Choose the first media type that can be served; 406 if there is none. Streams of events are JSON.

    What a route offers is asked first, and by a reader of headers that knows fewer of them (go-restful).
    """
    check_route(accept, offered)
    found = _first(accept, allows, schemas)
    if found is None:
        raise statuses.not_acceptable(_NAMED)
    if stream and found.media != JSON:
        raise statuses.not_acceptable(_STREAMS)
    return found


def check_route(accept: str, offered: tuple[str, ...]) -> None:
    """Refuse with 406 if a route, which has one form only, does not offer any accepted media type."""
    if offered and accept and not _is_routed(accept, offered):
        listed = ", ".join(offered)
        raise statuses.StatusError(
            406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {listed}", {}
        )


def _is_routed(accept: str, offered: tuple[str, ...]) -> bool:
    media = {clause.partition(";")[0].strip(" ") for clause in accept.split(",")}
    return not media.isdisjoint({"*/*", *offered})


@lru_cache(maxsize=512)
def of_answer(accept: str, *, refused: bool) -> Accepted:
    """Choose the media type of an encoded answer; an error is sent whatever the client accepts."""
    found = _first(accept, without_conversion, _NO_SCHEMA) if refused else _first(accept, _of_metadata, OF_OBJECTS)
    return found or Accepted(pretty=True)


def _of_metadata(conversion: Conversion | None) -> bool:
    return conversion is None or conversion.group == "meta.k8s.io"


def _first(accept: str, allows: Allows, schemas: tuple[str, ...]) -> Accepted | None:
    if not accept:
        return Accepted()
    for clause in _clauses(accept):
        for media in _WRITTEN:
            if _matches(clause, media):
                options = clause.options
                conversion = _conversion(options)
                known = options.get("stream", "watch") in ("", "watch") and options.get("sv", "") in schemas
                if known and allows(conversion):
                    return Accepted(media, conversion, options.get("pretty") == "1")
    return None


def _conversion(options: dict[str, str]) -> Conversion | None:
    if not options.keys() & {"as", "g", "v"}:
        return None
    return Conversion(options.get("as", ""), options.get("g", ""), options.get("v", ""))


def _matches(clause: _Clause, media: str) -> bool:
    main, _, sub = media.partition("/")
    if clause.main == "*":
        return clause.sub == "*"
    return clause.main == main and clause.sub in (sub, "*")


def _clauses(accept: str) -> list[_Clause]:
    """Parse the clauses, best first: by quality, then definite ones before those with ``*``."""
    found = [clause for part in accept.split(",") if (clause := _clause(part.strip(" "))) is not None]
    return sorted(found, key=lambda clause: (-clause.quality, clause.main == "*", clause.sub == "*"))


def _clause(text: str) -> _Clause | None:
    media, *parameters = text.split(";")
    main, _, sub = media.partition("/")
    main, sub = main.strip(" "), sub.strip(" ")
    if "/" in sub or (not sub and main != "*"):
        return None
    quality, options = 1.0, {}
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if not value or "=" in value:
            continue
        if key.strip(" ") == "q":
            quality = _number(value)
        else:
            options[key.strip(" ")] = value.strip(" ")
    return _Clause(main, sub or "*", quality, options)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
