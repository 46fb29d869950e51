"""/metrics: what the server has done, under the names that dashboards and load tests of Kubernetes look for.

After k8s.io/apiserver/pkg/endpoints/metrics/metrics.go and component-base/metrics. A request costs one lookup and one
step in a histogram, some hundred nanoseconds; everything else is worked out when somebody asks.
"""

from __future__ import annotations

import resource
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.endpoints.call import Call
from drakit_embedded.apiserver.reading.watching import Watches

_COMPONENT = "apiserver"
# Upper bounds in seconds, of which the last is infinity.
_BOUNDS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0),
    *(3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
_READS = frozenset({"GET", "LIST", "WATCH"})
# What clients send becomes a label only if it is one of these.
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_DRY_RUNS = frozenset({"", "All"})
_STAGES = {"GA": ""}
_PROCESS = Path("/proc/self")
_APPLY = "application/apply-patch+yaml"


class _Labels(NamedTuple):
    """What requests are told apart by."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    dry_run: str
    code: int


class _Durations:
    """How many requests took how long, and all of them together."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS) + 1)
        self.seconds = 0.0


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self._requests: dict[_Labels, _Durations] = {}
        self._running = Counter[str]()
        self._began = time.time()

    def started(self, call: Call) -> str:
        """Count a request as running, and return its verb for ``finished``."""
        verb = _verb(call)
        self._running[verb] += 1
        return verb

    def finished(self, call: Call, verb: str, code: int, seconds: float) -> None:
        """Count a request as answered with ``code`` after ``seconds``."""
        self._running[verb] -= 1
        kind, target = call.served.kind, call.target
        scope = "resource" if target.name or verb == "POST" else "namespace" if target.namespace else "cluster"
        asked, part = call.query.text("dryRun"), target.subresource or ""
        dry_run = asked if asked in _DRY_RUNS else "invalid"
        part = part if part in kind.subresources else ""
        labels = _Labels(verb, kind.group, kind.version, kind.plural, part, scope, dry_run, code)
        durations = self._requests.get(labels)
        if durations is None:
            durations = self._requests[labels] = _Durations()
        durations.counts[bisect_left(_BOUNDS, seconds)] += 1
        durations.seconds += seconds

    def text(self, api: Api, watches: Watches, version: Mapping[str, str]) -> str:
        """Print all metrics in Prometheus' text format, families in the order of their names."""
        families = (
            *self._inflight(),
            *_running_watches(watches),
            *self._durations(),
            *self._counts(),
            *_objects(api),
            *_events(watches),
            *_build(version),
            *_features(api),
            *self._process(),
        )
        return "".join(f"{line}\n" for line in families)

    def _inflight(self) -> Iterator[str]:
        yield from _head("apiserver_current_inflight_requests", "gauge", "Requests that are being answered.")
        reading = sum(count for verb, count in self._running.items() if verb in _READS and verb != "WATCH")
        writing = sum(count for verb, count in self._running.items() if verb not in _READS)
        yield _line("apiserver_current_inflight_requests", {"request_kind": "mutating"}, writing)
        yield _line("apiserver_current_inflight_requests", {"request_kind": "readOnly"}, reading)

    def _counts(self) -> Iterator[str]:
        name = "apiserver_request_total"
        yield from _head(name, "counter", "Requests by verb, dry run, kind, scope and code.")
        for labels, durations in sorted(self._requests.items()):
            yield _line(name, {"code": str(labels.code), **_told(labels)}, sum(durations.counts))

    def _durations(self) -> Iterator[str]:
        name = "apiserver_request_duration_seconds"
        yield from _head(name, "histogram", "How long requests took, by verb, dry run, kind and scope.")
        merged: dict[_Labels, list[_Durations]] = {}
        for labels, durations in sorted(self._requests.items()):
            merged.setdefault(labels._replace(code=0), []).append(durations)
        bounds = [*(f"{bound:g}" for bound in _BOUNDS), "+Inf"]
        for labels, several in merged.items():
            told = _told(labels)
            counts = list(accumulate(map(sum, zip(*(entry.counts for entry in several), strict=True))))
            for bound, count in zip(bounds, counts, strict=True):
                yield _line(f"{name}_bucket", {**told, "le": bound}, count)
            yield _line(f"{name}_sum", told, sum(entry.seconds for entry in several))
            yield _line(f"{name}_count", told, counts[-1])

    def _process(self) -> Iterator[str]:
        yield from _single("process_cpu_seconds_total", "counter", "CPU time of this process.", time.process_time())
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        yield from _single("process_max_fds", "gauge", "How many file descriptors may be open.", soft)
        opened = len(list(_PROCESS.joinpath("fd").iterdir()))
        yield from _single("process_open_fds", "gauge", "How many file descriptors are open.", opened)
        pages = [int(word) for word in _PROCESS.joinpath("statm").read_text(encoding="ascii").split()]
        size = resource.getpagesize()
        yield from _single("process_resident_memory_bytes", "gauge", "Resident memory.", pages[1] * size)
        yield from _single("process_start_time_seconds", "gauge", "When the server began.", self._began)
        yield from _single("process_virtual_memory_bytes", "gauge", "Virtual memory.", pages[0] * size)


def _verb(call: Call) -> str:
    """Name the verb as metrics do: GET of a collection is LIST or WATCH."""
    method = call.request.method
    if method == "GET" and (call.watched or call.target.name is None):
        return "WATCH" if call.watched or call.query.flag("watch") else "LIST"
    if method == "PATCH" and call.request.headers.get("Content-Type", "").startswith(_APPLY):
        return "APPLY"
    return method if method in _METHODS else "other"


def _told(labels: _Labels) -> dict[str, str]:
    found = {name: str(value) for name, value in labels._asdict().items() if name != "code"}
    return dict(sorted({**found, "component": _COMPONENT}.items()))


def _running_watches(watches: Watches) -> Iterator[str]:
    name = "apiserver_longrunning_requests"
    yield from _head(name, "gauge", "Watches that are open, by kind and scope.")
    counted = Counter((kind.group, kind.version, kind.plural, scope) for kind, scope in watches.active())
    for (group, version, plural, scope), count in sorted(counted.items()):
        told = {"component": _COMPONENT, "group": group, "resource": plural, "scope": scope}
        yield _line(name, {**told, "subresource": "", "verb": "WATCH", "version": version}, count)


def _events(watches: Watches) -> Iterator[str]:
    name = "apiserver_watch_events_total"
    yield from _head(name, "counter", "Events that were sent to watches.")
    for (group, version, plural), count in sorted(watches.sent().items()):
        yield _line(name, {"group": group, "resource": plural, "version": version}, count)


def _objects(api: Api) -> Iterator[str]:
    name = "apiserver_resource_objects"
    yield from _head(name, "gauge", "How many objects are stored of each kind.")
    for collection in sorted(api.store.collections(), key=lambda collection: collection.kind):
        plural, _, group = collection.kind.partition(".")
        yield _line(name, {"group": group, "resource": plural}, len(collection.records))


def _features(api: Api) -> Iterator[str]:
    name = "kubernetes_feature_enabled"
    yield from _head(name, "gauge", "Feature gates: 1 if they are on.")
    for gate in api.gates.known():
        stage = _STAGES.get(gate.spec.stage, gate.spec.stage)
        yield _line(name, {"name": gate.name, "stage": stage}, int(gate.enabled))


def _build(version: Mapping[str, str]) -> Iterator[str]:
    names = {
        "buildDate": "build_date",
        "compiler": "compiler",
        "gitCommit": "git_commit",
        "gitTreeState": "git_tree_state",
        "gitVersion": "git_version",
        "goVersion": "go_version",
        "major": "major",
        "minor": "minor",
        "platform": "platform",
    }
    yield from _head("kubernetes_build_info", "gauge", "What this server is.")
    yield _line("kubernetes_build_info", {label: version[key] for key, label in names.items()}, 1)


def _single(name: str, kind: str, help_text: str, value: float) -> Iterable[str]:
    yield from _head(name, kind, help_text)
    yield _line(name, {}, value)


def _head(name: str, kind: str, help_text: str) -> Iterable[str]:
    return f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{told}}} {value}" if told else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
