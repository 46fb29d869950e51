"""Stories of pods on simulated nodes, with a real gRPC plugin and a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from drakit_api.kubelet import wire
from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.resources import EVENTS, LEASES, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_embedded.kubelet import KubeletSimulator, NodeSpec, Timings

if TYPE_CHECKING:
    from tests.embedded.conftest import FakePlugin

Until = Callable[..., Awaitable[Any]]
NS = "default"
NODE = "n1"
DRIVER = "gpu.example.com"
KUBELET_TOKEN = "logs"
TIMINGS = Timings(sync=0.1, backoff=0.1, crash=0.1, wiping=0.3, health_retry=0.05, reconcile=0.2, poll=0.02)


class Story:
    """One cluster with a simulator that can be stopped and started again."""

    def __init__(self, connection: Connection, root: Path) -> None:
        self.connection = connection
        self.root = root
        self.simulator: KubeletSimulator | None = None

    async def start(self, *nodes: str, timings: Timings = TIMINGS) -> KubeletSimulator:
        own = Connection(self.connection.server, token="of-the-tests")
        specs = [NodeSpec(name) for name in nodes or (NODE,)]
        self.simulator = KubeletSimulator(own, specs, self.root, token=KUBELET_TOKEN, timings=timings)
        await self.simulator.start()
        return self.simulator

    @property
    def running(self) -> KubeletSimulator:
        assert self.simulator is not None
        return self.simulator

    async def stop(self) -> None:
        if self.simulator is not None:
            await self.simulator.stop()
            self.simulator = None

    async def claim(
        self, name: str = "c", *, drivers: tuple[str, ...] = (DRIVER,), requests: tuple[str, ...] = ("gpu",)
    ) -> Object:
        wanted = [{"name": request, "exactly": {"deviceClassName": "gpu"}} for request in requests]
        body = {"metadata": {"name": name}, "spec": {"devices": {"requests": wanted}}}
        created = await self.connection.create(RESOURCE_CLAIMS, body, NS)
        results = [
            {"request": request, "driver": driver, "pool": NODE, "device": f"{name}-{request}"}
            for driver in drivers
            for request in requests
        ]
        status = {"allocation": {"devices": {"results": results}}}
        return await self.connection.replace_status(RESOURCE_CLAIMS, {**created, "status": status}, NS)

    async def reserve(self, claim_name: str, *pods: Object) -> None:
        claim = await self.connection.get(RESOURCE_CLAIMS, claim_name, NS)
        consumers = [{"resource": "pods", "name": p["metadata"]["name"], "uid": p["metadata"]["uid"]} for p in pods]
        status = {**claim["status"], "reservedFor": consumers}
        await self.connection.replace_status(RESOURCE_CLAIMS, {**claim, "status": status}, NS)

    async def pod(
        self,
        name: str = "p",
        *claims: str,
        node: str = NODE,
        containers: list[Object] | None = None,
        reserve: bool = True,
        annotations: dict[str, str] | None = None,
        **spec: Any,
    ) -> Object:
        """A pod with one container that uses all of the claims, already bound to its node."""
        used = {"claims": [{"name": claim} for claim in claims]}
        body: Object = {
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {
                "containers": containers or [{"name": "c", "image": "i", "resources": used if claims else {}}],
                "resourceClaims": [{"name": claim, "resourceClaimName": claim} for claim in claims],
                **spec,
            },
        }
        created = await self.connection.create(PODS, body, NS)
        if reserve:
            for claim in claims:
                await self.reserve(claim, created)
        await self.bind(name, node)
        return created

    async def bind(self, name: str, node: str = NODE) -> None:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": node},
        }
        await self.connection.create(PODS, binding, NS, subresource="binding", name=name)

    async def get(self, name: str = "p") -> Object:
        return await self.connection.get(PODS, name, NS)

    def reaches(self, phase: str | None, name: str = "p") -> Callable[[], Awaitable[Object | bool]]:
        """A condition: the pod's phase is this one; None: the pod is gone."""

        async def check() -> Object | bool:
            try:
                pod = await self.get(name)
            except NotFound:
                return phase is None
            return pod if phase is not None and pod["status"].get("phase") == phase else False

        return check

    async def delete(self, name: str = "p") -> None:
        await self.connection.delete(PODS, name, NS)

    async def events(self, reason: str) -> list[str]:
        listed = await self.connection.list(EVENTS, NS)
        return [event["message"] for event in listed["items"] if event["reason"] == reason]

    async def log(
        self, pod: str = "p", container: str = "c", token: str = KUBELET_TOKEN, **query: str
    ) -> tuple[int, str]:
        async with self.logs(pod, container, token, **query) as response:
            return response.status, await response.text()

    @asynccontextmanager
    async def logs(
        self, pod: str = "p", container: str = "c", token: str = KUBELET_TOKEN, **query: str
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        node = await self.connection.get(NODES, NODE)
        port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        url = f"https://127.0.0.1:{port}/containerLogs/{NS}/{pod}/{container}"
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession() as session,
            session.get(url, params=query, headers=headers, ssl=False) as response,
        ):
            yield response

    async def slices(self) -> list[str]:
        return [s["metadata"]["name"] for s in (await self.connection.list(RESOURCE_SLICES))["items"]]

    async def publish(self, name: str, node: str = NODE, driver: str = DRIVER) -> None:
        spec = {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "d"}],
        }
        await self.connection.create(RESOURCE_SLICES, {"metadata": {"name": name}, "spec": spec})


@pytest.fixture
async def story(connection: Connection, short_path: Path) -> AsyncIterator[Story]:
    story = Story(connection, short_path)
    yield story
    await story.stop()


@pytest.fixture
async def plugin(story: Story, plugins: Callable[..., FakePlugin], until: Until) -> FakePlugin:
    """A registered plugin on the node of a running simulator."""
    await story.start()
    plugin = plugins(story.root / NODE)
    await plugin.start()
    await until(lambda: "NodeWatchResources" in plugin.names)
    return plugin


@pytest.mark.slow
async def test_a_node_is_registered_and_ready(story: Story, until: Until) -> None:
    await story.start()
    node = await story.connection.get(NODES, NODE)
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == NODE
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.37.1"
    assert node["status"]["allocatable"]["pods"] == "110"
    assert [c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready"] == ["True"]

    async def leased() -> bool:
        leases = (await story.connection.list(LEASES, "kube-node-lease"))["items"]
        return [lease["spec"]["holderIdentity"] for lease in leases] == [NODE]

    await until(leased)
    # Started again, it finds its node and changes nothing but what has changed.
    await story.stop()
    await story.start()
    again = await story.connection.get(NODES, NODE)
    assert again["metadata"]["uid"] == node["metadata"]["uid"]
    assert again["status"]["daemonEndpoints"] != {}


@pytest.mark.slow
async def test_a_pod_without_claims_runs_and_ends(story: Story, until: Until) -> None:
    await story.start()
    await story.pod()
    pod = await until(story.reaches("Running"))
    status = pod["status"]
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions == dict.fromkeys(
        ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"
    )
    (container,) = status["containerStatuses"]
    assert container["ready"]
    assert container["state"]["running"]["startedAt"]
    assert status["podIP"].startswith("10.")
    assert status["startTime"]
    await story.delete()
    await until(story.reaches(None))


@pytest.mark.slow
async def test_the_life_of_a_claim_as_it_was_recorded(story: Story, plugin: FakePlugin, until: Until) -> None:
    claim = await story.claim("half")
    await story.pod("p", "half")
    await until(story.reaches("Running"))
    status, log = await story.log()
    assert (status, log) == (200, "DEVICE_GPU=half-gpu\nHOSTNAME=p\n")
    await story.delete()
    await until(story.reaches(None))

    request = {"api": "v1", "claims": [{"namespace": NS, "uid": claim["metadata"]["uid"], "name": "half"}]}
    assert [call for call in plugin.calls if call[0].startswith("Node")] == [
        ("NodeWatchResources", {"api": "v1"}),
        ("NodePrepareResources", request),
        ("NodeUnprepareResources", request),
    ]


@pytest.mark.slow
async def test_claims_of_a_pod_are_prepared_in_one_call_a_driver(
    story: Story, plugin: FakePlugin, plugins: Callable[..., FakePlugin], until: Until
) -> None:
    other = plugins(story.root / NODE, "nic.example.com", (wire.DRA_V1BETA1,))
    await other.start()
    await until(lambda: "NotifyRegistrationStatus" in other.names)
    await story.claim("a")
    await story.claim("b", drivers=(DRIVER, "nic.example.com"))
    await story.pod("p", "a", "b")
    await until(story.reaches("Running"))
    assert plugin.claims("NodePrepareResources") == ["a", "b"]
    assert plugin.names.count("NodePrepareResources") == 1
    assert other.claims("NodePrepareResources") == ["b"]
    assert next(request["api"] for name, request in other.calls if name == "NodePrepareResources") == "v1beta1"


@pytest.mark.slow
async def test_a_shared_claim_is_prepared_once_and_unprepared_after_the_last_pod(
    story: Story, plugin: FakePlugin, until: Until
) -> None:
    await story.claim("shared")
    pods = [await story.pod(name, "shared", reserve=False) for name in ("one", "two", "three")]
    await story.reserve("shared", *pods)
    for name in ("one", "two", "three"):
        await until(story.reaches("Running", name))
    assert plugin.claims("NodePrepareResources") == ["shared"]
    for name in ("one", "two"):
        await story.delete(name)
        await until(story.reaches(None, name))
    assert plugin.claims("NodeUnprepareResources") == []
    await story.delete("three")
    await until(story.reaches(None, "three"))
    assert plugin.claims("NodeUnprepareResources") == ["shared"]


@pytest.mark.slow
async def test_a_container_gets_only_what_it_names(story: Story, plugin: FakePlugin, until: Until) -> None:
    plugin.requests = ("gpu", "nic")
    await story.claim("c", requests=("gpu", "nic"))
    containers: list[Object] = [
        {"name": "all", "image": "i", "resources": {"claims": [{"name": "c"}]}},
        {"name": "nic", "image": "i", "resources": {"claims": [{"name": "c", "request": "nic"}]}},
        {"name": "none", "image": "i"},
    ]
    await story.pod("p", "c", containers=containers)
    await until(story.reaches("Running"))
    logs = {name: (await story.log("p", name))[1].splitlines() for name in ("all", "nic", "none")}
    assert logs == {
        "all": ["DEVICE_GPU=c-gpu", "DEVICE_NIC=c-nic", "HOSTNAME=p"],
        "nic": ["DEVICE_NIC=c-nic", "HOSTNAME=p"],
        "none": ["HOSTNAME=p"],
    }


@pytest.mark.slow
async def test_a_ready_pod_no_longer_says_why_it_was_not(story: Story, plugin: FakePlugin, until: Until) -> None:
    plugin.prepare_gate.clear()
    await story.claim()
    await story.pod("p", "c")

    def ready(pod: Object) -> Object:
        return next(condition for condition in pod["status"].get("conditions", ()) if condition["type"] == "Ready")

    async def not_ready() -> bool:
        conditions = (await story.get())["status"].get("conditions", ())
        return "ContainersNotReady" in [condition.get("reason") for condition in conditions]

    await until(not_ready)
    plugin.prepare_gate.set()
    pod = await until(story.reaches("Running"))
    assert ready(pod).keys() == {"type", "status", "lastProbeTime", "lastTransitionTime", "observedGeneration"}


def _of_sandbox(pod: Object) -> Object:
    conditions = pod["status"].get("conditions", ())
    found: Object = next((c for c in conditions if c["type"] == "PodReadyToStartContainers"), {})
    return {key: value for key, value in found.items() if key not in ("lastProbeTime", "lastTransitionTime")}


@pytest.mark.slow
async def test_status_before_between_and_after_is_as_a_real_kubelet_was_seen_to_report_it(
    story: Story, plugin: FakePlugin, until: Until
) -> None:
    asked: Object = {"requests": {"cpu": "10m", "memory": "8Mi"}, "limits": {"memory": "16Mi"}}
    containers: list[Object] = [
        {"name": "c", "image": "i", "resources": {**asked, "claims": [{"name": "c"}]}},
        {"name": "d", "image": "i"},
    ]
    plugin.prepare_gate.clear()
    await story.claim()
    await story.pod("p", "c", containers=containers)
    not_ready = {"type": "PodReadyToStartContainers", "status": "False", "reason": "PodSandboxNotReady"}

    async def without_sandbox() -> Object | bool:
        pod = await story.get()
        before = {**not_ready, "message": "no pod sandbox exists", "observedGeneration": 1}
        return pod if _of_sandbox(pod) == before else False

    pod = await until(without_sandbox)
    assert "podIP" not in pod["status"]
    assert "podIPs" not in pod["status"]
    assert not {"resources", "allocatedResources"} & pod["status"]["containerStatuses"][0].keys()
    plugin.prepare_gate.set()
    pod = await until(story.reaches("Running"))
    assert _of_sandbox(pod) == {"type": "PodReadyToStartContainers", "status": "True", "observedGeneration": 1}
    assert pod["status"]["podIP"]
    with_claim, without = pod["status"]["containerStatuses"]
    assert with_claim["resources"] == {**asked, "claims": [{"name": "c"}]}
    assert with_claim["allocatedResources"] == asked["requests"]
    assert (without["resources"], without.get("allocatedResources")) == ({}, None)
    plugin.unprepare_error = "still busy"
    await story.delete()

    async def stopped() -> Object | bool:
        pod = await story.get()
        after = {**not_ready, "message": "pod sandbox is not ready", "observedGeneration": 2}
        return pod if _of_sandbox(pod) == after else False

    pod = await until(stopped)
    assert {condition["observedGeneration"] for condition in pod["status"]["conditions"]} == {2}
    plugin.unprepare_error = ""
    await until(story.reaches(None))


@pytest.mark.slow
async def test_without_a_driver_the_pod_waits_and_says_why(
    story: Story, plugins: Callable[..., FakePlugin], until: Until
) -> None:
    await story.start()
    await story.claim()
    await story.pod("p", "c")
    assert await until(lambda: story.events("FailedPrepareDynamicResources")) == [
        "Failed to prepare dynamic resources: prepare dynamic resources: DRA driver gpu.example.com is not registered"
    ]
    pod = await story.get()
    assert pod["status"]["phase"] == "Pending"
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ContainerCreating"
    plugin = plugins(story.root / NODE)
    await plugin.start()
    await until(story.reaches("Running"))


@pytest.mark.slow
async def test_a_pod_that_never_got_its_driver_can_be_deleted(story: Story, until: Until) -> None:
    await story.start()
    await story.claim()
    await story.pod("p", "c")
    await until(lambda: story.events("FailedPrepareDynamicResources"))
    await story.delete()
    await until(story.reaches(None))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "message"),
    [
        ("not reserved", r"pod p \(.+\) is not allowed to use ResourceClaim c \(.+\)$"),
        ("missing", r'fetch ResourceClaim c: resourceclaims.resource.k8s.io "c" not found$'),
        ("driver says no", r"NodePrepareResources failed for ResourceClaim c: device is on fire$"),
    ],
)
async def test_what_is_wrong_with_a_claim_is_said_in_the_kubelets_words(
    problem: str, message: str, story: Story, plugin: FakePlugin, until: Until
) -> None:
    if problem != "missing":
        await story.claim()
    plugin.prepare_error = "device is on fire" if problem == "driver says no" else ""
    await story.pod("p", "c", reserve=problem == "driver says no")
    import re

    (said, *_) = await until(lambda: story.events("FailedPrepareDynamicResources"))
    assert re.match("^Failed to prepare dynamic resources: prepare dynamic resources: " + message, said)


@pytest.mark.slow
async def test_a_failed_prepare_is_tried_again(story: Story, plugin: FakePlugin, until: Until) -> None:
    plugin.prepare_error = "not yet"
    await story.claim()
    await story.pod("p", "c")
    await until(lambda: plugin.names.count("NodePrepareResources") >= 2)
    plugin.prepare_error = ""
    await until(story.reaches("Running"))


@pytest.mark.slow
async def test_a_pod_deleted_while_its_driver_hangs_does_not_wait_for_it(
    story: Story, plugin: FakePlugin, until: Until
) -> None:
    plugin.prepare_gate.clear()
    await story.claim()
    await story.pod("p", "c")
    await until(lambda: "NodePrepareResources" in plugin.names)
    await story.delete()
    await until(story.reaches(None))
    assert plugin.claims("NodeUnprepareResources") == ["c"]


@pytest.mark.slow
async def test_a_driver_that_goes_while_preparing_is_asked_again_when_it_is_back(
    story: Story, plugin: FakePlugin, until: Until
) -> None:
    plugin.prepare_gate.clear()
    await story.claim()
    await story.pod("p", "c")
    await until(lambda: "NodePrepareResources" in plugin.names)
    stopping = asyncio.create_task(plugin.stop())
    (message, *_) = await until(lambda: story.events("FailedPrepareDynamicResources"))
    assert "NodePrepareResources: rpc error: code = " in message or "is not registered" in message
    plugin.prepare_gate.set()
    await stopping
    await plugin.start()
    await until(story.reaches("Running"))


@pytest.mark.slow
async def test_a_failed_unprepare_blocks_the_deletion_until_it_works(
    story: Story, plugin: FakePlugin, until: Until
) -> None:
    await story.claim()
    await story.pod("p", "c")
    await until(story.reaches("Running"))
    plugin.unprepare_error = "still busy"
    await story.delete()
    await until(lambda: plugin.names.count("NodeUnprepareResources") >= 2)
    assert (await story.get())["status"]["phase"] == "Running"
    plugin.unprepare_error = ""
    await until(story.reaches(None))


@pytest.mark.slow
async def test_a_force_deleted_pod_still_gives_back_its_claims(story: Story, plugin: FakePlugin, until: Until) -> None:
    await story.claim()
    await story.pod("p", "c")
    await until(story.reaches("Running"))
    await story.connection.delete(PODS, "p", NS, grace_period_seconds=0)
    await until(lambda: plugin.claims("NodeUnprepareResources") == ["c"])


@pytest.mark.slow
async def test_unresolvable_devices_keep_the_container_from_starting(
    story: Story, plugin: FakePlugin, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = plugin._write_cdi
    monkeypatch.setattr(plugin, "_write_cdi", lambda uid, name: None)
    claim = await story.claim()
    await story.pod("p", "c")
    device = f"gpu.example.com/claim={claim['metadata']['uid']}-gpu"
    (message, *_) = await until(lambda: story.events("Failed"))
    assert message == (
        f"Error: failed to create containerd container: CDI device injection failed: unresolvable CDI devices {device}"
    )

    async def waiting() -> bool:
        statuses = (await story.get())["status"].get("containerStatuses", [{}])
        return bool(statuses[0]["state"].get("waiting", {}).get("reason") == "CreateContainerError")

    await until(waiting)
    write(claim["metadata"]["uid"], "c")
    await until(story.reaches("Running"))
    assert plugin.names.count("NodePrepareResources") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", "0", "Succeeded"), ("Never", "3", "Failed"), ("OnFailure", "0", "Succeeded")],
    ids=["never, ends well", "never, fails", "on failure, ends well"],
)
async def test_pods_whose_containers_end_finish_after_their_claims_are_back(
    policy: str, code: str, phase: str, story: Story, plugin: FakePlugin, until: Until
) -> None:
    await story.claim()
    annotations = {"drakit.dev/exit-after": "50ms", "drakit.dev/exit-code": code}
    await story.pod("p", "c", annotations=annotations, restartPolicy=policy)
    pod = await until(story.reaches(phase))
    assert plugin.claims("NodeUnprepareResources") == ["c"]
    terminated = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (int(code), "Completed" if code == "0" else "Error")
    await story.delete()
    await until(story.reaches(None))
    assert plugin.claims("NodeUnprepareResources") == ["c"]


@pytest.mark.slow
async def test_failing_containers_are_started_again_later_and_later(story: Story, until: Until) -> None:
    await story.start()
    await story.pod(
        annotations={"drakit.dev/exit-after": "10ms", "drakit.dev/exit-code": "1"}, restartPolicy="OnFailure"
    )

    async def restarted_twice() -> bool:
        status = (await story.get())["status"].get("containerStatuses", [{}])[0]
        return bool(status.get("restartCount", 0) >= 2 and status["lastState"]["terminated"]["exitCode"] == 1)

    await until(restarted_twice)
    assert (await story.get())["status"]["phase"] == "Running"
    assert await until(lambda: story.events("BackOff"))
    assert await story.log(previous="true") == (200, "HOSTNAME=p\n")


async def test_a_container_that_waits_has_no_log_yet(story: Story, until: Until) -> None:
    await story.start()
    await story.pod(annotations={"drakit.dev/exit-after": "soon"})
    await until(lambda: story.events("Failed"))
    assert await story.log() == (400, 'container "c" in pod "p" is waiting to start: CreateContainerConfigError')


@pytest.mark.slow
async def test_a_restarted_kubelet_prepares_nothing_twice(story: Story, plugin: FakePlugin, until: Until) -> None:
    await story.claim()
    await story.pod("p", "c")
    before = await until(story.reaches("Running"))
    await story.publish("slice")
    await story.publish("elsewhere", node="another")
    await story.running.restart_node(NODE)
    await until(lambda: plugin.names.count("GetInfo") == 2)

    async def wiped() -> bool:
        return await story.slices() == ["elsewhere"]

    await until(wiped)
    await until(lambda: story.running.kubelets[NODE].pods[before["metadata"]["uid"]].sandbox)
    after = await story.get()
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]
    assert (await story.log())[1] == "DEVICE_GPU=c-gpu\nHOSTNAME=p\n"
    await story.delete()
    await until(story.reaches(None))
    assert plugin.claims("NodePrepareResources") == ["c"]
    assert plugin.claims("NodeUnprepareResources") == ["c"]


@pytest.mark.slow
async def test_a_new_process_takes_over_what_the_old_one_left(story: Story, plugin: FakePlugin, until: Until) -> None:
    await story.claim()
    await story.claim("other")
    kept = await story.pod("p", "c")
    await story.pod("lost", "other")
    for name in ("p", "lost"):
        await until(story.reaches("Running", name))
    address = (await story.get())["status"]["podIP"]
    await story.stop()
    await story.connection.delete(PODS, "lost", NS, grace_period_seconds=0)
    await story.start()
    await until(lambda: plugin.claims("NodeUnprepareResources") == ["other"])
    await story.pod("new")
    pod = await until(story.reaches("Running", "new"))
    assert pod["status"]["podIP"] != address
    assert (await story.get())["metadata"]["uid"] == kept["metadata"]["uid"]
    await story.delete()
    await until(story.reaches(None))
    assert plugin.claims("NodePrepareResources") == ["c", "other"]
    assert plugin.claims("NodeUnprepareResources") == ["other", "c"]


@pytest.mark.slow
async def test_a_driver_that_is_gone_loses_its_slices_and_its_pods_go_on(
    story: Story, plugin: FakePlugin, until: Until, caplog: pytest.LogCaptureFixture
) -> None:
    await story.claim()
    await story.pod("p", "c")
    await until(story.reaches("Running"))
    await until(lambda: not story.running.kubelets[NODE].wipes.under_way)
    await story.publish("mine")
    await story.publish("of-another", driver="nic.example.com")
    await plugin.stop()

    async def wiped() -> bool:
        return await story.slices() == ["of-another"]

    await until(wiped)
    assert (await story.get())["status"]["phase"] == "Running"
    await story.delete()
    await until(lambda: "unprepare dynamic resources" in caplog.text)
    assert not await story.reaches(None)()
    await plugin.start()
    await until(story.reaches(None))
    assert plugin.claims("NodeUnprepareResources") == ["c"]


@pytest.mark.slow
async def test_a_killed_driver_gets_its_unprepare_when_it_is_back(
    story: Story, plugin: FakePlugin, until: Until, caplog: pytest.LogCaptureFixture
) -> None:
    await story.claim()
    await story.pod("p", "c")
    await until(story.reaches("Running"))
    await plugin.kill()
    await story.delete()
    await until(lambda: "unprepare dynamic resources" in caplog.text)
    assert not await story.reaches(None)()
    await plugin.start()
    await until(story.reaches(None))
    assert plugin.claims("NodeUnprepareResources") == ["c"]


@pytest.mark.slow
async def test_health_reaches_the_status_of_the_container(story: Story, plugin: FakePlugin, until: Until) -> None:
    await story.claim()
    await story.pod("p", "c")
    await until(story.reaches("Running"))

    def health(state: str, **extra: str) -> Callable[[], Awaitable[bool]]:
        async def check() -> bool:
            status = (await story.get())["status"]["containerStatuses"][0]
            allocated = status.get("allocatedResourcesStatus", [])
            entries = [
                {key: value for key, value in e.items() if key != "resourceID"} for e in allocated[0]["resources"]
            ]
            return allocated[0]["name"] == "claim:c" and entries == [{"health": state, **extra}]

        return check

    await until(health("Unknown"))
    device = {"pool": NODE, "device": "c-gpu"}
    await plugin.health.put([{**device, "health": "HEALTHY"}])
    await until(health("Healthy"))
    await plugin.health.put([{**device, "health": "UNHEALTHY", "message": "too hot", "timeout": 4}])
    await until(health("Unhealthy", message="too hot"))
    await until(health("Unknown"))


@pytest.mark.slow
async def test_logs_need_the_token_and_can_be_cut_and_followed(story: Story, until: Until) -> None:
    await story.start()
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    await story.pod("p", containers=[{"name": "c", "image": "i", "env": env}])
    await until(story.reaches("Running"))
    assert (await story.log(token="wrong"))[0] == 401
    assert await story.log(container="other") == (404, 'container "other" not found in pod "p"')
    assert await story.log(pod="other") == (404, 'pod "other" does not exist')
    assert await story.log(previous="true") == (400, 'previous terminated container "c" in pod "p" not found')
    assert (await story.log(tailLines="many"))[0] == 400
    assert (await story.log(tailLines="1"))[1] == "HOSTNAME=p\n"
    assert (await story.log(limitBytes="3"))[1] == "A=1"
    assert (await story.log(sinceTime="2020-01-01T00:00:00Z"))[1] == "A=1\nB=2\nHOSTNAME=p\n"
    assert await story.log(sinceTime="2099-01-01T00:00:00Z") == (200, "")
    assert (await story.log(sinceSeconds="3600"))[1] == "A=1\nB=2\nHOSTNAME=p\n"
    assert (await story.log(sinceTime="yesterday"))[0] == 400
    async with story.logs(follow="true") as followed:
        assert [await followed.content.readline() for _ in range(3)] == [b"A=1\n", b"B=2\n", b"HOSTNAME=p\n"]
        end = asyncio.create_task(followed.read())
        assert (await story.log(tailLines="1"))[0] == 200
        assert not end.done()
        await story.delete()
        assert await asyncio.wait_for(end, 30) == b""


def has_containers(story: Story) -> Callable[[], Awaitable[bool]]:
    async def check() -> bool:
        return (await story.get())["status"].get("phase") in ("Running", "Succeeded")

    return check


@pytest.mark.slow
async def test_a_log_that_is_followed_has_what_is_printed_later(story: Story, until: Until) -> None:
    await story.start()
    command = ["sh", "-c", "echo $GREETING; sleep 0.5; echo done"]
    env = [{"name": "GREETING", "value": "hello"}]
    await story.pod(
        "p", restartPolicy="Never", containers=[{"name": "c", "image": "i", "command": command, "env": env}]
    )
    await until(has_containers(story))
    async with story.logs(follow="true") as followed:
        assert await asyncio.wait_for(followed.read(), 10) == b"hello\ndone\n"
    await until(story.reaches("Succeeded"))
    assert await story.log(tailLines="1") == (200, "done\n")


@pytest.mark.slow
async def test_a_process_that_cannot_be_started_is_told(story: Story, until: Until) -> None:
    await story.start()
    doubled = [{"name": f"V{n}", "value": f"$(V{n - 1})$(V{n - 1})"} for n in range(1, 40)]
    env = [{"name": "V0", "value": "x"}, *doubled]
    await story.pod("p", containers=[{"name": "c", "image": "i", "env": env}])

    async def told() -> list[str]:
        return await story.events("Failed")

    why = "Error: failed to start containerd task: OCI runtime create failed: argument list too long"
    assert await until(told) == [why]


@pytest.mark.slow
async def test_many_nodes_share_one_process(story: Story, until: Until) -> None:
    names = [f"n{number}" for number in range(1, 31)]
    await story.start(*names)
    assert len((await story.connection.list(NODES))["items"]) == 30
    for name in names:
        await story.pod(f"p-{name}", node=name)
    addresses = {(await until(story.reaches("Running", f"p-{name}")))["status"]["podIP"] for name in names}
    assert len(addresses) == 30


@pytest.mark.slow
async def test_nothing_is_left_when_it_stops(story: Story, plugin: FakePlugin, until: Until) -> None:
    before = asyncio.all_tasks()
    await story.claim()
    await story.pod("p", "c", annotations={"drakit.dev/exit-after": "60s"})
    await until(story.reaches("Running"))
    await story.stop()
    left = {task for task in asyncio.all_tasks() - before if not task.done()}
    assert not [task for task in left if "drakit_embedded.kubelet" in str(task.get_coro())]
    assert (await story.get())["status"]["phase"] == "Running"


@pytest.mark.parametrize("name", ["../evil", "UPPER", "", "a..b", "x/y"])
def test_names_that_could_leave_the_root_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="node name"):
        NodeSpec(name)
