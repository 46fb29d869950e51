"""Administrators change how devices are seen (seed 002): a ResourceSlicePatch decides who gets which of them.

The kind is installed by ``drakit install patches``, and a scheduler of ours with the gate runs beside the cluster's
own. Claims that are allocated, kubelets and drivers are untouched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drakit_api.features import PATCHES_GATE
from drakit_api.kubernetes_objects import Object
from drakit_client.resources import DEVICE_CLASSES, PODS, RESOURCE_SLICES
from drakit_kind.cluster import Driver
from drakit_kind.clusters.api import Api
from drakit_kind.clusters.lifecycle import Cluster
from drakit_kind.clusters.manifests import claim, device_class
from drakit_kind.clusters.manifests import request as device_request
from e2e.patches.churn import PatchChurn
from e2e.patches.followed_devices import FollowedDevices
from e2e.patches.patching import Patching, drakit, eventually, install, scheduler

pytestmark = pytest.mark.capability(
    "patches: administrators change how devices are seen",
    source="KEP-5027 (seed 002)",
    gates=["DRADeviceTaints", PATCHES_GATE],
)

_LAYOUT = """
driver: patched.example.com
devices:
- {name: gpu-0, attributes: {index: {int: 0}, color: {string: red}}, capacity: {memory: {value: 40Gi}}}
- {name: gpu-1, attributes: {index: {int: 1}}, capacity: {memory: {value: 40Gi}}}
"""


_GATE_ON = f"{PATCHES_GATE}=true"


@pytest.fixture(scope="module")
def scheduler_name(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a scheduler that knows patches, in a cluster that serves them: its own, or one beside it."""
    install(cluster)
    if "scheduler" not in cluster.spec.real:
        yield "default-scheduler"
        return
    name = f"patching-{os.environ.get('PYTEST_XDIST_WORKER', 'gw0')}"
    with scheduler(cluster, name, tmp_path_factory.mktemp("scheduler") / "scheduler.log"):
        yield name


@pytest.fixture
def patching(api: Api, gpus: Gpus, scheduler_name: str) -> Iterator[Patching]:
    """Patches of one test; they go before its driver does."""
    patching = Patching(api, scheduler_name)
    yield patching
    patching.remove_all()


class Gpus:
    """A driver with two GPUs, and claims for them."""

    def __init__(self, driver: Driver, node: str) -> None:
        self.driver = driver
        self.name = driver.name
        self.node = node

    def filter(self, device: str | None = None, *expressions: str) -> Object:
        """A filter for devices of this driver."""
        selectors = {"selectors": [{"cel": {"expression": text}} for text in expressions]} if expressions else {}
        return {"driver": self.name, **({"device": device} if device else {}), **selectors}

    def attribute(self, name: str, **value: object) -> Object:
        """An attribute of the driver's domain, as patches name it."""
        return {f"{self.name}/{name}": value}

    def claim(self, name: str, expression: str, **fields: object) -> Object:
        """A claim for one GPU for which an expression is true; ``attributes`` and ``capacity`` are the driver's."""
        for word in ("attributes", "capacity"):
            expression = expression.replace(f"{word}.", f"device.{word}['{self.name}'].")
        return claim(name, device_request("gpu", self.name, expression, **fields))


@pytest.fixture
def gpus(driver: Callable[..., Driver], node: str, tmp_path: Path) -> Gpus:
    """Two GPUs on a node."""
    layout = tmp_path / "layout.yaml"
    layout.write_text(_LAYOUT)
    return Gpus(driver("layout", layout=str(layout), nodes=[node]), node)


_GOLD = "attributes.?tier.orValue('') == 'gold'"


def test_a_patched_attribute_decides_who_gets_the_device(patching: Patching, gpus: Gpus) -> None:
    patching.patch("gold", on=gpus.filter("gpu-1"), attributes=gpus.attribute("tier", string="gold"))
    assert patching.runs(gpus.claim("first", _GOLD)) == ["gpu-1"]
    # gpu-0 is free, and not patched.
    patching.waits(gpus.claim("second", _GOLD))
    patching.ends("second")
    patching.remove("gold")
    patching.waits(gpus.claim("third", _GOLD), because="tier is not set")
    before = patching.api.get(PODS, "first")["metadata"]["uid"]
    assert patching.started("first") == ["gpu-1"]
    assert patching.api.get(PODS, "first")["metadata"]["uid"] == before


def test_a_waiting_pod_starts_as_soon_as_a_patch_lets_it(patching: Patching, gpus: Gpus) -> None:
    waiting = patching.waits(gpus.claim("waiting", _GOLD))
    patching.patch("gold", on=gpus.filter("gpu-0"), attributes=gpus.attribute("tier", string="gold"))
    assert patching.started(waiting) == ["gpu-0"]


def test_of_two_patches_the_one_of_higher_priority_counts(patching: Patching, gpus: Gpus) -> None:
    patching.patch("low", on=gpus.filter(), attributes=gpus.attribute("tier", string="silver"))
    patching.patch("high", on=gpus.filter("gpu-1"), priority=10, attributes=gpus.attribute("tier", string="gold"))
    assert patching.runs(gpus.claim("gold", _GOLD)) == ["gpu-1"]
    assert patching.runs(gpus.claim("silver", "attributes.?tier.orValue('') == 'silver'")) == ["gpu-0"]
    patching.ends("gold", "silver")
    patching.change("low", priority=11)
    patching.waits(gpus.claim("gold-again", _GOLD), because='tier is "silver"')


def test_of_equal_priorities_the_older_patch_counts(patching: Patching, gpus: Gpus) -> None:
    older = patching.patch("z-older", on=gpus.filter("gpu-0"), attributes=gpus.attribute("tier", string="gold"))
    silver = gpus.attribute("tier", string="silver")

    def is_younger() -> bool:
        # Times of creation are whole seconds.
        patching.remove("a-younger")
        younger = patching.patch("a-younger", on=gpus.filter("gpu-0"), attributes=silver)
        return bool(younger["metadata"]["creationTimestamp"] > older["metadata"]["creationTimestamp"])

    eventually(is_younger, "the second patch is younger")
    assert patching.runs(gpus.claim("gold", _GOLD)) == ["gpu-0"]


def test_null_removes_an_attribute_also_against_lower_priorities(patching: Patching, gpus: Gpus) -> None:
    patching.patch("no-color", on=gpus.filter("gpu-0"), priority=5, attributes=gpus.attribute("color", null={}))
    patching.patch("blue", on=gpus.filter(), priority=1, attributes=gpus.attribute("color", string="blue"))
    colored = f"'color' in device.attributes['{gpus.name}']"
    assert patching.runs(gpus.claim("colored", colored)) == ["gpu-1"]
    patching.waits(gpus.claim("also-colored", colored))
    patching.remove("no-color")
    assert patching.started("also-colored") == ["gpu-0"]


def test_a_faulty_selector_is_told_and_the_others_are_patched(patching: Patching, gpus: Gpus) -> None:
    red = gpus.filter(None, f"device.attributes['{gpus.name}'].color == 'red'")
    patching.patch("red", on=red, attributes=gpus.attribute("tier", string="gold"))
    patching.patch("all", on=gpus.filter(), priority=-1, attributes=gpus.attribute("tier", string="bronze"))
    told = patching.told("red")
    for part in (f"{gpus.name}/{gpus.node}/gpu-1", f"device.attributes['{gpus.name}'].color == 'red'", "no such key"):
        assert part in told
    assert patching.runs(gpus.claim("gold", _GOLD)) == ["gpu-0"]
    assert patching.runs(gpus.claim("bronze", "attributes.tier == 'bronze'")) == ["gpu-1"]
    assert _counts(patching, "red") == [1]
    # Another generation with the same fault is told again.
    patching.change("red", attributes=gpus.attribute("tier", string="golden"))
    eventually(lambda: _counts(patching, "red") == [1, 1], "the fault of the new generation is told")


def _counts(patching: Patching, short: str) -> list[int]:
    """How often each event about a patch was told."""
    return [event["count"] for event in patching.faults(short)]


def test_a_patch_for_an_unknown_class_selects_nothing_until_the_class_is_there(
    patching: Patching, gpus: Gpus, request: pytest.FixtureRequest
) -> None:
    name = patching.name("class")
    patching.patch("unknown", on={"deviceClassName": name}, attributes=gpus.attribute("tier", string="gold"))
    assert f"there is no DeviceClass {name}" in patching.told("unknown")
    assert _counts(patching, "unknown") == [1]
    patching.waits(gpus.claim("gold", _GOLD))
    request.addfinalizer(lambda: patching.api.delete(DEVICE_CLASSES, name))
    of_second = f"device.driver == '{gpus.name}' && device.attributes['{gpus.name}'].index == 1"
    patching.api.create(device_class(name, of_second))
    assert patching.started("gold") == ["gpu-1"]


def test_capacity_may_be_reduced_to_nothing(patching: Patching, gpus: Gpus) -> None:
    patching.patch("empty", on=gpus.filter("gpu-0"), capacity={f"{gpus.name}/memory": {"value": "0"}})
    roomy = "capacity.memory.compareTo(quantity('1Gi')) > 0"
    assert patching.runs(gpus.claim("first", roomy)) == ["gpu-1"]
    patching.ends("first")
    patching.change("empty", filter=gpus.filter(None) | {"device": None})
    patching.waits(gpus.claim("second", roomy), because="memory is 0")


_TAINT = {"key": "example.com/maintenance", "value": "planned"}
_TOLERATION = {"key": "example.com/maintenance", "operator": "Exists"}


def test_a_taint_of_a_patch_keeps_pods_away(patching: Patching, gpus: Gpus) -> None:
    patching.patch("closed", on=gpus.filter("gpu-0"), taints=[{**_TAINT, "effect": "NoSchedule"}])
    assert patching.runs(gpus.claim("first", "true")) == ["gpu-1"]
    patching.waits(gpus.claim("second", "true"), because="example.com/maintenance=planned:NoSchedule")
    assert patching.runs(gpus.claim("tolerant", "true", tolerations=[_TOLERATION])) == ["gpu-0"]


def test_a_taint_of_a_patch_evicts_pods_that_do_not_tolerate_it(patching: Patching, gpus: Gpus) -> None:
    forever = {**_TOLERATION, "effect": "NoExecute"}
    assert patching.runs(gpus.claim("tolerant", "attributes.index == 0", tolerations=[forever])) == ["gpu-0"]
    assert patching.runs(gpus.claim("first", "attributes.index == 1")) == ["gpu-1"]
    patching.patch("evicting", on=gpus.filter(), taints=[{**_TAINT, "effect": "NoExecute"}])
    patching.api.wait_gone(PODS, ["first"])
    assert patching.api.get(PODS, "tolerant")["status"]["phase"] == "Running"
    patching.waits(gpus.claim("next", "attributes.index == 1"), because="example.com/maintenance")


def test_an_evicting_taint_is_tolerated_for_a_while(patching: Patching, gpus: Gpus) -> None:
    for_a_while = {**_TOLERATION, "effect": "NoExecute", "tolerationSeconds": 2}
    for_long = {**for_a_while, "tolerationSeconds": 3600}
    patching.runs(gpus.claim("patient", "attributes.index == 0", tolerations=[for_long]))
    patching.runs(gpus.claim("hasty", "attributes.index == 1", tolerations=[for_a_while]))
    patching.patch("evicting", on=gpus.filter(), taints=[{**_TAINT, "effect": "NoExecute"}])
    patching.api.wait_gone(PODS, ["hasty"])
    assert patching.api.get(PODS, "patient")["status"]["phase"] == "Running"


def test_an_explanation_names_the_patch(patching: Patching, gpus: Gpus, cluster: Cluster) -> None:
    patching.patch("maintenance", on=gpus.filter(), attributes=gpus.attribute("tier", string="bronze"))
    waiting = patching.waits(gpus.claim("waiting", _GOLD), because="tier is")
    told = drakit(cluster, "explain", "pod", waiting, "-n", patching.api.namespace, "--feature-gates", _GATE_ON)
    assert f'tier is "bronze" (patch {patching.name("maintenance")})' in told
    patching.change("maintenance", attributes=gpus.attribute("color", null={}))
    colorful = gpus.claim("colorful", "attributes.?color.orValue('') == 'red'")
    patching.waits(colorful, because=f"color is not set (removed by patch {patching.name('maintenance')})")


def test_devices_are_listed_with_the_patches_that_apply(patching: Patching, gpus: Gpus, cluster: Cluster) -> None:
    patching.patch("gold", on=gpus.filter("gpu-1"), attributes=gpus.attribute("tier", string="gold"))
    patched = _devices(cluster, gpus, "--patched")
    assert patched["gpu-1"]["attributes"][f"{gpus.name}/tier"] == {"string": "gold"}
    assert [one["name"] for one in patched["gpu-1"]["patches"]] == [patching.name("gold")]
    assert "patches" not in patched["gpu-0"]
    assert _devices(cluster, gpus)["gpu-1"]["attributes"] == {"index": {"int": 1}}


def _devices(cluster: Cluster, gpus: Gpus, *options: str) -> dict[str, Object]:
    """The devices that ``drakit get devices`` lists, by name."""
    listed = json.loads(drakit(cluster, "get", "devices", "--driver", gpus.name, "-o", "json", *options))
    return {one["device"]: one for one in listed["devices"]}


def test_the_intent_outlives_a_driver_and_its_slices(patching: Patching, gpus: Gpus) -> None:
    patching.patch("gold", on=gpus.filter("gpu-1"), attributes=gpus.attribute("tier", string="gold"))
    assert patching.runs(gpus.claim("first", _GOLD)) == ["gpu-1"]
    patching.ends("first")
    gpus.driver.kill()
    for published in patching.api.objects(RESOURCE_SLICES, field_selector=f"spec.driver={gpus.name}"):
        patching.api.delete(RESOURCE_SLICES, published["metadata"]["name"])
    patching.waits(gpus.claim("second", _GOLD))
    gpus.driver.start()
    assert patching.started("second") == ["gpu-1"]


_MANY = "driver: patched.example.com\ndevices:\n" + "".join(
    f"- {{name: gpu-{number}, attributes: {{index: {{int: {number}}}}}}}\n" for number in range(6)
)


def test_two_hundred_patches_change_at_random_beside_pods(
    patching: Patching, driver: Callable[..., Driver], node: str, cluster: Cluster, tmp_path: Path
) -> None:
    layout = tmp_path / "many.yaml"
    layout.write_text(_MANY)
    many = driver("layout", layout=str(layout), nodes=[node], name=f"{patching.api.namespace}.many")
    followed = FollowedDevices(many.name)
    with followed.following(cluster.kubeconfig):
        churn = PatchChurn(patching, followed, patches=200)
        churn.create_all()
        for _ in range(300):
            churn.change()
        eventually(churn.is_settled, "pods are where patches let them be")
        churn.check_history()
    assert followed.changes >= 500
    assert followed.wrong == []
