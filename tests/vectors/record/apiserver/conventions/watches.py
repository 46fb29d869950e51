"""Watches of one second: where they begin, what they choose, and in which form they come."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from drakit_api.kubernetes_objects import Object
from tests.vectors.conventions import CLAIMS, MAPS
from tests.vectors.record.apiserver.conventions.exchange import exchange

_WATCH = "watch=1&timeoutSeconds=1"
_INITIAL = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
_VERSIONS = ("", "0", "1", "{{m1}}", "{{m3}}", "{{now}}", "{{future}}", "abc", "-1", "01", "99999999999999999999")
_BEGINNINGS = (
    "",
    "&sendInitialEvents=true",
    "&sendInitialEvents=false",
    _INITIAL,
    "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
    f"{_INITIAL}&allowWatchBookmarks=true",
    "&resourceVersionMatch=NotOlderThan",
    "&resourceVersionMatch=Exact",
    "&resourceVersionMatch=foo",
    "&allowWatchBookmarks=true",
    "&limit=2",
    "&continue=abc",
    f"&continue={{{{continue}}}}{_INITIAL}",
)
_CHOICES = (
    "&labelSelector=app=web",
    "&fieldSelector=metadata.name=c1",
    "&fieldSelector=metadata.name!=c1",
    "&labelSelector=bad%20sel",
    "&fieldSelector=spec.x=1",
    f"&labelSelector=app=web{_INITIAL}&allowWatchBookmarks=true",
)
_TRUTHS = ("true", "True", "TRUE", "1", "yes", "", "t", "on", "false", "False", "0", "f", "no")
_OTHER_PATHS = (
    f"/api/v1/namespaces/nope/configmaps?{_WATCH}",
    f"/api/v1/componentstatuses?{_WATCH}",
    f"{CLAIMS}?{_WATCH}",
    f"{CLAIMS.replace('v1', 'v1beta1')}?{_WATCH}",
    f"{MAPS}/c1?{_WATCH}",
    f"{MAPS}/c1?watch=true",
    f"{MAPS}?{_WATCH}&fieldSelector=metadata.name=nope",
)


def exchanges() -> Iterator[Object]:
    """Watches of config maps, and some of others."""
    for version, beginning in product(_VERSIONS, _BEGINNINGS):
        yield exchange("watches", "GET", f"{MAPS}?{_WATCH}&resourceVersion={version}{beginning}")
    for choice, version in product(_CHOICES, ("", "&resourceVersion={{m1}}")):
        yield exchange("watches", "GET", f"{MAPS}?{_WATCH}{choice}{version}")
    for truth in ("", *(f"={word}" for word in _TRUTHS)):
        yield exchange("watches", "GET", f"{MAPS}?watch{truth}&timeoutSeconds=1&fieldSelector=metadata.name=c1")
    for seconds in ("abc", "-1", "1.5", "99999999999999999999", ""):
        yield exchange("watches", "GET", f"{MAPS}?watch=1&timeoutSeconds={seconds}&resourceVersion=abc")
    for path in _OTHER_PATHS:
        yield exchange("watches", "GET", path)
    initial = f"{_WATCH}&allowWatchBookmarks=1{_INITIAL.replace('true', '1')}"
    metadata, table = (f"application/json;as={kind};g=meta.k8s.io;v=v1" for kind in ("PartialObjectMetadata", "Table"))
    yield exchange("watches", "GET", f"{CLAIMS.replace('v1', 'v1beta1')}?{initial}", Accept=metadata)
    yield exchange("watches", "GET", f"{MAPS}?{initial}", brief=True, Accept=table)
