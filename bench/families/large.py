"""Many devices, pools, claims and requests: what each of them costs must stay small, too."""

from __future__ import annotations

from random import Random
from typing import Any

from bench.families.mig import busy, node, of
from bench.families.parts import (
    claim,
    claims,
    device,
    distinct,
    exactly,
    first_of,
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


def _devices(count: int, per_rack: int = 8) -> list[Object]:
    return [device(f"d{at:04}", uuid=f"u{at}", at=at, rack=at // per_rack, kind=at % 3) for at in range(count)]


@family(100, 250, 500, 1000)
def _needle_among_devices(n: int, random: Random) -> Object:
    """31 requests for anything, and the last device of all for the last one, which needs a rack of its own as well."""
    asked = [*requests([exactly()] * 30), request("needle", exactly(where("at", "==", n - 1)))]
    return problem(
        pool(_devices(n)), [claim([*asked, request("no", exactly(where("rack", "==", n)))], distinct("uuid"))]
    )


@family(8, 16, 32, 64)
def _stairs(n: int, random: Random) -> Object:
    """Claims of one request each; the later, the fewer devices, so that the first one must take the last device."""
    return problem(pool(_devices(n)), claims(requests([exactly(where("at", "<", n - at))]) for at in range(n)))


@family(8, 16, 32, 64)
def _stairs_with_a_step_too_few(n: int, random: Random) -> Object:
    """The same, but the two last claims have one device between them."""
    return problem(
        pool(_devices(n)), claims(requests([exactly(where("at", "<", max(1, n - at - 1)))]) for at in range(n))
    )


@family(8, 16, 32, 48)
def _racks_for_claims(n: int, random: Random) -> Object:
    """Claims of eight requests fill a rack each; one claim more than racks."""
    return problem(pool(_devices(8 * n)), claims([requests([exactly()] * 8)] * (n + 1), match("rack")))


@family(8, 16, 32, 48)
def _racks_for_claims_with_a_hole(n: int, random: Random) -> Object:
    """As many claims as racks, but a device is missing from the last rack, and the first claim needs but seven."""
    each = [requests([exactly()] * 7), *[requests([exactly()] * 8)] * (n - 1)]
    return problem(pool(_devices(8 * n)[:-1]), claims(each, match("rack")))


@family(4, 8, 16, 31)
def _pools_of_drivers(n: int, random: Random) -> Object:
    """A driver for each request, all of one rack; no rack is in all pools."""
    slices = []
    for at in range(n):
        devices = [
            {"name": f"x{rack:02}", "attributes": {"example.com/rack": {"int": rack}}}
            for rack in range(n)
            if rack != (at * 7 + 3) % n
        ]
        slices += pool(devices, driver=f"d{at:02}.example.com")
    asked = requests(exactly(of_driver(f"d{at:02}.example.com")) for at in range(n))
    return problem(slices, [claim(asked, match("rack", driver="example.com"))])


@family(8, 16, 32, 72)
def _gpus_of_a_rack(n: int, random: Random) -> Object:
    """Partitions on many GPUs, each with a slice in use; whole ones are asked for at last."""
    allocated = busy(*((gpu, "1g.5gb", gpu % 7) for gpu in range(n - 1)))
    each = [requests(map(of, ("3g.20gb", "2g.10gb"))) for _ in range(8)]
    whole = [request("whole", of("gpu", 2))]
    return problem(node(n), [*claims(each, match("parentUUID")), claim(whole, name="last")], allocated=allocated)


@family(8, 16, 32, 72)
def _lists_on_gpus_of_a_rack(n: int, random: Random) -> Object:
    """Lists from whole GPUs down in many claims; the last claim needs what only lists that yield leave."""
    profiles = ["gpu", "4g.20gb", "3g.20gb"]
    each = [[first_of("r", map(of, profiles))] for _ in range(n)]
    return problem(node(n), claims([*each, [request("whole", of("gpu"))]]))


@family(4, 8, 16, 32)
def _claims_of_32_requests(n: int, random: Random) -> Object:
    """Many requests in many claims; each claim takes the kinds by turns, and one kind is short by one."""
    devices = _devices(32 * n)
    each = [requests(exactly(where("kind", "==", at % 3)) for at in range(30)) for _ in range(n)]
    short = [one for one in devices if one["attributes"]["kind"]["int"] == 2][: 10 * n - 1]
    rest = [one for one in devices if one["attributes"]["kind"]["int"] != 2]
    return problem(pool([*rest, *short]), claims(each))


@family(10, 20, 31)
def _constraints_for_all_pairs(n: int, random: Random) -> Object:
    """32 constraints, each over a third of the requests at random; values are few."""
    values: list[dict[str, Any]] = [{f"a{k}": random.randrange(n) for k in range(4)} for _ in range(6 * n)]
    devices = [device(f"d{at:03}", **one) for at, one in enumerate(values)]
    asked = requests([exactly()] * n)
    names = [one["name"] for one in asked]
    constraints = [distinct(f"a{at % 4}", *sorted(random.sample(names, n // 3))) for at in range(32)]
    return problem(pool(devices), [claim(asked, *constraints)])
