"""Rules beside counting: admin access, mode All, taints, several pools and drivers, nodes, binding conditions."""

from __future__ import annotations

from random import Random

from bench.families.parts import (
    DRIVER,
    NODE,
    OTHER,
    claim,
    claims,
    device,
    distinct,
    everything,
    exactly,
    first_of,
    holding,
    match,
    of_driver,
    pool,
    problem,
    request,
    requests,
    where,
)
from bench.families.registry import family
from drakit_api.kubernetes_objects import Object


def _plain(count: int, **spec: str) -> list[Object]:
    return [{**device(f"d{at:02}", at=at, rack=at // 4), **spec} for at in range(count)]


@family(4, 8, 12, 16, 24, 31)
def _admin_then_one_too_few(n: int, random: Random) -> Object:
    """Admin access to every other device marks it for the requests that come later; these need one more."""
    first = [exactly(where("at", "==", at), adminAccess=True) for at in range(0, n, 2)]
    asked = requests([*first, *(exactly() for _ in range(n - len(first) + 1))])[:32]
    return problem(pool(_plain(n)), [claim(asked)])


@family(4, 6, 8, 12, 16, 24, 32)
def _admin_anywhere(n: int, random: Random) -> Object:
    """Admin requests choose first and take what normal ones need, but for the last devices."""
    asked = []
    for at in range(n // 2):
        asked += [exactly(where("rack", "<", 1 + at), adminAccess=True), exactly(where("rack", "==", at // 2))]
    return problem(pool(_plain(n)), [claim(requests(asked), distinct("at"))])


@family(4, 8, 12, 16, 24, 32)
def _all_of_a_rack(n: int, random: Random) -> Object:
    """Requests for one device each, then all of a rack, which must be left alone; and one too many."""
    devices = _plain(n + 4)
    asked = [exactly(where("at", "<", n + 4)) for _ in range(n - 4)] + [
        everything(where("rack", "==", n // 4)),
        exactly(),
    ]
    return problem(pool(devices), [claim(requests([*asked[:-1], *[asked[-1]] * (5 if n > 8 else 4)])[:32])])


@family(3, 4, 6, 8)
def _all_of_what_claims_leave(n: int, random: Random) -> Object:
    """Claims of pairs in one rack, then one for all devices of the first rack."""
    devices = _plain(4 * n)
    each = [requests([exactly(), exactly()]) for _ in range(2 * n - 2)]
    return problem(pool(devices), claims([*each, [request("all", everything(where("rack", "==", 0)))]], match("rack")))


@family(4, 8, 12, 16, 24, 32)
def _taints_that_some_tolerate(n: int, random: Random) -> Object:
    """Requests tolerate one of four taints; the tolerant ones come first and take the devices without taints."""
    keys = ("a", "b", "c", "d")
    devices = [
        {
            **device(f"d{at:02}", at=at),
            **({"taints": [{"key": keys[at % 4], "effect": "NoSchedule"}]} if at >= n // 3 else {}),
        }
        for at in range(n)
    ]
    tolerant = [
        exactly(tolerations=[{"key": key, "operator": "Exists"} for key in keys[: 1 + at % 4]])
        for at in range(n - n // 3)
    ]
    return problem(pool(devices), [claim(requests([*tolerant, *(exactly() for _ in range(n // 3))])[:32])])


@family(4, 8, 12, 16, 24, 32)
def _taints_and_counters(n: int, random: Random) -> Object:
    """Cheap devices are tainted for all but the last requests."""
    devices = [
        {
            **device(f"d{at:02}", {"s": {"c": 1 + at % 3}}),
            **({"taints": [{"key": "k", "value": str(at % 2), "effect": "NoExecute"}]} if at % 3 == 0 else {}),
        }
        for at in range(2 * n)
    ]
    asked = [
        exactly(tolerations=[{"key": "k", "operator": "Equal", "value": str(at % 2), "effect": "NoExecute"}])
        for at in range(n // 2)
    ]
    asked += [exactly() for _ in range(n - n // 2)]
    room = 2 * (n - n // 2) + n // 2
    return problem(pool(devices, {"s": {"c": room - 1 + n % 3}}), [claim(requests(asked))])


@family(2, 4, 6, 8, 12, 16)
def _pools_in_string_order(n: int, random: Random) -> Object:
    """Many pools of two drivers, p-10 before p-2; each claim wants devices of one root from both drivers."""
    slices = []
    for at in range(n):
        for driver, root in ((OTHER, (at * 5 + 3) % n), ("gpu.example.com", at)):
            devices = [
                {
                    **device(f"x{number}", at=number),
                    "attributes": {"example.com/root": {"string": f"root-{root}"}, "at": {"int": number}},
                }
                for number in range(2)
            ]
            slices += pool(devices, driver=driver, name=f"p-{at}")
    each = [requests([exactly(of_driver("gpu.example.com"), count=2), exactly(of_driver(OTHER))]) for _ in range(n)]
    last = requests([exactly(of_driver(OTHER), count=2)])
    return problem(slices, claims([*each, last], match("root", driver="example.com")))


@family(4, 6, 8, 10, 12, 16)
def _pairs_of_two_drivers(n: int, random: Random) -> Object:
    """A GPU and a NIC of one root for each of n pairs, where roots have random numbers of both; one pair too many."""

    def some(driver: str, roots: list[int]) -> list[Object]:
        return pool(
            [{"name": f"x{at:02}", "attributes": {"example.com/root": {"int": root}}} for at, root in enumerate(roots)],
            driver=driver,
        )

    gpus = [random.randrange(n) for _ in range(2 * n)]
    nics = [random.randrange(n) for _ in range(2 * n)]
    pairs = min(16, sum(min(gpus.count(root), nics.count(root)) for root in range(n)) + 1)
    asked = requests(exactly(of_driver(one)) for _ in range(pairs) for one in ("gpu.example.com", OTHER))
    names = [one["name"] for one in asked]
    constraints = [match("root", *names[at : at + 2], driver="example.com") for at in range(0, len(names), 2)]
    return problem([*some("gpu.example.com", gpus), *some(OTHER, nics)], [claim(asked, *constraints)])


@family(4, 6, 8, 12, 16, 24)
def _chains_through_drivers(n: int, random: Random) -> Object:
    """GPU, NIC, GPU, NIC, ...: next ones agree in a switch or in a root, by turns; drivers have pools of their own."""

    def some(driver: str) -> list[Object]:
        devices = [
            {
                "name": f"x{at:02}",
                "attributes": {
                    f"example.com/{name}": {"int": random.randrange(n // 2 + 1)} for name in ("root", "switch")
                },
            }
            for at in range(n)
        ]
        return pool(devices, driver=driver)

    asked = requests(exactly(of_driver(("gpu.example.com", OTHER)[at % 2])) for at in range(n))
    names = [one["name"] for one in asked]
    constraints = [match(("root", "switch")[at % 2], *names[at : at + 2], driver="example.com") for at in range(n - 1)]
    return problem([*some("gpu.example.com"), *some(OTHER)], [claim(asked, *constraints)])


@family(4, 8, 12, 16, 24, 32)
def _nodes_of_devices(n: int, random: Random) -> Object:
    """A pool of the network whose devices say for themselves on which node they are; every third is on this one."""
    devices = [
        {**device(f"d{at:02}", at=at, rack=at % 5), "nodeName": NODE if at % 3 == 0 else "node-2"}
        for at in range(3 * n)
    ]
    asked = requests(exactly(where("rack", "<", 1 + at % 5)) for at in range(n - 1))
    return problem(
        pool(devices, perDeviceNodeSelection=True),
        [claim([*asked[:31], request("last", exactly(where("rack", "==", 0)))])],
    )


@family(4, 6, 8, 12, 16, 24)
def _binding_conditions_last(n: int, random: Random) -> Object:
    """A pool with binding conditions comes last in the order though first by name; and is needed, or not enough."""
    fabric = [
        {
            **device(f"f{at:02}", at=at, kind="fabric", rack=at % 3),
            "bindingConditions": ["ready"],
            "bindingFailureConditions": ["failed"],
        }
        for at in range(n)
    ]
    local = [device(f"l{at:02}", at=at, kind="local", rack=at % 3) for at in range(n)]
    slices = [*pool(fabric, name="a-fabric"), *pool(local, name="b-local")]
    asked = requests(exactly() for _ in range(n))
    names = [one["name"] for one in asked]
    return problem(
        slices, [claim(asked, match("rack", *names[: n // 3 + 1]), match("rack", *names[n // 3 + 1 :]), distinct("at"))]
    )


@family(8, 12, 16, 24, 32)
def _few_odd_ones_among_equals(n: int, random: Random) -> Object:
    """64 equal devices and three others; requests that take any come before those that need the others."""
    devices = [device(f"d{at:02}", {"s": {"c": 2}}, kind="odd" if at in (0, 31, 65) else "even") for at in range(67)]
    asked = [exactly() for _ in range(n - 4)] + [exactly(where("kind", "==", "odd")) for _ in range(4)]
    return problem(pool(devices, {"s": {"c": 2 * n}}), [claim(requests(asked))])


@family(8, 12, 16, 24, 32)
def _equals_but_for_what_is_in_use(n: int, random: Random) -> Object:
    """Counter sets of four devices, in each of which another one is in use; requests need what is left."""
    devices = [device(f"d{at:02}-{k}", {f"s{at:02}": {"c": k + 1}}, at=at, k=k) for at in range(n) for k in range(4)]
    counters = {f"s{at:02}": {"c": 6} for at in range(n)}
    held = [f"d{at:02}-{at % 4}" for at in range(n)]
    asked = requests(exactly(where("k", "==", 3 - at % 4)) for at in range(n))
    return problem(pool(devices, counters), [claim(asked)], allocated=holding(held))


@family(4, 6, 8, 12, 16)
def _claims_of_32(n: int, random: Random) -> Object:
    """n claims of 32 devices each, the last of which finds 31."""
    devices = [device(f"d{at:03}", at=at, half=at % 2) for at in range(32 * n - 1)]
    asked = [[exactly(where("half", "==", 0), count=16), exactly(where("half", "==", 1), count=16)] for _ in range(n)]
    return problem(pool(devices), claims(requests(one) for one in asked))


@family(2, 4, 6, 8, 12)
def _unrelated_groups(n: int, random: Random) -> Object:
    """n groups that each have many solutions, and one at the end, of another driver, that has none."""
    groups = [device(f"d{group:02}-{at}", group=group, at=at, pair=at // 2) for group in range(n) for at in range(6)]
    ours = of_driver(DRIVER)
    asked = [requests(exactly(ours, where("group", "==", group)) for _ in range(3)) for group in range(n)]
    few = pool([device(f"n{at}", at=at) for at in range(2)], driver=OTHER)
    last = requests(exactly(of_driver(OTHER)) for _ in range(3))
    return problem([*pool(groups), *few], claims([*asked, last]))


@family(4, 6, 8, 12, 16)
def _two_groups_at_odds(n: int, random: Random) -> Object:
    """Either group fits alone; together they draw one unit too much from one of many counters."""
    devices = [
        device(f"{kind}{at:02}-{k}", {f"s{at}": {"c": 2 + (k + (kind == "b")) % 2}}, kind=kind, at=at)
        for at in range(n)
        for kind in "ab"
        for k in range(2)
    ]
    counters = {f"s{at}": {"c": 5 - (at == n - 1) * 2} for at in range(n)}
    first = [exactly(where("kind", "==", "a"), where("at", "==", at)) for at in range(n)]
    second = [exactly(where("kind", "==", "b"), where("at", "==", at)) for at in random.sample(range(n), n)]
    return problem(pool(devices, counters), claims([requests(first), requests(second)]))


@family(3, 4, 6, 8, 10)
def _lists_with_all_mode(n: int, random: Random) -> Object:
    """Each list would rather have a whole rack than two or one of any; there is a device for each only."""
    devices = [device(f"d{at:02}", rack=at // 2, at=at) for at in range(2 * n)]
    asked = [
        first_of(
            f"r{at}",
            [everything(where("rack", "==", at % (n - 1))), exactly(count=3), exactly(where("at", "<", 2 * n - 1))],
        )
        for at in range(2 * n - 1)
    ]
    return problem(pool(devices), [claim([*asked[:30], request("last", exactly(where("at", "<", 2)))])])
