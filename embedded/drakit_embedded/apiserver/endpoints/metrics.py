"""What the server has done, for /metrics: as dashboards and load tests of Kubernetes want it told apart.

After k8s.io/apiserver/pkg/endpoints/metrics/metrics.go and component-base/metrics. A request costs one lookup and one
step in a histogram, some hundred nanoseconds; everything else is worked out in ``exposition`` when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from drakit_embedded.apiserver.endpoints.call import Call

# Upper bounds in seconds, before infinity.
BOUNDS = (
    *(0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0),
    *(3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0),
)
READS = frozenset({"GET", "LIST", "WATCH"})
LASTING = frozenset({"CONNECT", "WATCH"})
# What clients send becomes a label only if it is one of these.
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_DRY_RUNS = frozenset({"", "All"})
_APPLY = "application/apply-patch+yaml"


class Labels(NamedTuple):
    """The labels of a request's metrics."""

    verb: str
    group: str
    version: str
    resource: str
    subresource: str
    scope: str
    dry_run: str
    code: int


@dataclass(slots=True)
class Durations:
    """A histogram of durations: counts by bucket, and the sum in seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.requests: dict[Labels, Durations] = {}
        self.running = Counter[str]()

    def started(self, call: Call) -> str:
        """Count a request as running, and return its verb for ``finished``."""
        verb = _verb(call)
        self.running[verb] += 1
        return verb

    def finished(self, call: Call, verb: str, code: int, seconds: float) -> None:
        """Count a request as answered with ``code`` after ``seconds``."""
        self.running[verb] -= 1
        kind, target = call.served.kind, call.target
        scope = "resource" if target.name or verb == "POST" else "namespace" if target.namespace else "cluster"
        asked, part = call.query.text("dryRun"), target.subresource or ""
        dry_run = asked if asked in _DRY_RUNS else "invalid"
        part = part if part in kind.subresources else ""
        labels = Labels(verb, kind.group, kind.version, kind.plural, part, scope, dry_run, code)
        durations = self.requests.get(labels)
        if durations is None:
            durations = self.requests[labels] = Durations()
        durations.counts[bisect_left(BOUNDS, seconds)] += 1
        durations.seconds += seconds


def _verb(call: Call) -> str:
    """Name the verb as metrics do: GET of a collection is LIST or WATCH."""
    method = call.request.method
    if call.of_container:
        # Also the log: OverrideMetricsVerb in k8s.io/kubernetes/pkg/registry/core/pod/rest/log.go.
        return "CONNECT"
    if method == "GET" and (call.watched or call.target.name is None):
        return "WATCH" if call.watched or call.query.flag("watch") else "LIST"
    if method == "PATCH" and call.request.headers.get("Content-Type", "").startswith(_APPLY):
        return "APPLY"
    return method if method in _METHODS else "other"
