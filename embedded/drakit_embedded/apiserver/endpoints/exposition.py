"""The text of /metrics: what is counted already becomes families of prometheus-client when somebody asks."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from drakit_embedded.apiserver.api import Api
from drakit_embedded.apiserver.endpoints.metrics import BOUNDS, LASTING, READS, Durations, Labels, Metrics
from drakit_embedded.apiserver.reading.watching import Watches

_COMPONENT = "apiserver"
_STAGES = {"GA": ""}
_BUCKETS = (*(f"{bound:g}" for bound in BOUNDS), "+Inf")
_BUILD = {
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


async def text(counted: Metrics, api: Api, watches: Watches, version: Mapping[str, str]) -> bytes:
    """Return everything in Prometheus' text format: the server's families by their names, then those of its process.

    It is made in a thread: a megabyte of it takes a tenth of a second, for which other requests need not wait.
    """
    registry = CollectorRegistry()
    registry.register(_Server(counted, api, watches, version))
    ProcessCollector(registry=registry)
    return await asyncio.to_thread(generate_latest, registry)


class _Server(Collector):
    """What was counted when this was made, for a thread to read while the server counts on."""

    def __init__(self, counted: Metrics, api: Api, watches: Watches, version: Mapping[str, str]) -> None:
        about = {label: version[key] for key, label in _BUILD.items()}
        self._families = [
            _inflight(counted.running),
            _running_watches(watches),
            _objects(api),
            _events(watches),
            InfoMetricFamily("kubernetes_build", "What this server is.", about),
            _features(api),
        ]
        # Of these there may be thousands of samples.
        self._requests = [
            (labels, Durations(list(durations.counts), durations.seconds))
            for labels, durations in sorted(counted.requests.items())
        ]

    def collect(self) -> list[Metric]:
        """Return the families in the order of their names."""
        families = [*self._families, _durations(self._requests), _requests(self._requests)]
        return sorted(families, key=attrgetter("name"))


def _filled(family: GaugeMetricFamily | CounterMetricFamily, samples: Iterable[tuple[Sequence[str], float]]) -> Metric:
    for labels, value in samples:
        family.add_metric(labels, value)
    return family


def _inflight(running: Mapping[str, int]) -> Metric:
    # As there, requests that last as long as their clients like are not among them.
    reading = sum(count for verb, count in running.items() if verb in READS and verb not in LASTING)
    writing = sum(count for verb, count in running.items() if verb not in READS and verb not in LASTING)
    samples = [(("mutating",), writing), (("readOnly",), reading)]
    name = "apiserver_current_inflight_requests"
    return _filled(GaugeMetricFamily(name, "Requests that are being answered.", labels=("request_kind",)), samples)


def _requests(requests: Iterable[tuple[Labels, Durations]]) -> Metric:
    about = "Requests by verb, dry run, kind, scope and code."
    samples = (((*map(str, labels), _COMPONENT), sum(durations.counts)) for labels, durations in requests)
    return _filled(
        CounterMetricFamily("apiserver_request_total", about, labels=(*Labels._fields, "component")), samples
    )


def _durations(requests: Iterable[tuple[Labels, Durations]]) -> Metric:
    about = "How long requests took, by verb, dry run, kind and scope."
    told = (*Labels._fields[:-1], "component")
    family = HistogramMetricFamily("apiserver_request_duration_seconds", about, labels=told)
    merged: dict[tuple[str, ...], list[Durations]] = {}
    for labels, durations in requests:
        merged.setdefault((*map(str, labels[:-1]), _COMPONENT), []).append(durations)
    for values, several in merged.items():
        counts = accumulate(map(sum, zip(*map(attrgetter("counts"), several), strict=True)))
        buckets = list(zip(_BUCKETS, counts, strict=True))
        family.add_metric(values, buckets, sum(durations.seconds for durations in several))
    return family


def _running_watches(watches: Watches) -> Metric:
    labels = ("component", "group", "resource", "scope", "subresource", "verb", "version")
    counted = Counter(
        (_COMPONENT, kind.group, kind.plural, scope, "", "WATCH", kind.version) for kind, scope in watches.active()
    )
    about = "Watches that are open, by kind and scope."
    return _filled(GaugeMetricFamily("apiserver_longrunning_requests", about, labels=labels), sorted(counted.items()))


def _events(watches: Watches) -> Metric:
    about, labels = "Events that were sent to watches.", ("group", "version", "resource")
    return _filled(
        CounterMetricFamily("apiserver_watch_events_total", about, labels=labels), sorted(watches.sent().items())
    )


def _objects(api: Api) -> Metric:
    stored = sorted((collection.kind, len(collection.records)) for collection in api.store.collections())
    samples = ((kind.partition(".")[::2], count) for kind, count in stored)
    about = "How many objects are stored of each kind."
    return _filled(GaugeMetricFamily("apiserver_resource_objects", about, labels=("resource", "group")), samples)


def _features(api: Api) -> Metric:
    about, labels = "Feature gates: 1 if they are on.", ("name", "stage")
    known = api.gates.known()
    samples = (((gate.name, _STAGES.get(gate.spec.stage, gate.spec.stage)), int(gate.enabled)) for gate in known)
    return _filled(GaugeMetricFamily("kubernetes_feature_enabled", about, labels=labels), samples)
