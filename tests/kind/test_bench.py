"""The benchmarks run, leave nothing behind, and their ledger finds what a wrong scheduler would do."""

from __future__ import annotations

import copy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.ledger import Ledger
from drakit_api.kubernetes_objects import Object

ROOT = Path(__file__).parents[2]
NAMES = (
    "startup",
    "latency",
    "apiserver",
    "extensions",
    "footprint",
    "cycles",
    "scheduler",
    "workloads",
    "adversarial",
    "memory",
    "patches",
    "cel",
)
GROUPS = ("api", "allocator")
BOUND = 280  # they take seconds, but they start whole clusters, and other tests run beside them

pytestmark = pytest.mark.timeout(BOUND + 20)


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=BOUND, check=False)


@pytest.mark.slow
def test_the_list_says_what_each_benchmark_is_for() -> None:
    done = _bench("--list")
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert [name for name, _ in lines] == [*NAMES, *GROUPS]
    assert all(summary.endswith((".", ":")) for _, summary in lines)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("startup", ["API server and controllers", "drakit cluster up"]),
        ("latency", ["claim", "template"]),
        ("apiserver", ["claim status update", "slice create", "watch events"]),
        ("extensions", ["create", "merge patch", "from a definition to its first object"]),
        ("footprint", ["seconds to start, empty", "25 slices written"]),
        ("cycles", ["200"]),
        ("scheduler", ["10 nodes, 90 % full"]),
        ("allocator", ["a-fill-dgx", "c01-count-n", "90 % full", "every device: decision", "view of a device"]),
    ],
)
def test_the_smallest_setting_ends_in_a_table(name: str, rows: list[str]) -> None:
    done = _bench("--quick", name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("machine: ")
    assert [row for row in rows if row not in done.stdout] == []


@pytest.mark.slow
def test_a_benchmark_that_is_named_twice_runs_once() -> None:
    done = _bench("--quick", "cel", "workloads", "cel")
    assert done.returncode == 0, done.stderr
    assert (done.stdout.count("CEL selectors"), done.stdout.count("recorded workloads")) == (1, 1)


@pytest.mark.slow
def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    done = _bench("etcd")
    assert done.returncode == 2
    assert all(name in done.stderr for name in (*NAMES, *GROUPS))


@pytest.mark.slow
@pytest.mark.usefixtures("signals_heard")
@pytest.mark.parametrize(
    ("name", "number"),
    [("scheduler", signal.SIGINT), ("apiserver", signal.SIGTERM)],
    ids=["scheduler-Ctrl-C", "apiserver-SIGTERM"],
)
def test_interrupted_it_stops_what_it_started(name: str, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "bench", name]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as bench:
        try:
            assert bench.stderr is not None
            said = [bench.stderr.readline()]
            children = _children(bench.pid)
            bench.send_signal(number)
            said += bench.communicate(timeout=BOUND)[1]
        finally:
            bench.kill()
    assert bench.returncode == 1, "".join(said)
    assert "Traceback" not in "".join(said)
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []


@pytest.mark.slow
@pytest.mark.usefixtures("signals_heard")
def test_interrupted_it_prints_what_it_has_measured() -> None:
    command = [sys.executable, "-m", "bench", "workloads"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bench:
        try:
            assert bench.stderr is not None
            while "b-100" not in bench.stderr.readline():  # the first ones are measured by then
                assert bench.poll() is None
            bench.send_signal(signal.SIGINT)
            table, said = bench.communicate(timeout=BOUND)
        finally:
            bench.kill()
    assert bench.returncode == 1, said
    assert "Traceback" not in said
    assert [row for row in ("a-fill-dgx-random-mig", "Interrupted") if row not in table] == []


def _children(pid: int) -> list[str]:
    """As soon as there are any: a line says what will be started, and what one cluster was ends before the next."""
    deadline = time.monotonic() + BOUND / 2
    while not (children := Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        assert time.monotonic() < deadline, "it starts nothing"
        time.sleep(0.02)
    return children


def _device(name: str, profile: str, memory: str) -> Object:
    consumption = {"counterSet": "gpu-0", "counters": {"memory": {"value": memory}}}
    return {"name": name, "attributes": {"profile": {"string": profile}}, "consumesCounters": [consumption]}


def _slices() -> list[Object]:
    pool = {"driver": "gpu.nvidia.com", "pool": {"name": "node-1"}, "nodeName": "node-1"}
    counters = [{"name": "gpu-0", "counters": {"memory": {"value": "10Gi"}}}]
    devices = [_device("small-0", "1g", "5120Mi"), _device("small-1", "1g", "5Gi"), _device("large", "7g", "10Gi")]
    return [{"spec": {**pool, "sharedCounters": counters}}, {"spec": {**pool, "devices": devices}}]


def _claim(name: str, device: str, profile: str = "1g") -> Object:
    selector = {"cel": {"expression": f'device.attributes["gpu.nvidia.com"].profile == "{profile}"'}}
    result = {"request": "mig", "driver": "gpu.nvidia.com", "pool": "node-1", "device": device}
    return {
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [{"name": "mig", "exactly": {"selectors": [selector]}}]}},
        "status": {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": name, "uid": f"uid-{name}"}],
        },
    }


def _pod(name: str, node: str = "node-1") -> Object:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"nodeName": node, "resourceClaims": [{"name": "device", "resourceClaimTemplateName": "any"}]},
        "status": {"resourceClaimStatuses": [{"name": "device", "resourceClaimName": name}]},
    }


def test_the_ledger_is_content_with_devices_that_fit_together() -> None:
    account = Ledger(_slices(), [_claim("a", "small-0"), _claim("b", "small-1")])
    assert account.errors([_pod("a"), _pod("b")]) == []
    assert account.held == 2


def _without_reservation() -> Object:
    claim = copy.deepcopy(_claim("a", "small-0"))
    claim["status"]["reservedFor"][0]["uid"] = "another"
    return claim


@pytest.mark.parametrize(
    ("claims", "pods", "error"),
    [
        ([_claim("a", "small-0"), _claim("b", "small-0")], [], "small-0 is held by claims a and b"),
        ([_claim("a", "small-0"), _claim("b", "large", "7g")], [], "memory: 16106127360 are used of 10737418240"),
        ([_claim("a", "none")], [], "claim a has gpu.nvidia.com/node-1/none, which nobody publishes"),
        ([_claim("a", "large")], [], "claim a has a 7g, which it did not ask for"),
        ([_claim("a", "small-0")], [_pod("a", "node-2")], "pod a is on node-2, its devices on ['node-1']"),
        ([_without_reservation()], [_pod("a")], "pod a is bound, but its claim is not reserved for it"),
        ([], [_pod("a")], "pod a is on node-1, its devices on []"),
    ],
    ids=["twice", "over-committed", "unknown", "wrong profile", "wrong node", "not reserved", "not allocated"],
)
def test_the_ledger_finds(claims: list[Object], pods: list[Object], error: str) -> None:
    assert any(error in found for found in Ledger(_slices(), claims).errors(pods))
