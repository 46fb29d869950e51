"""Whether an explanation is true, judged from the objects alone: plain JSON and arithmetic of its own.

Only what may go together is asked of the allocator, for which other tests answer. Selectors are those of ``SELECTORS``,
each with what it says in Python.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from drakit_allocator.allocated import AllocatedState
from drakit_allocator.allocator import allocate
from drakit_allocator.errors import AllocationError
from drakit_allocator.features import Features
from drakit_allocator.snapshot import Snapshot
from drakit_api.kubernetes_objects import Object
from e2e.patches.merged_by_hand import applies, merged_device

DRIVER = "d.example.com"


def _attribute(device: Object, name: str) -> Any:
    """The value; raises ``KeyError`` as CEL does."""
    return next(iter(_short_names(device, "attributes")[name].values()))


def _bandwidth(device: Object) -> int:
    return int(_short_names(device, "capacity")["bw"]["value"])


def _short_names(device: Object, field: str) -> Object:
    """Attributes or capacities by names without the domain, which is the same for all here."""
    return {name.rpartition("/")[2]: value for name, value in device.get(field, {}).items()}


_KIND, _GROUP = f'device.attributes["{DRIVER}"].kind', f'device.attributes["{DRIVER}"].group'
_ENOUGH = f'device.capacity["{DRIVER}"].bw.compareTo(quantity("3")) >= 0'
CONDITIONS: dict[str, Callable[[Object], bool]] = {
    f'{_KIND} == "x"': lambda device: bool(_attribute(device, "kind") == "x"),
    f'{_KIND} == "y"': lambda device: bool(_attribute(device, "kind") == "y"),
    f"has({_KIND})": lambda device: "kind" in _short_names(device, "attributes"),
    f"{_GROUP} < 2": lambda device: bool(_attribute(device, "group") < 2),
    f'device.driver == "{DRIVER}"': lambda device: True,
    f'"bw" in device.capacity["{DRIVER}"]': lambda device: "bw" in _short_names(device, "capacity"),
    _ENOUGH: lambda device: _bandwidth(device) >= 3,
}


def _joined(*conditions: str) -> tuple[str, tuple[str, ...]]:
    return " && ".join(conditions), conditions


SELECTORS: dict[str, tuple[str, ...]] = dict(
    [
        _joined(f'{_KIND} == "x"'),
        _joined(f'{_KIND} == "y"'),
        _joined(f"has({_KIND})", f'{_KIND} == "x"'),
        _joined(f"{_GROUP} < 2", f'device.driver == "{DRIVER}"'),
        _joined(f"has({_KIND})", f"{_GROUP} < 2"),
        _joined(f'"bw" in device.capacity["{DRIVER}"]', _ENOUGH),
    ]
)


def holds(expression: str, device: Object) -> bool | None:
    """What an expression says; None: it fails with an error. A false part outdoes one that fails."""
    results: list[bool | None] = []
    for condition in SELECTORS.get(expression, (expression,)):
        try:
            results.append(CONDITIONS[condition](device))
        except KeyError:
            results.append(None)
    return False if False in results else None if None in results else True


@dataclass
class Objects:
    """A small cluster: what ``explain`` is asked about."""

    nodes: list[Object]
    slices: list[Object]
    classes: list[Object]
    rules: list[Object]
    held: list[Object]
    claims: list[Object]
    features: Features
    patches: list[Object] = field(default_factory=list)

    def fits(self, node: str, claims: list[Object] | None = None, **different: Any) -> bool:
        """What the allocator says, perhaps with other claims or objects; errors are no fit."""
        now = {"slices": self.slices, "rules": self.rules, "held": self.held, "patches": self.patches}
        changed = {**now, **different}
        snapshot = Snapshot(
            self.features,
            slices=changed["slices"],
            classes=self.classes,
            taint_rules=changed["rules"],
            patches=changed["patches"],
        )
        of_name = next(one for one in self.nodes if one["metadata"]["name"] == node)
        state = AllocatedState.of(changed["held"], self.features)
        try:
            return allocate(of_name, self.claims if claims is None else claims, snapshot, state) is not None
        except AllocationError:
            return False

    def published(self) -> Iterator[tuple[str, Object, Object]]:
        """(driver/pool/device, device, slice) of each device."""
        for one in self.slices:
            for device in one["spec"].get("devices", ()):
                yield f"{_pool_of(one)}/{device['name']}", device, one

    def merged(self, device: Object, published: Object) -> Object:
        """A device with the patches that apply to it."""
        pool = published["spec"]["pool"]["name"]
        return {**device, **merged_device(device, DRIVER, pool, self.patches, self.classes)}

    def saying(self, device: Object, published: Object, field: str, name: str) -> list[Object]:
        """The patches that say something of an attribute or capacity of a device, the strongest first."""
        pool, found = published["spec"]["pool"]["name"], []
        for patch in self.patches:
            devices = patch["spec"]["devices"]
            is_about = applies(devices.get("filter", {}), device, DRIVER, pool, self.classes)
            if is_about and f"{DRIVER}/{name}" in devices.get(field, {}):
                found.append(patch)
        return sorted(found, key=lambda one: (-one["spec"]["devices"]["priority"], one["metadata"]["name"]))

    def results(self) -> Iterator[tuple[str, str, Object]]:
        """(claim, driver/pool/device, result) of each device that is allocated."""
        for claim in self.held:
            for result in claim["status"]["allocation"]["devices"]["results"]:
                name = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
                yield name, f"{result['driver']}/{result['pool']}/{result['device']}", result

    def request(self, claim: str, name: str) -> Object:
        """What a request, or ``request/subrequest``, asks for."""
        devices = self.claim(claim)["spec"]["devices"]
        parent, _, sub = name.partition("/")
        request: Object = next(one for one in devices["requests"] if one["name"] == parent)
        if not sub:
            return dict(request["exactly"])
        return dict(next(one for one in request["firstAvailable"] if one["name"] == sub))

    def claim(self, name: str) -> Object:
        """A claim by namespace/name."""
        return next(one for one in self.claims if f"{one['metadata']['namespace']}/{one['metadata']['name']}" == name)


class Judge:
    """Asserts that each statement about one node is true."""

    def __init__(self, objects: Objects, node: Object) -> None:
        self.objects = objects
        self.node = node
        self.name: str = node["node"]

    def judge(self) -> None:
        """Everything that is said of the node."""
        if self.node["outcome"] == "fits":
            assert self.objects.fits(self.name)
            return
        assert not self.objects.fits(self.name)
        said = [*self.node.get("pools", ()), *self.node.get("conflicts", ()), *self.node.get("limits", ())]
        lacking = [one for claim in self.node["claims"] for one in claim["requests"] if not one["enough"]]
        assert said or lacking or self.node.get("message")
        for pool in self.node.get("pools", ()):
            self._pool(pool)
        for claim in self.node["claims"]:
            for request in claim["requests"]:
                self._request(claim["claim"], request)
        for conflict in self.node.get("conflicts", ()):
            self._conflict(conflict)
        for remedy in self.node.get("remedies", ()):
            self._remedy(remedy)
        for limit in self.node.get("limits", ()):
            assert limit["devices"] > limit["limit"] == 32

    def _pool(self, pool: Object) -> None:
        slices = [one for one in self.objects.slices if _pool_of(one) == pool["pool"]]
        newest = max(one["spec"]["pool"]["generation"] for one in slices)
        current = [one for one in slices if one["spec"]["pool"]["generation"] == newest]
        match pool["kind"]:
            case "incompletePool":
                assert pool["generation"] == newest
                assert sorted(pool["slices"]) == sorted(one["metadata"]["name"] for one in current)
                assert pool["expected"] in {one["spec"]["pool"]["resourceSliceCount"] for one in current}
                assert pool["expected"] != len(current)
            case "invalidPool":
                names = [device["name"] for one in current for device in one["spec"].get("devices", ())]
                assert len(names) != len(set(names))
            case "hiddenPool":
                assert any(one["spec"]["pool"]["generation"] < newest for one in slices)

    def _request(self, claim: str, said: Object) -> None:
        request = self.objects.request(claim, said["request"])
        groups = [(one["reason"], name) for one in said.get("ruledOut", ()) for name in one["devices"]]
        every = [*said.get("usable", ()), *(name for _, name in groups)]
        assert len(every) == len(set(every)) == said["devices"]
        assert said.get("wanted") == (None if request["allocationMode"] == "All" else request["count"])
        if request["allocationMode"] != "All":
            assert said["enough"] == (len(said.get("usable", ())) >= request["count"])
        for reason, name in groups:
            device, published = self._device(name)
            device = self.objects.merged(device, published)
            assert self._is_true(reason, name, device, published, claim, request, said["request"]), (reason, name)
        for name in said.get("usable", ()):
            self._is_usable(name, claim, request)

    def _device(self, name: str) -> tuple[Object, Object]:
        found = [(device, one) for found, device, one in self.objects.published() if found == name]
        newest = max(one["spec"]["pool"]["generation"] for _, one in found)
        return next((device, one) for device, one in found if one["spec"]["pool"]["generation"] == newest)

    def _selectors(self, request: Object) -> list[tuple[str, str, int, str]]:
        of_class = next(one for one in self.objects.classes if one["metadata"]["name"] == request["deviceClassName"])
        both = (("class", of_class["spec"].get("selectors", ())), ("request", request.get("selectors", ())))
        return [
            (kind, of_class["metadata"]["name"], number, selector["cel"]["expression"])
            for kind, selectors in both
            for number, selector in enumerate(selectors)
        ]

    def _is_usable(self, name: str, claim: str, request: Object) -> None:
        """None of the reasons that there are holds."""
        device, published = self._device(name)
        device = self.objects.merged(device, published)
        assert all(holds(expression, device) for *_, expression in self._selectors(request))
        assert request.get("adminAccess") or not self._keepers(name, device)
        assert not self._untolerated(device, name, request)
        assert self._selects(published if not published["spec"].get("perDeviceNodeSelection") else {"spec": device})
        is_free = request.get("adminAccess") and not self.objects.features.defects
        if not is_free and not (device.get("allowMultipleAllocations") and self._sharers(name)):
            assert all(amount <= self._free(published, key) for key, amount in _needs(device).items())

    def _is_true(
        self,
        reason: Object,
        name: str,
        device: Object,
        published: Object,
        claim: str,
        request: Object,
        request_name: str,
    ) -> bool:
        match reason["kind"]:
            case "selector" | "selectorError":
                return self._selector(reason, name, device, request, request_name)
            case "inUse":
                return sorted(reason["holders"]) == sorted(set(self._keepers(name, device))) != []
            case "counters":
                return bool(reason["short"]) and all(self._short(one, device, published) for one in reason["short"])
            case "overdrawn":
                free = self._free(published, (reason["counterSet"], reason["counter"]))
                own = {one["counterSet"] for one in device["consumesCounters"]}
                is_blocked = reason["counterSet"] in own if reason["blocks"] == "counterSet" else bool(own)
                assert (reason["blocks"] == "pool") == bool(self.objects.features.defects)
                return free < 0 and free == int(reason["free"]) and is_blocked
            case "capacity":
                return self._capacity(reason, name, device, request)
            case "capacityMissing":
                asked = request.get("capacity", {}).get("requests", {})
                return reason["capacity"] in asked and reason["capacity"] not in device.get("capacity", {})
            case "capacityPolicy":
                # The only amounts of these tests that no device allows.
                return int(request["capacity"]["requests"]["bw"]) > int(device["capacity"]["bw"]["value"])
            case "taint":
                found = self._untolerated(device, name, request)
                taint = {"key": reason["key"], "effect": reason["effect"]}
                return taint in found and taint in self._taints_of(reason, name)
            case "nodeSelection":
                where = {"spec": device} if published["spec"].get("perDeviceNodeSelection") else published
                return not self._selects(where)
            case "attributeMissing":
                constraint = self.objects.claim(claim)["spec"]["devices"]["constraints"][reason["constraint"]]
                name_of = constraint.get("matchAttribute") or constraint.get("distinctAttribute")
                attribute = reason["attribute"].partition("/")[2]
                missing = attribute not in _short_names(device, "attributes")
                deciding = self._deciding(*self._device(name), "attributes", attribute)
                assert [one for one in [reason.get("patch")] if one] == deciding
                return bool(missing and name_of == reason["attribute"])
        return False

    def _selector(self, reason: Object, name: str, device: Object, request: Object, request_name: str) -> bool:
        known = self._selectors(request)
        key = (reason["ownerKind"], reason["number"], reason["expression"])
        position = [(kind, number, expression) for kind, _, number, expression in known].index(key)
        owner = request_name if reason["ownerKind"] == "request" else known[position][1]
        assert reason["owner"] == owner
        assert all(holds(expression, device) for *_, expression in known[:position])
        if reason["kind"] == "selectorError":
            self._read(name, device, reason["read"])
            return holds(reason["expression"], device) is None
        false = [condition for condition in SELECTORS[reason["expression"]] if holds(condition, device) is False]
        for condition in reason["failed"]:
            self._read(name, device, condition["read"])
        return holds(reason["expression"], device) is False and [one["expression"] for one in reason["failed"]] == false

    def _read(self, name: str, device: Object, readings: list[Object]) -> None:
        """The values are those of the patched device, and the patches are named that decide about them."""
        published, one = self._device(name)
        for read in readings:
            assert _value(device, read) == read["value"]
            assert read.get("patches", []) == self._deciding(published, one, read["field"], read["name"])

    def _deciding(self, published: Object, one: Object, field: str, name: str) -> list[str]:
        saying = self.objects.saying(published, one, field, name)
        if all("null" in patch["spec"]["devices"][field][f"{DRIVER}/{name}"] for patch in saying):
            saying = saying if name in _short_names(published, field) else []  # nothing is there to be removed
        return [patch["metadata"]["name"] for patch in saying[:1]]

    def _keepers(self, name: str, device: Object) -> list[str]:
        """Who keeps others from a device: by a share as well, if it cannot be shared and that is not overlooked."""
        features = self.objects.features
        can_be_shared = device.get("allowMultipleAllocations") and features.variant != "stable"
        if features.defects or can_be_shared or self._holders(name):
            return self._holders(name)
        return [claim for claim, held, result in self.objects.results() if held == name and "shareID" in result]

    def _holders(self, name: str) -> list[str]:
        return [
            claim
            for claim, device, result in self.objects.results()
            if device == name and "shareID" not in result and not result.get("adminAccess")
        ]

    def _sharers(self, name: str) -> list[Object]:
        return [result for _, device, result in self.objects.results() if device == name and "shareID" in result]

    def _free(self, published: Object, key: tuple[str, str]) -> int:
        """What the allocated devices of the pool leave of a counter."""
        pool, generation = _pool_of(published), published["spec"]["pool"]["generation"]
        same = [
            one
            for one in self.objects.slices
            if _pool_of(one) == pool and one["spec"]["pool"]["generation"] == generation
        ]
        total = next(
            int(counter["value"])
            for one in same
            for counter_set in one["spec"].get("sharedCounters", ())
            for name, counter in counter_set["counters"].items()
            if (counter_set["name"], name) == key
        )
        used = {device for _, device, result in self.objects.results() if not result.get("adminAccess")}
        return total - sum(
            _needs(device).get(key, 0)
            for one in same
            for device in one["spec"].get("devices", ())
            if f"{pool}/{device['name']}" in used
        )

    def _short(self, short: Object, device: Object, published: Object) -> bool:
        key = (short["counterSet"], short["counter"])
        needed, free = _needs(device)[key], self._free(published, key)
        for holder in short["holders"]:
            holding, _ = self._device(holder["device"])
            assert int(holder["amount"]) == _needs(holding)[key]
            assert (holder["claim"], holder["device"]) in {(claim, one) for claim, one, _ in self.objects.results()}
        drawn = {holder["device"]: int(holder["amount"]) for holder in short["holders"]}
        assert int(short["total"]) - sum(drawn.values()) == free
        return needed == int(short["needed"]) and free == int(short["free"]) and needed > free

    def _capacity(self, reason: Object, name: str, device: Object, request: Object) -> bool:
        capacity = device["capacity"][reason["capacity"]]
        asked = request.get("capacity", {}).get("requests", {}).get(reason["capacity"])
        default = capacity.get("requestPolicy", {}).get("default", capacity["value"])
        needed = int(asked if asked is not None else default)
        taken = sum(int(result["consumedCapacity"][reason["capacity"]]) for result in self._sharers(name))
        free = int(capacity["value"]) - taken
        return needed == int(reason["needed"]) and free == int(reason["free"]) and needed > free

    def _rules(self, name: str) -> list[Object]:
        device = name.rpartition("/")[2]
        return [
            rule["spec"]["taint"]
            for rule in self.objects.rules
            if rule["spec"]["deviceSelector"].get("device", device) == device
        ]

    def _taints_of(self, reason: Object, name: str) -> list[Object]:
        """The taints that the device has from the source that a reason names."""
        published, one = self._device(name)
        if reason["source"] == "slice":
            return list(published.get("taints", ()))
        if reason["source"] == "rule":
            assert reason["name"] in {rule["metadata"]["name"] for rule in self.objects.rules}
            return self._rules(name)
        devices = next(
            patch["spec"]["devices"] for patch in self.objects.patches if patch["metadata"]["name"] == reason["name"]
        )
        assert applies(devices.get("filter", {}), published, DRIVER, one["spec"]["pool"]["name"], self.objects.classes)
        return list(devices["taints"])

    def _untolerated(self, device: Object, name: str, request: Object) -> list[Object]:
        tolerated = {one["key"] for one in request.get("tolerations", ())}
        every = [*device.get("taints", ()), *self._rules(name)]
        return [taint for taint in every if taint["key"] not in tolerated and taint["effect"] != "None"]

    def _selects(self, where: Object) -> bool:
        spec = where["spec"]
        if "nodeName" in spec:
            return bool(spec["nodeName"] == self.name)
        if "nodeSelector" in spec:
            names = spec["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"]
            return self.name in names
        return bool(spec.get("allNodes"))

    def _compared(self, constraint: Object) -> None:
        """The values are those of the devices that the requests could get."""
        usable = {
            one["request"]: one.get("usable", ())
            for claim in self.node["claims"]
            for one in claim["requests"]
            if claim["claim"] == constraint["claim"]
        }
        attribute = constraint["attribute"].partition("/")[2]
        for request in constraint["requests"]:
            every = [self._device(name) for name in usable[request["request"]]]
            devices = [_short_names(self.objects.merged(*one), "attributes") for one in every]
            found = Counter(str(next(iter(one[attribute].values()))) for one in devices if attribute in one)
            assert dict(request["values"]) == found
            assert request.get("missing", 0) == len(devices) - sum(found.values())
            deciding = [self._deciding(*one, "attributes", attribute) for one in every]
            patched = Counter(
                (patch, str(next(iter(one[attribute].values()))) if attribute in one else None)
                for names, one in zip(deciding, devices, strict=True)
                for patch in names
            )
            said = {(one["patch"], one.get("value")): one["devices"] for one in request.get("patched", ())}
            assert said == patched

    def _conflict(self, conflict: Object) -> None:
        """Together it does not fit; without any one it does, and with larger counters, if some are named."""
        for constraint in conflict.get("constraints", ()):
            self._compared(constraint)
        members = [("request", one["claim"], one["request"]) for one in conflict["requests"]]
        members += [("constraint", one["claim"], one["constraint"]) for one in conflict.get("constraints", ())]
        assert not self.objects.fits(self.name, reduced(self.objects.claims, members))
        for member in members:
            rest = [one for one in members if one != member]
            assert self.objects.fits(self.name, reduced(self.objects.claims, rest)), (member, conflict)
        if counters := conflict.get("counters"):
            names = {(one["pool"], one["counterSet"], one["counter"]) for one in counters}
            larger = _with_large(self.objects.slices, names)
            assert self.objects.fits(self.name, reduced(self.objects.claims, members), slices=larger)
            for name in names:
                fewer = _with_large(self.objects.slices, names - {name})
                assert not self.objects.fits(self.name, reduced(self.objects.claims, members), slices=fewer)

    def _remedy(self, remedy: Object) -> None:
        objects = self.objects
        match remedy["kind"]:
            case "release":
                names = {(claim["metadata"]["namespace"], claim["metadata"]["name"]): claim for claim in objects.held}
                released = [tuple(name.split("/")) for name in remedy["claims"]]
                assert objects.fits(self.name, held=[names[one] for one in names if one not in released])
                for name in released:
                    kept = [one for one in names if one not in released or one == name]
                    assert not objects.fits(self.name, held=[names[one] for one in kept])
            case "removeTaint":
                slices = copy.deepcopy(objects.slices)
                for one in slices:
                    for device in one["spec"].get("devices", ()):
                        device["taints"] = [t for t in device.get("taints", ()) if t["key"] != remedy["key"]]
                rules = [rule for rule in objects.rules if rule["spec"]["taint"]["key"] != remedy["key"]]
                patches = copy.deepcopy(objects.patches)
                for patch in patches:
                    devices = patch["spec"]["devices"]
                    devices["taints"] = [t for t in devices.get("taints", ()) if t["key"] != remedy["key"]]
                assert objects.fits(self.name, slices=slices, rules=rules, patches=patches)
            case "changePatches":
                assert self._fits_without(remedy["patches"])
                for name in remedy["patches"]:
                    assert not self._fits_without([one for one in remedy["patches"] if one != name])
            case "completePool":
                slices = copy.deepcopy(objects.slices)
                same = [one for one in slices if _pool_of(one) == remedy["pool"]]
                newest = max(one["spec"]["pool"]["generation"] for one in same)
                current = [one for one in same if one["spec"]["pool"]["generation"] == newest]
                for one in current:
                    one["spec"]["pool"]["resourceSliceCount"] = len(current)
                assert objects.fits(self.name, slices=slices)
            case "enableGates":
                enabled = objects.features.with_gates(remedy["gates"])
                assert enabled != objects.features
                assert replace(objects, features=enabled).fits(self.name)
            case "repairPool":
                others = [one for one in objects.slices if _pool_of(one) != remedy["pool"]]
                assert objects.fits(self.name, slices=others)

    def _fits_without(self, patches: list[str]) -> bool:
        left = [patch for patch in self.objects.patches if patch["metadata"]["name"] not in patches]
        return self.objects.fits(self.name, patches=left)


def _pool_of(one: Object) -> str:
    return f"{one['spec']['driver']}/{one['spec']['pool']['name']}"


def _needs(device: Object) -> dict[tuple[str, str], int]:
    needs: dict[tuple[str, str], int] = {}
    for entry in device.get("consumesCounters", ()):
        for name, counter in entry["counters"].items():
            key = (entry["counterSet"], name)
            needs[key] = needs.get(key, 0) + int(counter["value"])
    return needs


def _value(device: Object, read: Object) -> Any:
    if read["field"] == "driver":
        return DRIVER
    found = _short_names(device, read["field"]).get(read["name"])
    if found is None:
        return None
    return found["value"] if read["field"] == "capacity" else next(iter(found.values()))


def _with_large(slices: list[Object], names: set[tuple[str, str, str]]) -> list[Object]:
    larger = copy.deepcopy(slices)
    for one in larger:
        for counter_set in one["spec"].get("sharedCounters", ()):
            for name, counter in counter_set["counters"].items():
                if (_pool_of(one), counter_set["name"], name) in names:
                    counter["value"] = "1000000"
    return larger


def reduced(claims: list[Object], members: list[tuple[str, str, Any]]) -> list[Object]:
    """Claims with these requests and constraints only."""
    found = []
    for claim in claims:
        name = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        devices = claim["spec"]["devices"]
        requests = [one for one in devices["requests"] if ("request", name, one["name"]) in members]
        left = {one["name"] for one in requests}
        constraints = []
        for number, constraint in enumerate(devices["constraints"]):
            of = [one for one in constraint.get("requests", ()) if one.partition("/")[0] in left]
            if ("constraint", name, number) in members and (of or not constraint.get("requests")):
                constraints.append({**constraint, "requests": of})
        if requests:
            spec = {"devices": {"requests": requests, "constraints": constraints}}
            found.append({"metadata": claim["metadata"], "spec": spec})
    return found
