"""Stories of Services and of the pods behind them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from drakit_api.kubernetes_objects import Object
from drakit_client.connection import Connection
from drakit_client.errors import NotFound
from drakit_client.resources import ENDPOINT_SLICES, ENDPOINTS, NODES, PODS, SERVICES

Until = Callable[..., Awaitable[Any]]
NS = "default"
pytestmark = [pytest.mark.usefixtures("controllers"), pytest.mark.slow]


class Story:
    """Shortcuts for what the stories do."""

    def __init__(self, connection: Connection, until: Until) -> None:
        self.connection, self.until = connection, until

    async def service(self, **spec: Any) -> Object:
        body = {"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"selector": {"app": "web"}, **spec}}
        body["spec"].setdefault("ports", [{"name": "http", "port": 80, "targetPort": 8080}])
        return await self.connection.create(SERVICES, body, NS)

    async def pod(self, number: int, *, ready: bool = True, **spec: Any) -> Object:
        """A pod of the application with an address; it may have a port ``web``."""
        container = {"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 8000 + number}]}
        body = {
            "metadata": {"name": f"p{number}", "labels": {"app": "web"}},
            "spec": {"containers": [container], "nodeName": "n", **spec},
        }
        await self.connection.create(PODS, body, NS)
        return await self.ready(number, ready=ready)

    async def ready(self, number: int, *, ready: bool) -> Object:
        condition = {"type": "Ready", "status": str(ready)}
        ip = f"10.244.0.{number}" if number < 256 else f"10.244.1.{number - 256}"
        status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [condition]}
        return await self.connection.patch(PODS, f"p{number}", {"status": status}, NS, subresource="status")

    async def slices(self) -> list[Object]:
        """Those of the Service, the fullest first."""
        listed = (await self.connection.list(ENDPOINT_SLICES, NS))["items"]
        mine = [each for each in listed if each["metadata"]["labels"]["kubernetes.io/service-name"] == "web"]
        return sorted(mine, key=lambda each: -len(each["endpoints"] or ()))

    async def seen(self) -> dict[str, bool]:
        """Whether each address in the slices is ready."""
        return {
            endpoint["addresses"][0]: endpoint["conditions"]["ready"]
            for part in await self.slices()
            for endpoint in part["endpoints"] or ()
        }

    async def wait(self, wanted: dict[str, bool]) -> None:
        """Until the slices say that, and the Endpoints the same."""

        async def is_so() -> bool:
            try:
                subsets = (await self.connection.get(ENDPOINTS, "web", NS)).get("subsets") or []
            except NotFound:
                return False
            told = {each["ip"]: True for subset in subsets for each in subset.get("addresses") or ()}
            told |= {each["ip"]: False for subset in subsets for each in subset.get("notReadyAddresses") or ()}
            return await self.seen() == wanted == told

        await self.until(is_so)


@pytest.fixture
def story(connection: Connection, until: Until) -> Story:
    return Story(connection, until)


async def test_pods_stand_behind_the_service_that_selects_them(story: Story) -> None:
    service = await story.service()
    made = await story.pod(1)
    await story.pod(2, ready=False)
    await story.wait({"10.244.0.1": True, "10.244.0.2": False})
    (part,) = await story.slices()
    assert part["metadata"]["name"].startswith("web-")
    assert part["metadata"]["labels"] == {
        "app": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": "web",
    }
    (owner,) = part["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Service", service["metadata"]["uid"], True)
    assert part["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    assert next(each for each in part["endpoints"] if each["addresses"] == ["10.244.0.1"]) == {
        "addresses": ["10.244.0.1"],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "nodeName": "n",
        "targetRef": {"kind": "Pod", "namespace": NS, "name": "p1", "uid": made["metadata"]["uid"]},
    }
    endpoints = await story.connection.get(ENDPOINTS, "web", NS)
    assert endpoints["metadata"]["labels"] == {
        "app": "web",
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
    }


async def test_endpoints_follow_pods_that_change_their_minds(story: Story) -> None:
    await story.service()
    await story.pod(1)
    await story.pod(2)
    await story.wait({"10.244.0.1": True, "10.244.0.2": True})
    await story.ready(1, ready=False)
    await story.wait({"10.244.0.1": False, "10.244.0.2": True})
    await story.connection.patch(PODS, "p2", {"metadata": {"labels": {"app": "other"}}}, NS)
    await story.wait({"10.244.0.1": False})
    await story.connection.delete(PODS, "p1", NS, grace_period_seconds=0)
    await story.wait({})
    await story.connection.patch(SERVICES, "web", {"spec": {"selector": {"app": "other"}}}, NS)
    await story.wait({"10.244.0.2": True})


async def test_a_pod_that_is_leaving_is_no_more_ready(story: Story) -> None:
    await story.service()
    await story.pod(1)
    await story.wait({"10.244.0.1": True})
    await story.connection.delete(PODS, "p1", NS, grace_period_seconds=30)
    await story.until(lambda: _is_leaving(story))
    assert not (await story.connection.get(ENDPOINTS, "web", NS)).get("subsets")


async def _is_leaving(story: Story) -> bool:
    parts = await story.slices()
    gone = not (await story.connection.get(ENDPOINTS, "web", NS)).get("subsets")
    conditions = [endpoint["conditions"] for part in parts for endpoint in part["endpoints"] or ()]
    return gone and conditions == [{"ready": False, "serving": True, "terminating": True}]


async def test_pods_whose_ports_of_a_name_differ_are_in_slices_of_their_own(story: Story) -> None:
    await story.service(ports=[{"port": 80, "targetPort": "web"}])
    for number in (1, 2):
        await story.pod(number)
    await story.wait({"10.244.0.1": True, "10.244.0.2": True})
    assert sorted(part["ports"][0]["port"] for part in await story.slices()) == [8001, 8002]


async def test_ports_that_lead_to_the_same_pods_are_one_subset(story: Story) -> None:
    """As kube-controller-manager packs them: of two pods one has the port of the name, both have the number."""
    ports = [{"name": "named", "port": 80, "targetPort": "web"}, {"name": "number", "port": 81, "targetPort": 9}]
    await story.service(ports=[*ports, {"name": "again", "port": 82, "targetPort": 10}])
    await story.pod(1)
    await story.pod(2, containers=[{"name": "c", "image": "i"}])
    await story.wait({"10.244.0.1": True, "10.244.0.2": True})
    subsets = (await story.connection.get(ENDPOINTS, "web", NS))["subsets"]
    packed = {
        tuple(sorted(port["name"] for port in subset["ports"])): [each["ip"] for each in subset["addresses"]]
        for subset in subsets
    }
    assert packed == {("again", "number"): ["10.244.0.1", "10.244.0.2"], ("named",): ["10.244.0.1"]}


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"publishNotReadyAddresses": True}, {"10.244.0.1": True}),
        ({"clusterIP": "None", "ports": []}, {"10.244.0.1": False}),
        ({"ports": [{"port": 80, "targetPort": "nothing"}]}, {}),
    ],
    ids=["not ready either", "headless without ports", "no such port"],
)
async def test_kinds_of_services(story: Story, spec: Object, wanted: dict[str, bool]) -> None:
    await story.pod(1, ready=False)
    await story.service(**spec)
    await story.wait(wanted)


async def test_hundred_endpoints_fill_a_slice(story: Story) -> None:
    await story.service()
    for number in range(1, 152):
        await story.pod(number)
    wanted = {f"10.244.0.{number}": True for number in range(1, 152)}
    await story.wait(wanted)
    parts = await story.slices()
    assert max(len(part["endpoints"]) for part in parts) <= 100
    assert sum(len(part["endpoints"]) for part in parts) == 151


async def test_what_stands_behind_a_service_goes_with_it(story: Story) -> None:
    await story.service()
    await story.pod(1)
    await story.wait({"10.244.0.1": True})
    await story.connection.delete(SERVICES, "web", NS)

    async def is_gone() -> bool:
        listed = (await story.connection.list(ENDPOINTS, NS))["items"]
        return not await story.slices() and [each["metadata"]["name"] for each in listed] == ["kubernetes"]

    await story.until(is_gone)


async def test_endpoints_made_by_hand_stay(story: Story) -> None:
    await story.service(selector=None)
    body = {"metadata": {"name": "web"}, "subsets": [{"addresses": [{"ip": "192.0.2.1"}], "ports": [{"port": 80}]}]}
    await story.connection.create(ENDPOINTS, body, NS)
    await story.connection.patch(SERVICES, "web", {"metadata": {"labels": {"seen": "yes"}}}, NS)
    await story.pod(1)
    await story.connection.create(SERVICES, {"metadata": {"name": "other"}, "spec": _OTHER}, NS)
    await story.until(lambda: _has_endpoints(story, "other"))
    assert (await story.connection.get(ENDPOINTS, "web", NS))["subsets"][0]["addresses"] == [{"ip": "192.0.2.1"}]
    assert await story.slices() == []


_OTHER = {"selector": {"app": "web"}, "ports": [{"port": 80}]}


async def _has_endpoints(story: Story, name: str) -> bool:
    listed = (await story.connection.list(ENDPOINTS, NS))["items"]
    return any(each["metadata"]["name"] == name and each.get("subsets") for each in listed)


async def test_endpoints_that_are_as_they_should_be_are_not_written_again(story: Story) -> None:
    await story.connection.create(NODES, {"metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z"}}})
    await story.service(ports=[{"port": 80}, {"name": "b", "port": 81, "appProtocol": "http"}][:1])
    await story.pod(1)
    await story.wait({"10.244.0.1": True})
    before = [*await story.slices(), await story.connection.get(ENDPOINTS, "web", NS)]
    assert before[0]["endpoints"][0]["zone"] == "z"
    # What the queue does last shows that it has looked at the first again.
    await story.connection.patch(PODS, "p1", {"metadata": {"annotations": {"a": "b"}}}, NS)
    await story.connection.create(SERVICES, {"metadata": {"name": "other"}, "spec": _OTHER}, NS)
    await story.until(lambda: _has_endpoints(story, "other"))
    assert [*await story.slices(), await story.connection.get(ENDPOINTS, "web", NS)] == before
