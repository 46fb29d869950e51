"""Options of lists and of reads: limits, resource versions, places to continue at, and those that nobody knows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from urllib.parse import quote

from drakit_api.kubernetes_objects import Object
from tests.vectors.conventions import MAPS
from tests.vectors.record.apiserver.conventions.exchange import exchange

_NUMBERS = (
    *("0", "1", "2", "7", "100", "-1", "abc", "1.5", "", "+1", " 1", "0x1", "1e3"),
    *("99999999999999999999", "9223372036854775807", "9223372036854775808"),
)
_VERSIONS = (*map(quote, _NUMBERS), "{{now}}", "{{m3}}", "{{future}}", "00", "01", "3x")
_MATCHES = ("", *(f"&resourceVersionMatch={match}" for match in ("", "Exact", "NotOlderThan", "exact", "foo")))
_LIMITS = ("", "limit=0", "limit=2", "limit=100", "limit=-1")
_PLACES = [
    "&resourceVersion=0",
    "&resourceVersion={{now}}",
    "&resourceVersion={{m3}}&resourceVersionMatch=Exact",
    "&resourceVersion={{m3}}&resourceVersionMatch=NotOlderThan",
    "&resourceVersion={{now}}&resourceVersionMatch=Exact",
    "&resourceVersion=0&resourceVersionMatch=NotOlderThan",
    "&continue={{continue}}",
    "&continue={{continue}}&resourceVersion=0",
    "&continue={{continue}}&resourceVersion={{now}}",
    "&continue={{continue}}&resourceVersionMatch=Exact&resourceVersion={{now}}",
    "&continue=abc",
    "&continue=%7B%7D",
    "&continue=eyJ9",
    "&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJjMFx1MDAwMCJ9",
    "&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJjMFx1MDAwMCJ9",
    "&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYzBcdTAwMDAifQ",
    "&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ",
    "&continue=eyJ2IjoiZm9vIiwicnYiOjF9",
    "&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi9hIn0",
    "&continue=",
]
_OPTIONS = [
    "sendInitialEvents=true",
    "sendInitialEvents=false",
    "sendInitialEvents=",
    "sendInitialEvents=x",
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
    "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
    "allowWatchBookmarks=true",
    "allowWatchBookmarks=x",
    "watch=false",
    "watch=0",
    "pretty=true",
    "pretty=false",
    "pretty=1",
    "pretty=x",
    "pretty",
    "foo=bar",
    "limit=1&limit=2",
    "shardSelector=x",
    "exact=true",
    "export=true",
    "includeUninitialized=true",
    "timeout=5s",
    "timeout=x",
    "timeout=0s",
    "timeout=-1s",
    "timeout=1h",
    "timeout=5",
    "timeout=1.5h30m",
    "timeout=-.5s",
    "a=%zz",
    "%zz=a",
    "a;b=c",
    "limit=1;x=2",
    "&&&",
    "=",
    "limit=2&labelSelector=app%3Dweb",
    "limit=1&fieldSelector=metadata.name!=c0",
    "labelSelector=%zz",
    "limit=%31",
    "limit=1%20",
]


def exchanges() -> Iterator[Object]:
    """Lists of config maps, and reads of one."""
    for number in _NUMBERS:
        for option in ("limit", "timeoutSeconds"):
            yield exchange("lists", "GET", f"{MAPS}?{option}={quote(number)}")
    for version, match in product(_VERSIONS, _MATCHES):
        yield exchange("lists", "GET", f"{MAPS}?resourceVersion={version}{match}")
    for limit, place in product(_LIMITS, ("", *_PLACES)):
        yield exchange("lists", "GET", f"{MAPS}?{limit}{place}")
    for options, name in product(_OPTIONS, ("", "/c1")):
        yield exchange("lists", "GET", f"{MAPS}{name}?{options}")
    for version in ("0", "{{now}}", "{{future}}", "abc", "-1", "{{m1}}"):
        yield exchange("lists", "GET", f"{MAPS}/c1?resourceVersion={version}")
