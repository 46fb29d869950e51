"""Workers of one test run share a cluster: one starts it, all use it, the starter stops it last."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.home import ClusterHome
from drakit_kind.shared_cluster import SharedCluster

pytest_plugins = ["pytester"]
_SECONDS = 20
_WORKERS = 4
Shared = SharedCluster[str]
T = TypeVar("T")


def _fail() -> str:
    raise ClusterError("no etcd")


@pytest.fixture
def shared(tmp_path: Path) -> Callable[[str], Shared]:
    """A worker's side of the sharing; its "cluster" is text that says who made it how."""
    numbers = itertools.count(1)

    def of(worker: str, start: Callable[[], str] | None = None) -> Shared:
        return SharedCluster(
            tmp_path,
            start=start or (lambda: f"{worker} started {next(numbers)}"),
            home_of=lambda cluster: ClusterHome(tmp_path / cluster.replace(" ", "-")),
            join=lambda home: f"{worker} joined {home.directory.name}",
        )

    return of


def test_of_many_workers_one_starts_the_cluster_and_the_others_join(shared: Callable[[str], Shared]) -> None:
    together = threading.Barrier(_WORKERS)

    def worker(name: str) -> str:
        with shared(name).used() as cluster:
            together.wait(_SECONDS)  # only when all of them have it
            return cluster

    with ThreadPoolExecutor() as pool:
        seen = list(pool.map(worker, [f"gw{number}" for number in range(_WORKERS)]))
    assert sorted(cluster.split()[1] for cluster in seen) == ["joined"] * (_WORKERS - 1) + ["started"]


def test_the_starter_leaves_last(shared: Callable[[str], Shared]) -> None:
    joined, may_leave, started = threading.Event(), threading.Event(), threading.Event()

    def starter() -> None:
        with shared("gw0").used():
            started.set()
            assert joined.wait(_SECONDS)

    def joiner() -> None:
        assert started.wait(_SECONDS)
        with shared("gw1").used():
            joined.set()
            assert may_leave.wait(_SECONDS)

    with ThreadPoolExecutor() as pool:
        first, second = pool.submit(starter), pool.submit(joiner)
        assert joined.wait(_SECONDS)
        with pytest.raises(TimeoutError):
            first.result(0.2)
        may_leave.set()
        for each in (first, second):
            each.result(_SECONDS)


def test_who_comes_when_all_have_left_starts_another(shared: Callable[[str], Shared]) -> None:
    with shared("gw0").used() as cluster:
        assert cluster == "gw0 started 1"
    with shared("gw1").used() as cluster:
        assert cluster == "gw1 started 2"


def test_what_one_cannot_start_the_next_does_not_try(shared: Callable[..., Shared]) -> None:
    with pytest.raises(ClusterError, match=r"^no etcd$"), shared("gw0", _fail).used():
        pass
    with pytest.raises(ClusterError, match="another worker could not start the cluster: no etcd"), shared("gw1").used():
        pass


def test_a_test_that_wants_to_be_alone_is_and_is_not_kept_waiting(shared: Callable[[str], Shared]) -> None:
    running: list[str] = []
    entered = {name: threading.Event() for name in ("early", "alone", "late")}
    leave = {name: threading.Event() for name in entered}

    def use(name: str) -> list[str]:
        with shared(name).turns.turn(alone=name == "alone"):
            running.append(name)
            beside = list(running)
            entered[name].set()
            assert leave[name].wait(_SECONDS)
            running.remove(name)
        return beside

    with ThreadPoolExecutor() as pool:
        early = pool.submit(use, "early")
        assert entered["early"].wait(_SECONDS)
        alone = _waiting(pool.submit(use, "alone"))
        late = _waiting(pool.submit(use, "late"))  # although "early" would let it in
        leave["early"].set()
        assert entered["alone"].wait(_SECONDS)
        _waiting(late)
        leave["alone"].set()
        leave["late"].set()
        assert [future.result(_SECONDS) for future in (early, alone, late)] == [["early"], ["alone"], ["late"]]


def test_who_asks_before_the_cluster_is_there_has_the_first_turns(shared: Callable[[str], Shared]) -> None:
    """Two of them, although another waits since before the first."""
    alone, other, seen = shared("gw0"), shared("gw1"), []

    def use() -> None:
        with other.turns.turn(alone=False):
            seen.append("other")

    with ThreadPoolExecutor() as pool:
        alone.turns.ask_early()
        waiting = _waiting(pool.submit(use))
        with alone.turns.turn(alone=True, again=True):
            seen.append("first")
        _waiting(waiting)
        with alone.turns.turn(alone=True):
            seen.append("second")
        waiting.result(_SECONDS)
    assert seen == ["first", "second", "other"]


@pytest.mark.parametrize("again", [False, True], ids=["a turn that is not taken", "one that is kept"])
def test_what_was_asked_for_and_not_used_is_given_up(shared: Callable[[str], Shared], again: bool) -> None:
    leaving = shared("gw0")
    with leaving.used():
        leaving.turns.ask_early()
        if again:
            with leaving.turns.turn(alone=True, again=True):
                pass
    with ThreadPoolExecutor() as pool:
        pool.submit(_take_a_turn, shared("gw1")).result(_SECONDS)


def _take_a_turn(worker: Shared) -> None:
    with worker.turns.turn(alone=True):
        pass


def _waiting(future: Future[T]) -> Future[T]:
    with pytest.raises(TimeoutError):
        future.result(0.2)
    return future


_SUITE = {
    "conftest.py": """
import os
from pathlib import Path
import pytest
from drakit_kind import session_clusters
from drakit_kind.cluster import ClusterSpec
from drakit_kind.home import ClusterHome

HERE = Path(__file__).parent

class Fake:
    def __init__(self, home):
        self.home = home

class FakeClusters:
    def __init__(self, config): ...
    def __enter__(self):
        return self
    def __exit__(self, *exc): ...
    def start(self, spec):
        (HERE / f"started-{os.getpid()}").touch()
        return Fake(ClusterHome(HERE))
    def join(self, home):
        return Fake(home)

session_clusters.SessionClusters = FakeClusters

@pytest.fixture(scope="session")
def cluster_spec(request):
    return ClusterSpec(real=frozenset({"apiserver"} if "real" in os.environ["FAKE"] else ()))
""",
    "test_it.py": """
import pytest
from pathlib import Path

@pytest.mark.parametrize("number", range(2))
def test_it(cluster, number):
    assert cluster.home.directory == Path(__file__).parent
    Path(__file__).with_name(f"ran-{number}").touch()
    import time
    until = time.monotonic() + 20
    while not Path(__file__).with_name(f"ran-{1 - number}").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
""",
}


@pytest.mark.parametrize(("components", "clusters"), [("real", 1), ("ours", 2)])
def test_workers_share_a_cluster_of_real_components_alone(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, components: str, clusters: int
) -> None:
    monkeypatch.setenv("FAKE", components)
    for name, text in _SUITE.items():
        pytester.path.joinpath(name).write_text(text)
    pytester.runpytest_subprocess("-n", "2", timeout=60).assert_outcomes(passed=2)
    assert len(list(pytester.path.glob("started-*"))) == clusters
