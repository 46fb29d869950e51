"""Daemon sets: which nodes get a pod, which pods go, and how a new template is rolled out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.resources import CONTROLLER_REVISIONS, DAEMON_SETS, EVENTS, NODES, PODS
from drakit_embedded.controllers.daemonsets import plans
from drakit_embedded.controllers.daemonsets.node_fit import Fit, fit, pod_template, target_node, tolerations
from drakit_embedded.controllers.daemonsets.plans import DaemonSetView

Until = Callable[..., Awaitable[Any]]
NS = "default"
LABELS = {"app": "d"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
DEDICATED = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def node(name: str = "n1", *taints: Object, **labels: str) -> Object:
    return {"metadata": {"name": name, "labels": labels}, "spec": {"taints": list(taints)}}


def daemon_set(strategy: Object | None = None, **spec: Any) -> Object:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "one"}], **spec}}
    return {
        "metadata": {"name": "d", "namespace": NS, "uid": "u"},
        "spec": {
            "selector": {"matchLabels": LABELS},
            "template": template,
            "updateStrategy": strategy or {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        },
    }


def required(*terms: Object) -> Object:
    selector = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


@pytest.mark.parametrize(
    ("spec", "where", "expected"),
    [
        ({}, node(), Fit(True, True)),
        ({"nodeName": "n2"}, node(), Fit(False, False)),
        ({"nodeSelector": {"disk": "ssd"}}, node(disk="ssd"), Fit(True, True)),
        ({"nodeSelector": {"disk": "ssd"}}, node(), Fit(False, False)),
        (
            {"affinity": required({"matchExpressions": [{"key": "disk", "operator": "Exists"}]})},
            node(disk="hdd"),
            Fit(True, True),
        ),
        ({"affinity": required({"matchExpressions": [{"key": "x", "operator": "Exists"}]})}, node(), Fit(False, False)),
        ({}, node("n1", NOT_READY), Fit(True, True)),
        ({}, node("n1", DEDICATED), Fit(False, True)),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, node("n1", DEDICATED), Fit(True, True)),
        ({"tolerations": [{"key": "gpu", "value": "no"}]}, node("n1", DEDICATED), Fit(False, True)),
        ({"tolerations": [{"operator": "Exists"}]}, node("n1", DEDICATED), Fit(True, True)),
        ({}, node("n1", {**DEDICATED, "effect": "NoExecute"}), Fit(False, False)),
        ({}, node("n1", {**DEDICATED, "effect": "PreferNoSchedule"}), Fit(True, True)),
    ],
)
def test_nodes_that_a_daemon_set_is_for(spec: Object, where: Object, expected: Fit) -> None:
    assert fit(daemon_set(**spec), where) == expected


def test_a_pod_can_be_placed_on_its_node_only() -> None:
    preferred = [{"weight": 1, "preference": {}}]
    affinity = required({"matchExpressions": [{"key": "disk", "operator": "Exists"}]})
    affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    made = pod_template(daemon_set(affinity=affinity), "hash", "n7")
    assert made["metadata"]["labels"] == {**LABELS, "controller-revision-hash": "hash"}
    node_affinity = made["spec"]["affinity"]["nodeAffinity"]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n7"]}]}
    assert node_affinity["requiredDuringSchedulingIgnoredDuringExecution"] == {"nodeSelectorTerms": [term]}
    assert node_affinity["preferredDuringSchedulingIgnoredDuringExecution"] == preferred
    assert target_node(made) == "n7"


def test_tolerations_are_added_once() -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    found = tolerations({"tolerations": [own], "hostNetwork": True})
    assert [t["key"].partition("/")[2] for t in found] == [
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
        "network-unavailable",
    ]
    assert not any("tolerationSeconds" in t for t in found)


# Pods as letters: N new and O old, available; n and o, not available; g is going, F failed, S succeeded.
def pods(letters: str, where: str) -> list[Object]:
    return [_pod(letter, where, index) for index, letter in enumerate(letters)]


def _pod(letter: str, where: str, index: int) -> Object:
    ready = {"type": "Ready", "status": "True" if letter in "NO" else "False"}
    phase = {"F": "Failed", "S": "Succeeded"}.get(letter, "Running")
    made: Object = {
        "metadata": {
            "name": f"{where}-{letter}{index}",
            "labels": {"controller-revision-hash": "old" if letter in "oO" else "new"},
            "creationTimestamp": f"2026-01-01T00:00:0{index}Z",
        },
        "spec": {"nodeName": where},
        "status": {"phase": phase, "conditions": [ready]},
    }
    if letter == "g":
        made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:09Z"
    return made


def view(strategy: Object, *nodes: str) -> DaemonSetView:
    """Nodes n0, n1, ... with these pods; a node that begins with ! is tainted."""
    names = [f"n{index}" for index in range(len(nodes))]
    made = [
        node(name, *([DEDICATED] if letters.startswith("!") else []))
        for name, letters in zip(names, nodes, strict=True)
    ]
    by_node = {name: pods(letters.strip("!"), name) for name, letters in zip(names, nodes, strict=True)}
    return DaemonSetView(daemon_set(strategy), "new", made, {name: found for name, found in by_node.items() if found})


def unavailable(value: int | str) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": value, "maxSurge": 0}}


def surge(value: int | str) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": value}}


def names(plan: plans.Plan) -> tuple[list[str], list[str]]:
    return plan.create, sorted(pod["metadata"]["name"] for pod in plan.delete)


@pytest.mark.parametrize(
    ("strategy", "nodes", "create", "delete"),
    [
        (unavailable(1), ["", "N", "g"], ["n0"], []),
        (unavailable(1), ["NNN"], [], ["n0-N1", "n0-N2"]),
        (unavailable(1), ["F", "S"], [], ["n0-F0", "n1-S0"]),
        (unavailable(1), ["!", "!N"], [], []),
        (surge(1), ["g"], ["n0"], []),
        (surge(1), ["On"], [], []),
        (surge(1), ["ON"], [], ["n0-O0"]),
        (surge(1), ["on"], [], ["n0-o0"]),
        (surge(1), ["OOnn"], [], ["n0-O1", "n0-n3"]),
    ],
)
def test_upkeep(strategy: Object, nodes: list[str], create: list[str], delete: list[str]) -> None:
    assert names(plans.upkeep(view(strategy, *nodes), lambda _: True)) == (create, delete)


def test_pods_of_nodes_that_are_not_there_go_if_they_were_never_placed() -> None:
    gone = view(unavailable(1))
    placed, pending = pods("NN", "n9")
    del pending["spec"]["nodeName"]
    gone.pods = {"n9": [placed, pending]}
    assert names(plans.upkeep(gone, lambda _: True)) == ([], ["n9-N1"])


@pytest.mark.parametrize(
    ("strategy", "nodes", "create", "delete"),
    [
        (unavailable(1), ["O", "O", "O"], [], ["n0-O0"]),
        (unavailable(2), ["O", "O", "O"], [], ["n0-O0", "n1-O0"]),
        (unavailable("50%"), ["O", "O", "O"], [], ["n0-O0", "n1-O0"]),
        (unavailable(1), ["n", "O", "O"], [], []),
        (unavailable(1), ["", "O"], [], []),
        (unavailable(1), ["g", "O"], [], []),
        (unavailable(1), ["o", "O"], [], ["n0-o0"]),
        (unavailable(1), ["N", "N"], [], []),
        (unavailable(0), ["O"], [], ["n0-O0"]),
        (surge(1), ["O", "O"], ["n0"], []),
        (surge("100%"), ["O", "O"], ["n0", "n1"], []),
        (surge(1), ["On", "O"], [], []),
        (surge(1), ["ON", "O"], ["n1"], ["n0-O0"]),
        (surge(1), ["o", "o"], ["n0", "n1"], []),
        (surge(1), ["!O", "N"], [], ["n0-O0"]),
        (surge(1), ["!O", "n"], [], []),
        (surge(1), ["!o", "n"], [], ["n0-o0"]),
    ],
)
def test_rolling_updates(strategy: Object, nodes: list[str], create: list[str], delete: list[str]) -> None:
    assert names(plans.rolling_update(view(strategy, *nodes))) == (create, delete)


def test_status_counts_nodes_not_pods() -> None:
    assert plans.status(view(unavailable(1), "N", "n", "O", "", "!N", "!")) == {
        "currentNumberScheduled": 3,
        "numberMisscheduled": 1,
        "desiredNumberScheduled": 4,
        "numberReady": 2,
        "updatedNumberScheduled": 2,
        "numberAvailable": 2,
        "numberUnavailable": 2,
    }


class Story:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    async def nodes(self, *names: str) -> None:
        for name in names:
            await self.connection.create(
                NODES, {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}
            )

    async def create(self, strategy: Object | None = None, **spec: Any) -> None:
        body = daemon_set(strategy, **spec)
        body["metadata"] = {"name": "d"}
        await self.connection.create(DAEMON_SETS, body, NS)

    async def pods(self) -> dict[str, Object]:
        """Living pods by node."""
        listed = (await self.connection.list(PODS, NS))["items"]
        living = [pod for pod in listed if "deletionTimestamp" not in pod["metadata"]]
        return {str(target_node(pod)): pod for pod in living}

    async def images(self) -> dict[str, str]:
        return {name: pod["spec"]["containers"][0]["image"] for name, pod in (await self.pods()).items()}

    async def have(self, *names: str) -> bool:
        return sorted(await self.pods()) == sorted(names)

    async def make_ready(self) -> None:
        """Play scheduler and kubelet: every pod is bound, Running and Ready."""
        for name, pod in (await self.pods()).items():
            metadata = pod["metadata"]
            if "nodeName" not in pod["spec"]:
                target = {"kind": "Node", "name": name}
                bound = {"metadata": {"name": metadata["name"]}, "target": target}
                await self.connection.create(
                    PODS,
                    {"apiVersion": "v1", "kind": "Binding", **bound},
                    NS,
                    subresource="binding",
                    name=metadata["name"],
                )
            if pod.get("status", {}).get("phase") != "Running":
                condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                patch = {"status": {"phase": "Running", "conditions": [condition]}}
                await self.connection.patch(PODS, metadata["name"], patch, NS, subresource="status")

    async def finish_deletions(self) -> None:
        """Play the kubelet: pods that are going are gone."""
        for pod in (await self.connection.list(PODS, NS))["items"]:
            if "deletionTimestamp" in pod["metadata"]:
                await self.connection.delete(PODS, pod["metadata"]["name"], NS, grace_period_seconds=0)

    async def status(self) -> Object:
        got = await self.connection.get(DAEMON_SETS, "d", NS)
        status: Object = got.get("status") or {}
        return status if status.get("observedGeneration") == got["metadata"]["generation"] else {}

    async def set_image(self, image: str) -> None:
        patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
        await self.connection.patch(DAEMON_SETS, "d", patch, NS, patch_type="strategic-merge")


@pytest.fixture
def story(connection: Connection) -> Story:
    return Story(connection)


@pytest.mark.slow
async def test_each_node_has_a_pod_and_new_ones_get_one(story: Story, controllers: None, until: Until) -> None:
    await story.nodes("n1", "n2")
    await story.create()
    await until(lambda: story.have("n1", "n2"))
    await story.nodes("n3")
    await until(lambda: story.have("n1", "n2", "n3"))
    await story.make_ready()

    async def complete() -> bool:
        return (await story.status()).get("numberAvailable") == 3

    await until(complete)
    assert await story.status() == {
        "currentNumberScheduled": 3,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 3,
        "numberReady": 3,
        "updatedNumberScheduled": 3,
        "numberAvailable": 3,
        "observedGeneration": 1,
    }
    (owner,) = (await story.pods())["n1"]["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("DaemonSet", "d", True)


@pytest.mark.slow
async def test_a_node_selector_and_a_label_that_changes(story: Story, controllers: None, until: Until) -> None:
    await story.nodes("n1", "n2")
    await story.create(nodeSelector={"kubernetes.io/hostname": "n1"})
    await until(lambda: story.have("n1"))
    for name, label in (("n1", "other"), ("n2", "n1")):
        patch = {"metadata": {"labels": {"kubernetes.io/hostname": label}}}
        await story.connection.patch(NODES, name, patch)
    await until(lambda: story.have("n2"))


@pytest.mark.slow
async def test_a_new_template_reaches_one_node_after_the_other(story: Story, controllers: None, until: Until) -> None:
    await story.nodes("n1", "n2", "n3")
    await story.create()
    await until(lambda: story.have("n1", "n2", "n3"))
    await story.make_ready()
    await story.set_image("two")
    seen = []

    async def is_rolled_out() -> bool:
        images = await story.images()
        seen.append(sum(pod["status"].get("phase") == "Running" for pod in (await story.pods()).values()))
        await story.finish_deletions()
        if len(images) == 3:
            await story.make_ready()
        return list(images.values()) == ["two"] * 3

    await until(is_rolled_out)
    assert min(seen) >= 2, "maxUnavailable is 1"
    revisions = (await story.connection.list(CONTROLLER_REVISIONS, NS))["items"]
    assert sorted(each["revision"] for each in revisions) == [1, 2]
    hashes = {each["revision"]: each["metadata"]["labels"]["controller-revision-hash"] for each in revisions}
    assert {pod["metadata"]["labels"]["controller-revision-hash"] for pod in (await story.pods()).values()} == {
        hashes[2]
    }
    # Back to the first template: its revision becomes the newest, and none is made.
    await story.set_image("one")

    async def is_third() -> bool:
        listed = (await story.connection.list(CONTROLLER_REVISIONS, NS))["items"]
        return sorted(each["revision"] for each in listed) == [2, 3]

    await until(is_third)


@pytest.mark.slow
async def test_on_delete_waits_for_the_user(story: Story, controllers: None, until: Until) -> None:
    await story.nodes("n1", "n2")
    await story.create({"type": "OnDelete"})
    await until(lambda: story.have("n1", "n2"))
    await story.make_ready()
    await story.set_image("two")

    async def is_observed() -> bool:
        return (await story.status()).get("desiredNumberScheduled") == 2

    await until(is_observed)
    assert await story.images() == {"n1": "one", "n2": "one"}
    await story.connection.delete(PODS, (await story.pods())["n1"]["metadata"]["name"], NS, grace_period_seconds=0)

    async def is_replaced() -> bool:
        return await story.images() == {"n1": "two", "n2": "one"}

    await until(is_replaced)
    assert (await story.status())["numberMisscheduled"] == 0


@pytest.mark.slow
async def test_a_failed_pod_is_told_and_replaced(story: Story, controllers: None, until: Until) -> None:
    await story.nodes("n1")
    await story.create()
    await until(lambda: story.have("n1"))
    await story.make_ready()
    first = (await story.pods())["n1"]["metadata"]
    await story.connection.patch(PODS, first["name"], {"status": {"phase": "Failed"}}, NS, subresource="status")

    async def is_replaced() -> bool:
        await story.finish_deletions()
        found = await story.pods()
        return "n1" in found and found["n1"]["metadata"]["uid"] != first["uid"]

    await until(is_replaced)

    async def told() -> list[str]:
        events = (await story.connection.list(EVENTS, NS))["items"]
        return [each["message"] for each in events if each["reason"] == "FailedDaemonPod"]

    assert await until(told) == [f"Found failed daemon pod default/{first['name']} on node n1, will try to kill it"]


@pytest.mark.slow
async def test_its_pods_and_revisions_go_with_it(story: Story, controllers: None, until: Until) -> None:
    await story.nodes("n1")
    await story.create()
    await until(lambda: story.have("n1"))
    await story.connection.delete(DAEMON_SETS, "d", NS, propagation="Background")

    async def is_clean() -> bool:
        left = [*(await story.pods()), *(await story.connection.list(CONTROLLER_REVISIONS, NS))["items"]]
        return not left

    await until(is_clean)


@pytest.mark.slow
async def test_a_pod_of_nobody_is_taken_over_and_one_of_other_labels_is_let_go(
    story: Story, controllers: None, until: Until, caplog: pytest.LogCaptureFixture
) -> None:
    await story.nodes("n1")
    spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "one"}]}
    orphan = {"metadata": {"name": "orphan", "namespace": NS, "labels": LABELS}, "spec": spec}
    await story.connection.create(PODS, orphan, NS)
    with caplog.at_level("INFO"):
        await story.create({"type": "OnDelete"})

        async def owner() -> Any:
            pod = await story.connection.get(PODS, "orphan", NS)
            owners = pod["metadata"].get("ownerReferences") or [{}]
            return owners[0].get("name")

        async def adopted() -> bool:
            return await owner() == "d" and (await story.status()).get("currentNumberScheduled") == 1

        await until(adopted)
        patch = {"metadata": {"labels": {"app": "other"}}}
        await story.connection.patch(PODS, "orphan", patch, NS)

        async def released() -> bool:
            pods = (await story.connection.list(PODS, NS))["items"]
            return await owner() is None and len(pods) == 2

        await until(released)
    assert [text for text in caplog.messages if "the object has been modified" in text] == []
