"""Each filter of the scheduler accepts and rejects as kube-scheduler's plugin does, and in its words."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from drakit_allocator.scheduler.diagnosis import SchedulingFailed
from drakit_allocator.scheduler.nodes.affinity import PodAffinity
from drakit_allocator.scheduler.nodes.cluster import Cluster
from drakit_allocator.scheduler.nodes.filters import insufficient, reject
from drakit_allocator.scheduler.nodes.pods import PodInfo
from drakit_allocator.scheduler.nodes.resources import nonzero_requests, pod_requests
from drakit_allocator.scheduler.nodes.spread import TopologySpread
from drakit_allocator.scheduler.pace import Pace
from drakit_allocator.scheduler.queue import DEFAULT_BACKOFF
from drakit_allocator.scheduler.state import State
from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_api.typed_objects import ResourceClaim

ZONE = "topology.kubernetes.io/zone"


def pod(name: str = "p", *, labels: Object | None = None, namespace: str = "default", **spec: Any) -> PodInfo:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels or {}}
    return PodInfo({"metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}})


def container(**resources: str) -> Object:
    return {"name": "c", "resources": {"requests": {k.replace("_", "-"): v for k, v in resources.items()}}}


def node(name: str = "n1", *, labels: Object | None = None, allocatable: Object | None = None, **spec: Any) -> Object:
    default = {"cpu": "4", "memory": "8Gi", "pods": "10", "ephemeral-storage": "10Gi"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": spec,
        "status": {"allocatable": default if allocatable is None else allocatable},
    }


def cluster_of(*nodes: Object) -> Cluster:
    cluster = Cluster()
    for obj in nodes:
        cluster.set_node(obj)
    return cluster


def verdict(wanting: PodInfo, obj: Object) -> list[str]:
    cluster = cluster_of(obj)
    rejection = reject(wanting, next(iter(cluster)))
    return [] if rejection is None else list(rejection.reasons)


def required_nodes(*terms: Object) -> Object:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def expression(key: str, operator: str, *values: str) -> Object:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def name_is(operator: str, *values: str) -> Object:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


NODE_NAME = ["node(s) didn't match the requested node name"]
UNSCHEDULABLE = ["node(s) were unschedulable"]
TAINT = ["node(s) had untolerated taint(s)"]
AFFINITY = ["node(s) didn't match Pod's node affinity/selector"]

UNSCHEDULABLE_TOLERATION = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("wanting", "obj", "reasons"),
    [
        pytest.param(pod(), node(), [], id="nothing-asked"),
        pytest.param(pod(nodeName="other"), node(), NODE_NAME, id="other-node-name"),
        pytest.param(pod(), node(unschedulable=True), UNSCHEDULABLE, id="cordoned"),
        pytest.param(
            pod(tolerations=[UNSCHEDULABLE_TOLERATION]), node(unschedulable=True), [], id="cordoned-tolerated"
        ),
        pytest.param(pod(nodeSelector={"a": "b"}), node(), AFFINITY, id="selector-missing-label"),
        pytest.param(pod(nodeSelector={"a": "b"}), node(labels={"a": "b"}), [], id="selector-matches"),
        pytest.param(
            pod(nodeSelector={"a": "b"}, affinity=required_nodes(expression("c", "Exists"))),
            node(labels={"a": "b"}),
            AFFINITY,
            id="selector-and-affinity-both-count",
        ),
    ],
)
def test_a_node_is_rejected_in_the_words_of_the_first_plugin(wanting: PodInfo, obj: Object, reasons: list[str]) -> None:
    assert verdict(wanting, obj) == reasons


@pytest.mark.parametrize(
    ("terms", "matches"),
    [
        pytest.param([expression("a", "In", "x", "b")], True, id="in"),
        pytest.param([expression("a", "In", "x")], False, id="in-other"),
        pytest.param([expression("a", "NotIn", "x")], True, id="not-in"),
        pytest.param([expression("a", "NotIn", "b")], False, id="not-in-other"),
        pytest.param([expression("missing", "NotIn", "b")], True, id="not-in-of-a-missing-label"),
        pytest.param([expression("a", "Exists")], True, id="exists"),
        pytest.param([expression("missing", "Exists")], False, id="exists-not"),
        pytest.param([expression("missing", "DoesNotExist")], True, id="does-not-exist"),
        pytest.param([expression("a", "DoesNotExist")], False, id="does-not-exist-but-does"),
        pytest.param([expression("gen", "Gt", "4")], True, id="gt"),
        pytest.param([expression("gen", "Gt", "5")], False, id="gt-equal"),
        pytest.param([expression("gen", "Lt", "6")], True, id="lt"),
        pytest.param([expression("a", "Lt", "6")], False, id="lt-of-text"),
        pytest.param([expression("a", "Resembles", "b")], False, id="unknown-operator"),
        pytest.param([name_is("In", "n1")], True, id="field-in"),
        pytest.param([name_is("In", "n2")], False, id="field-in-other"),
        pytest.param([name_is("NotIn", "n1")], False, id="field-not-in"),
        pytest.param([name_is("NotIn", "n2")], True, id="field-not-in-other"),
        pytest.param([name_is("In", "n1", "n2")], False, id="field-with-two-values-is-malformed"),
        pytest.param([{}], False, id="an-empty-term-matches-nothing"),
        pytest.param([], False, id="no-terms-match-nothing"),
        pytest.param([expression("missing", "Exists"), expression("a", "Exists")], True, id="terms-are-alternatives"),
        pytest.param([{**expression("a", "Exists"), **name_is("In", "n2")}], False, id="parts-of-a-term-all-count"),
    ],
)
def test_required_node_affinity(terms: list[Object], matches: bool) -> None:
    wanting = pod(affinity=required_nodes(*terms))
    assert verdict(wanting, node(labels={"a": "b", "gen": "5"})) == ([] if matches else AFFINITY)


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        pytest.param([name_is("In", "n1")], {"n1"}, id="one"),
        pytest.param([name_is("In", "n1"), name_is("In", "n2")], {"n1", "n2"}, id="alternatives"),
        pytest.param([name_is("In", "n1"), expression("a", "Exists")], None, id="an-alternative-of-labels"),
        pytest.param([{}], None, id="an-empty-term-names-no-node"),
        pytest.param([name_is("In", "n1"), {}], None, id="an-empty-alternative"),
        pytest.param([name_is("NotIn", "n1")], None, id="all-but-one"),
        pytest.param(
            [{"matchFields": [*name_is("In", "n1")["matchFields"], *name_is("In", "n2")["matchFields"]]}],
            set(),
            id="two-names-of-one-node",
        ),
    ],
)
def test_nodes_that_affinity_names(terms: list[Object], names: set[str] | None) -> None:
    affinity = pod(affinity=required_nodes(*terms)).node_affinity
    assert affinity is not None
    assert affinity.names == names


@pytest.mark.parametrize(
    ("taint", "toleration", "tolerated"),
    [
        pytest.param({"key": "k", "value": "v", "effect": "NoSchedule"}, None, False, id="no-schedule"),
        pytest.param({"key": "k", "value": "v", "effect": "NoExecute"}, None, False, id="no-execute"),
        pytest.param({"key": "k", "effect": "PreferNoSchedule"}, None, True, id="preference-rejects-nobody"),
        pytest.param(
            {"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "k", "value": "v"}, True, id="equal-by-default"
        ),
        pytest.param(
            {"key": "k", "value": "v", "effect": "NoSchedule"}, {"key": "k", "value": "w"}, False, id="other-value"
        ),
        pytest.param(
            {"key": "k", "value": "v", "effect": "NoSchedule"},
            {"key": "k", "operator": "Exists", "effect": "NoExecute"},
            False,
            id="other-effect",
        ),
        pytest.param(
            {"key": "k", "value": "v", "effect": "NoExecute"}, {"operator": "Exists"}, True, id="everything-tolerated"
        ),
        pytest.param(
            {"key": "k", "value": "5", "effect": "NoSchedule"},
            {"key": "k", "operator": "Gt", "value": "4"},
            False,
            id="numeric-operators-are-alpha",
        ),
    ],
)
def test_taints_and_tolerations(taint: Object, toleration: Object | None, tolerated: bool) -> None:
    wanting = pod(tolerations=[toleration] if toleration else [])
    assert verdict(wanting, node(taints=[taint])) == ([] if tolerated else TAINT)


def test_resources_name_everything_that_is_missing() -> None:
    wanting = pod(containers=[container(cpu="5", memory="9Gi", ephemeral_storage="11Gi", **{"example.com/x": "1"})])
    obj = node(allocatable={"cpu": "4", "memory": "8Gi", "pods": "0", "ephemeral-storage": "10Gi"})
    assert verdict(wanting, obj) == [
        "Too many pods",
        "Insufficient cpu",
        "Insufficient memory",
        "Insufficient ephemeral-storage",
        "Insufficient example.com/x",
    ]


def test_resources_of_pods_on_the_node_count() -> None:
    cluster = cluster_of(node())
    info = next(iter(cluster))
    running = pod("running", containers=[container(cpu="3")], nodeName="n1")
    cluster.place(running)
    assert insufficient(pod(containers=[container(cpu="1001m")]), info) == ["Insufficient cpu"]
    assert insufficient(pod(containers=[container(cpu="1")]), info) == []
    cluster.remove(running.uid)
    assert insufficient(pod(containers=[container(cpu="4")]), info) == []
    assert info.requested == {"cpu": 0}


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        pytest.param({"containers": [container(cpu="1"), container(cpu="500m")]}, 1500, id="containers-add-up"),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [container(cpu="2"), container(cpu="3")]},
            3000,
            id="init-containers-run-one-after-the-other",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [container(cpu="2") | SIDECAR, container(cpu="2")]},
            4000,
            id="a-sidecar-runs-beside-later-init-containers",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "initContainers": [container(cpu="2"), container(cpu="2") | SIDECAR]},
            3000,
            id="a-sidecar-runs-beside-containers",
        ),
        pytest.param({"containers": [container(cpu="1")], "overhead": {"cpu": "250m"}}, 1250, id="overhead"),
        pytest.param(
            {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "2"}}}, 2000, id="pod-level-request"
        ),
        pytest.param({"containers": [container(cpu="100u")]}, 1, id="rounded-up"),
    ],
)
def test_requests_of_a_pod(spec: Object, cpu: int) -> None:
    assert pod_requests(spec)["cpu"] == cpu


def test_pods_without_requests_still_count_in_scores() -> None:
    assert nonzero_requests({"containers": [{}, container(cpu="1")]}) == (1100, 2 * 200 * 1024**2)


@pytest.mark.parametrize(
    ("spec", "cpu", "memory"),
    [
        pytest.param({"containers": [container(cpu="1"), {}]}, 1000, 1024, id="one-container-says-it"),
        pytest.param({"containers": [{}], "overhead": {"cpu": "500m"}}, 500, 1024, id="overhead-says-it"),
        pytest.param({"containers": [{}, {}]}, 200, 1024, id="nobody-says-it"),
    ],
)
def test_containers_of_a_pod_that_requests_something_itself(spec: Object, cpu: int, memory: int) -> None:
    """``getNonMissingContainerRequests``: they count for something only in what nobody requests."""
    assert nonzero_requests(spec | {"resources": {"requests": {"memory": "1Ki"}}}) == (cpu, memory)


def with_port(port: int, **more: str) -> Object:
    return {"name": "c", "ports": [{"containerPort": 1, "hostPort": port, **more}]}


@pytest.mark.parametrize(
    ("taken", "wanted", "free"),
    [
        pytest.param(with_port(80), with_port(80), False, id="same-port"),
        pytest.param(with_port(80), with_port(81), True, id="other-port"),
        pytest.param(with_port(80), with_port(80, protocol="UDP"), True, id="other-protocol"),
        pytest.param(with_port(80, hostIP="10.0.0.1"), with_port(80, hostIP="10.0.0.2"), True, id="other-address"),
        pytest.param(with_port(80, hostIP="10.0.0.1"), with_port(80), False, id="all-addresses"),
    ],
)
def test_host_ports(taken: Object, wanted: Object, free: bool) -> None:
    cluster = cluster_of(node())
    cluster.place(pod("other", containers=[taken], nodeName="n1"))
    rejection = reject(pod(containers=[wanted]), next(iter(cluster)))
    assert (rejection is None) == free
    if rejection is not None:
        assert rejection.reasons == ("node(s) didn't have free ports for the requested pod ports",)


def pod_terms(kind: str, *terms: Object) -> Object:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def term(key: str = ZONE, labels: Object | None = None, **more: Any) -> Object:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels or {"app": "db"}}, **more}


IN_ZONES = (node("a1", labels={ZONE: "a"}), node("a2", labels={ZONE: "a"}), node("b1", labels={ZONE: "b"}))
NO_AFFINITY = "node(s) didn't match pod affinity rules"
NO_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"


def pod_verdicts(wanting: PodInfo, *existing: PodInfo, namespaces: Object | None = None) -> dict[str, str]:
    cluster = cluster_of(*IN_ZONES)
    cluster.namespace_labels.update(namespaces or {})
    for other in existing:
        cluster.place(other)
    rules = PodAffinity.of(wanting, cluster)
    verdicts = {info.name: rules.reject(info) if rules else None for info in cluster}
    return {name: rejection.reasons[0] for name, rejection in verdicts.items() if rejection is not None}


DB = pod("db", labels={"app": "db"}, nodeName="a1")


@pytest.mark.parametrize(
    ("wanting", "existing", "rejections"),
    [
        pytest.param(pod(), [DB], {}, id="no-terms"),
        pytest.param(
            pod(affinity=pod_terms("podAffinity", term())), [DB], {"b1": NO_AFFINITY}, id="affinity-over-the-zone"
        ),
        pytest.param(
            pod(affinity=pod_terms("podAffinity", term())),
            [],
            dict.fromkeys(("a1", "a2", "b1"), NO_AFFINITY),
            id="affinity-to-nobody",
        ),
        pytest.param(
            pod(labels={"app": "db"}, affinity=pod_terms("podAffinity", term())), [], {}, id="first-of-its-group"
        ),
        pytest.param(
            pod(labels={"app": "db"}, affinity=pod_terms("podAffinity", term("rack"))),
            [],
            dict.fromkeys(("a1", "a2", "b1"), NO_AFFINITY),
            id="first-of-its-group-needs-the-topology",
        ),
        pytest.param(
            pod(affinity=pod_terms("podAffinity", term(), term(labels={"app": "web"}))),
            [DB, pod("web", labels={"app": "web"}, nodeName="a1")],
            dict.fromkeys(("a1", "a2", "b1"), NO_AFFINITY),
            id="one-pod-must-match-all-terms",
        ),
        pytest.param(
            pod(affinity=pod_terms("podAntiAffinity", term())),
            [DB],
            dict.fromkeys(("a1", "a2"), NO_ANTI_AFFINITY),
            id="anti-affinity-over-the-zone",
        ),
        pytest.param(
            pod(affinity=pod_terms("podAntiAffinity", term("kubernetes.io/hostname"))),
            [DB],
            {"a1": NO_ANTI_AFFINITY},
            id="anti-affinity-on-the-host",
        ),
        pytest.param(
            pod(labels={"app": "web"}),
            [pod("shy", nodeName="a1", affinity=pod_terms("podAntiAffinity", term(labels={"app": "web"})))],
            dict.fromkeys(("a1", "a2"), EXISTING),
            id="anti-affinity-of-a-pod-that-is-there",
        ),
        pytest.param(
            pod(namespace="other", affinity=pod_terms("podAntiAffinity", term())), [DB], {}, id="own-namespace-only"
        ),
        pytest.param(
            pod(namespace="other", affinity=pod_terms("podAntiAffinity", term(namespaces=["default"]))),
            [DB],
            dict.fromkeys(("a1", "a2"), NO_ANTI_AFFINITY),
            id="named-namespaces",
        ),
        pytest.param(
            pod(
                namespace="other",
                affinity=pod_terms("podAntiAffinity", term(namespaceSelector={"matchLabels": {"team": "x"}})),
            ),
            [DB],
            dict.fromkeys(("a1", "a2"), NO_ANTI_AFFINITY),
            id="selected-namespaces",
        ),
        pytest.param(
            pod(namespace="other", affinity=pod_terms("podAntiAffinity", term(namespaceSelector={}))),
            [DB],
            dict.fromkeys(("a1", "a2"), NO_ANTI_AFFINITY),
            id="all-namespaces",
        ),
        pytest.param(
            pod(labels={"rev": "2"}, affinity=pod_terms("podAntiAffinity", term(mismatchLabelKeys=["rev"]))),
            [pod("db", labels={"app": "db", "rev": "2"}, nodeName="a1")],
            {},
            id="mismatched-label-keys",
        ),
        pytest.param(
            pod(labels={"rev": "2"}, affinity=pod_terms("podAntiAffinity", term(matchLabelKeys=["rev"]))),
            [pod("db", labels={"app": "db", "rev": "1"}, nodeName="a1")],
            {},
            id="matched-label-keys",
        ),
    ],
)
def test_affinity_between_pods(wanting: PodInfo, existing: list[PodInfo], rejections: dict[str, str]) -> None:
    assert pod_verdicts(wanting, *existing, namespaces={"default": {"team": "x"}}) == rejections


def constraint(**more: Any) -> Object:
    selector = {"matchLabels": {"app": "db"}}
    return {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        **more,
    }


SKEW = "node(s) didn't match pod topology spread constraints"


@pytest.mark.parametrize(
    ("wanting", "rejections"),
    [
        pytest.param(
            pod(labels={"app": "db"}, topologySpreadConstraints=[constraint()]),
            dict.fromkeys(("a1", "a2"), SKEW),
            id="the-fuller-zone-is-out",
        ),
        pytest.param(
            pod(labels={"app": "db"}, topologySpreadConstraints=[constraint(maxSkew=2)]), {}, id="within-the-skew"
        ),
        pytest.param(
            pod(labels={"app": "web"}, topologySpreadConstraints=[constraint()]), {}, id="the-pod-does-not-count-itself"
        ),
        pytest.param(
            pod(labels={"app": "db"}, topologySpreadConstraints=[constraint(whenUnsatisfiable="ScheduleAnyway")]),
            {},
            id="a-wish-rejects-nobody",
        ),
        pytest.param(
            pod(labels={"app": "db"}, topologySpreadConstraints=[constraint(topologyKey="rack")]),
            dict.fromkeys(("a1", "a2", "b1"), f"{SKEW} (missing required label)"),
            id="missing-label",
        ),
        pytest.param(
            pod(labels={"app": "db"}, topologySpreadConstraints=[constraint(minDomains=3)]),
            dict.fromkeys(("a1", "a2"), SKEW),
            id="too-few-domains-count-as-empty",
        ),
        pytest.param(
            pod(labels={"app": "db"}, nodeSelector={ZONE: "a"}, topologySpreadConstraints=[constraint()]),
            # The node selector restricts what is counted, so zone a is the only and the emptiest.
            {"b1": ""},
            id="only-eligible-nodes-count",
        ),
    ],
)
def test_topology_spread(wanting: PodInfo, rejections: dict[str, str]) -> None:
    cluster = cluster_of(*IN_ZONES)
    cluster.place(DB)
    rules = TopologySpread.of(wanting, cluster)
    verdicts = {info.name: rules.reject(info) if rules else None for info in cluster}
    found = {name: rejection.reasons[0] for name, rejection in verdicts.items() if rejection is not None}
    # What node affinity rejects already is not asked about here.
    assert {name: reason for name, reason in found.items() if reason} == {n: r for n, r in rejections.items() if r}


@pytest.mark.parametrize(
    "spec",
    [
        {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}]}}},
        {"affinity": required_nodes({"matchExpressions": [{}]}, {"matchFields": [{}]})},
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]},
        {"schedulingGates": [{}]},
    ],
    ids=["affinity", "anti-affinity", "nodes", "spread", "gate"],
)
def test_a_pod_that_should_not_have_been_stored_does_no_harm(spec: Object) -> None:
    """An API server refuses these; if one did not, the other pods must still be scheduled."""
    cluster = cluster_of(node())
    broken = pod("broken", nodeName="n1", **spec)
    cluster.place(broken)
    (info,) = cluster
    assert isinstance(broken.gates, list)
    for wanting in (broken, pod()):
        reject(wanting, info)
        PodAffinity.of(wanting, cluster)
        TopologySpread.of(wanting, cluster)
    assert reject(pod(), info) is None
    affinity = PodAffinity.of(pod(), cluster)
    assert affinity is None or affinity.reject(info) is None


def test_nodes_are_taken_zone_by_zone_in_turn() -> None:
    cluster = cluster_of(*IN_ZONES, node("c1", labels={ZONE: "c"}))
    assert [info.name for info in cluster] == ["a1", "b1", "c1", "a2"]


def test_a_pod_survives_its_node_and_is_found_again_when_the_node_returns() -> None:
    cluster = cluster_of(node())
    cluster.place(pod("p", containers=[container(cpu="3")], nodeName="n1"))
    cluster.remove_node("n1")
    assert len(cluster) == 0
    cluster.set_node(node())
    assert next(iter(cluster)).requested["cpu"] == 3000


def test_a_slice_whose_node_selector_is_broken_ends_the_attempt_as_a_failed_filter() -> None:
    """The API server takes ``Gt`` with a word; who reads the event is to see which slice says so."""
    state = State("drakit", FeatureGates(), DEFAULT_BACKOFF, 10.0)
    state.on_node(None, node(labels={"cores": "many"}))
    state.on_class(None, {"metadata": {"name": "c"}, "spec": {}})
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    selector = {"nodeSelectorTerms": [expression("cores", "Gt", "few")]}
    spec = {"driver": "d", "nodeSelector": selector, "pool": pool, "devices": [{"name": "a"}]}
    state.on_slice(None, {"metadata": {"name": "broken"}, "spec": spec})
    request = {"name": "r", "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}}
    named = {"name": "claim", "namespace": "default", "uid": "claim"}
    claim = {"metadata": named, "spec": {"devices": {"requests": [request]}}}
    state.on_claim(None, cast("ResourceClaim", claim))
    wanting = pod(resourceClaims=[{"name": "devices", "resourceClaimName": "claim"}])
    with pytest.raises(SchedulingFailed, match=r"DynamicResources.* node selection for slice broken"):
        asyncio.run(state.cycle.decide(wanting, Pace()))
