"""Objects that the API server takes and that nobody would write: no component ends of them, and none spins.

Values are drawn from what is extreme for their type, and put where they are allowed. What is refused is no attack; what
is stored is seen by every component that watches its kind.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from drakit_api.kubernetes_objects import Object
from drakit_client.errors import ApiError
from drakit_client.resources import (
    DEVICE_CLASSES,
    LEASES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Resource,
)
from drakit_kind.processes.supervision import endings
from e2e.attacks.victim import Victim

_DRIVER = "odd.example.com"
_IMAGE = {"name": "c", "image": "i"}
_INT32, _INT64 = 2**31 - 1, 2**63 - 1
_QUANTITIES = ["0", "1n", "999999999999999999", "9223372036854775807", "1e18", "7Ei", "0.000000001", "1E", "1.5", "-0"]
_INTS = [0, 1, -1, _INT32, -(2**31), _INT64, -(2**63)]
_COUNTS = [1, 2, 33, _INT32, _INT64]
_PHASES = ["Pending", "Running", "Succeeded", "Failed", "Odd", ""]
_TIMES = ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
_TEXTS = ["", " ", "\u0000", "é", "𝔘" * 60, "a" * 253, "9" * 63, "null", "%s{}", "\u202e", "a/b", "-1", "1e400"]
_LABELS = ["", "a", "9" * 63, "A_.-z", "1e400"]
_KEYS = ["a", "example.com/" + "k" * 63, "kubernetes.io/hostname", "topology.kubernetes.io/zone", "9"]
_EXPRESSIONS = [
    "true",
    "1 / (device.driver.size() - device.driver.size()) > 0",
    f'device.attributes["{_DRIVER}"].missing',
    f'device.capacity["{_DRIVER}"].m.compareTo(quantity("1")) > 0',
    "device.driver.matches('(a|a)*b') || [1,2,3].map(x, x * 9223372036854775807).size() > 0",
    '"é".size() == int("1" + "0") || duration("9223372036s") > duration("0s")',
    f'semver("1.2.3").isLessThan(device.attributes["{_DRIVER}"].v)',
]


class Odd:
    """Draws objects."""

    def __init__(self, choices: random.Random) -> None:
        self._random = choices
        self._count = 0
        self._claims = ["x"]

    def _one(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _some(self, make: Callable[[], Any], most: int = 3) -> list[Any]:
        return [make() for _ in range(self._random.randint(0, most))]

    def _maybe(self, **fields: Any) -> Object:
        """Each of the fields, or not."""
        return {name: value for name, value in fields.items() if self._random.random() < 0.5}

    def _named(self, kind: str, spec: Object, **more: Any) -> Object:
        self._count += 1
        metadata = {"name": f"odd-{kind}-{self._count}"} | self._maybe(
            labels={self._one(*_KEYS): self._one(*_LABELS)},
            annotations={self._one(*_KEYS, "drakit.dev/fence"): self._one(*_TEXTS)},
            finalizers=["example.com/never"],
            ownerReferences=[self._owner()],
        )
        return {"metadata": metadata, "spec": spec, **more}

    def _owner(self) -> Object:
        kind = self._one("Pod", "Node", "Nothing", "ResourceClaim")
        return {"apiVersion": self._one("v1", "no.such/v9"), "kind": kind, "name": "x", "uid": self._one("x", "é")}

    def _amounts(self) -> Object:
        names = ("cpu", "memory", "ephemeral-storage")
        return {name: self._one(*_QUANTITIES) for name in self._random.sample(names, 2)}

    def _selector(self) -> Object:
        operator = self._one("In", "NotIn", "Exists", "DoesNotExist")
        values = {} if operator.endswith("Exist") or operator == "Exists" else {"values": [self._one(*_LABELS)]}
        return self._maybe(matchLabels={self._one(*_KEYS): self._one(*_LABELS)}) | self._maybe(
            matchExpressions=[{"key": self._one(*_KEYS), "operator": operator, **values}]
        )

    def _node_selector(self) -> Object:
        operator = self._one("In", "Gt", "Lt", "Exists")
        values = {} if operator == "Exists" else {"values": [self._one(str(_INT64), "0", "007")]}
        expressions = [{"key": self._one(*_KEYS), "operator": operator, **values}]
        return {"nodeSelectorTerms": [self._maybe(matchExpressions=expressions)]}

    def pod(self) -> Object:
        """With amounts, rules of placement and claims."""
        resources = self._maybe(requests=self._amounts())
        port = {"containerPort": 1, "hostPort": self._one(1, 65535), "hostIP": self._one("", "::", "1.2.3.4")}
        container = {**_IMAGE, "resources": resources, **self._maybe(ports=[port])}
        claims = [{"name": "c", "resourceClaimName": self._random.choice(self._claims)}]
        where = self._one({}, {"nodeName": self._one("node-2", "none")}, {"schedulingGates": [{"name": "a.b/gate"}]})
        times = self._maybe(
            terminationGracePeriodSeconds=self._one(0, 1, _INT64), activeDeadlineSeconds=self._one(1, _INT32)
        )
        rules = self._maybe(affinity=self._affinity(), topologySpreadConstraints=[self._spread()])
        tolerations = [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": self._one(*_INTS)}]
        spec = {"containers": [container], **where, **times, **rules}
        spec |= self._maybe(resourceClaims=claims, tolerations=tolerations)
        return self._named("pod", spec, status=self._maybe(**self._pod_status()))

    def _pod_status(self) -> Object:
        condition = {
            "type": "PodScheduled",
            "status": self._one("True", "False"),
            "lastTransitionTime": self._one(*_TIMES),
        }
        claim = {"name": "c", "resourceClaimName": self._random.choice(self._claims)}
        return {
            "phase": self._one(*_PHASES),
            "conditions": [condition],
            "resourceClaimStatuses": [claim],
            "message": self._one(*_TEXTS),
            "startTime": self._one(*_TIMES),
        }

    def _affinity(self) -> Object:
        term = {"topologyKey": self._one(*_KEYS), "labelSelector": self._selector()}
        kind = self._one("podAffinity", "podAntiAffinity")
        node_affinity = {"requiredDuringSchedulingIgnoredDuringExecution": self._node_selector()}
        return self._maybe(nodeAffinity=node_affinity) | {
            kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        }

    def _spread(self) -> Object:
        rule = {"maxSkew": self._one(1, _INT32), "topologyKey": self._one(*_KEYS), "whenUnsatisfiable": "DoNotSchedule"}
        return {**rule, "labelSelector": self._selector()}

    def node(self) -> Object:
        """With amounts and taints; its status is written afterwards."""
        taint = {
            "key": self._one(*_KEYS),
            "effect": self._one("NoSchedule", "NoExecute"),
            "timeAdded": self._one(*_TIMES),
        }
        condition = {"type": "Ready", "status": self._one("True", "odd"), "lastHeartbeatTime": self._one(*_TIMES)}
        status = self._maybe(
            allocatable=self._amounts(),
            conditions=[condition],
            declaredFeatures=self._some(lambda: self._one("A", "B")),
        )
        return self._named("node", self._maybe(taints=[taint], unschedulable=True), status=status)

    def claim(self) -> Object:
        """With requests, constraints and parameters; its status is written afterwards."""
        status = self._one({}, self._allocated())
        claim = self._named("claim", {"devices": self._devices()}, status=status)
        self._claims.append(claim["metadata"]["name"])
        return claim

    def template(self) -> Object:
        """Of such a claim."""
        return self._named("claim", {"spec": {"devices": self._devices()}})

    def _devices(self) -> Object:
        how_many = self._one({"allocationMode": "All"}, {"count": self._one(*_COUNTS)})
        exactly = {"deviceClassName": self._one("odd", f"odd-class-{self._count}"), **how_many} | self._maybe(
            selectors=[{"cel": {"expression": self._one(*_EXPRESSIONS)}}],
            capacity={"requests": {"m": self._one(*_QUANTITIES)}},
            tolerations=[{"operator": "Exists", "tolerationSeconds": self._one(*_INTS)}],
        )
        number: Any = self._one(1, 1.0, 1e300, 2**70, True, None, {"k": [1, {"n": 2**64}]}, "\u2028<>&")
        parameters = {"opaque": {"driver": _DRIVER, "parameters": {"k": number}}}
        return {"requests": [{"name": f"r{n}", "exactly": exactly} for n in range(self._random.randint(1, 3))]} | (
            self._maybe(constraints=[{"matchAttribute": f"{_DRIVER}/missing"}], config=[parameters])
        )

    def _allocated(self) -> Object:
        result = {"request": "r0", "driver": _DRIVER, "pool": self._one("p", "gone"), "device": self._one("d0", "gone")}
        result |= self._maybe(
            shareID="5b2d2c1e-9a4e-4a55-8a27-111111111111",
            consumedCapacity={"m": self._one(*_QUANTITIES)},
        ) | self._one({}, {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Bad"]})
        allocation = {"devices": {"results": [result]}} | self._maybe(
            nodeSelector=self._node_selector(), allocationTimestamp=self._one(*_TIMES)
        )
        user = {"resource": self._one("pods", "odd"), "name": "x", "uid": self._one("x", "é")}
        return {"allocation": allocation, **self._maybe(reservedFor=[user])}

    def slice(self) -> Object:
        """With counters, attributes and capacities."""
        value = self._one(
            {"int": self._one(*_INTS)}, {"string": self._one(*_TEXTS)}, {"version": "1.2.3-a.b+c"}, {"bool": True}
        )
        policy = {"validRange": {"min": self._one(*_QUANTITIES), "max": self._one(*_QUANTITIES)}}
        shared = self._one({}, {"allowMultipleAllocations": True})
        capacity = {"value": self._one(*_QUANTITIES)}
        if shared:
            capacity |= self._maybe(requestPolicy={"default": "1", **policy})
        device = {"name": "d0", "attributes": {"v": value}, **shared} | self._maybe(
            capacity={"m": capacity},
            taints=[{"key": "k", "effect": self._one("NoSchedule", "NoExecute"), "timeAdded": self._one(*_TIMES)}],
            bindsToNode=True,
            consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": self._one(*_QUANTITIES)}}}],
        )
        pool = {
            "name": self._one("p", "q"),
            "generation": self._one(0, 1, _INT64),
            "resourceSliceCount": self._one(1, 2, _INT64),
        }
        where = self._one({"nodeName": "node-2"}, {"allNodes": True}, {"nodeSelector": self._node_selector()})
        counters = [{"name": "s", "counters": {"c": {"value": self._one(*_QUANTITIES)}}}]
        content = self._one({"devices": [device]}, {"sharedCounters": counters})
        return self._named("slice", {"driver": _DRIVER, "pool": pool, **where, **content})

    def device_class(self) -> Object:
        """With selectors that fail, and parameters."""
        config = [{"opaque": {"driver": _DRIVER, "parameters": {"k": self._one(1.0, 2**70, None)}}}]
        selectors = [{"cel": {"expression": self._one(*_EXPRESSIONS)}}]
        return self._named(
            "class", self._maybe(selectors=selectors, config=config, extendedResourceName="example.com/odd")
        )

    def lease(self) -> Object:
        """Of nobody."""
        return self._named(
            "lease",
            self._maybe(
                holderIdentity=self._one(*_TEXTS),
                leaseDurationSeconds=self._one(*_INTS),
                leaseTransitions=self._one(*_INTS),
                renewTime=self._one(*_TIMES),
            ),
        )


# Kind, what draws it, and whether its status is written separately.
_KINDS: list[tuple[Resource, Callable[[Odd], Object]]] = [
    (PODS, Odd.pod),
    (NODES, Odd.node),
    (RESOURCE_CLAIMS, Odd.claim),
    (RESOURCE_CLAIM_TEMPLATES, Odd.template),
    (RESOURCE_SLICES, Odd.slice),
    (DEVICE_CLASSES, Odd.device_class),
    (LEASES, Odd.lease),
]


def _store(victim: Victim, resource: Resource, obj: Object) -> bool:
    """Write an object and its status; whether it was taken. Only what says so may be refused."""
    try:
        created = victim.api.create({"apiVersion": resource.api_version, "kind": resource.kind, **obj})
        if obj.get("status"):
            victim.api.replace(
                {"apiVersion": resource.api_version, "kind": resource.kind, **created, "status": obj["status"]},
                subresource="status",
            )
    except ApiError as error:
        if error.code < 500:
            return False
        raise
    return True


def _remove(victim: Victim, resource: Resource, name: str) -> None:
    try:
        victim.api.patch(resource, name, {"metadata": {"finalizers": None}})
        victim.api.delete(resource, name, grace_period_seconds=0)
    except ApiError as error:
        if error.code not in (404, 409, 422):
            raise


def test_objects_of_all_kinds_with_extreme_values(
    victim: Victim, attack_random: random.Random, rounds: Callable[[], Iterator[int]]
) -> None:
    odd = Odd(attack_random)
    selectors = [{"cel": {"expression": f'device.driver == "{_DRIVER}"'}}]
    _store(victim, DEVICE_CLASSES, {"metadata": {"name": "odd"}, "spec": {"selectors": selectors}})
    taken: dict[str, int] = {}
    for _ in rounds():
        stored = []
        for resource, draw in attack_random.choices(_KINDS, k=40):
            obj = draw(odd)
            if _store(victim, resource, obj):
                taken[resource.plural] = taken.get(resource.plural, 0) + 1
            stored.append((resource, obj["metadata"]["name"]))
        victim.must_be_unharmed()
        attack_random.shuffle(stored)
        for resource, name in stored:
            _remove(victim, resource, name)
    assert set(taken) == {resource.plural for resource, _ in _KINDS}, f"only these were taken: {taken}"
    assert list(endings(victim.cluster.home.endings)) == []
    log = victim.cluster.logs()
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:6000]
    assert "internal error" not in log
