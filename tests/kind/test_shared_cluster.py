"""Workers of one test run share a cluster: one starts it, all use it, the starter stops it last."""

from __future__ import annotations

import fcntl
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.testing.shared_cluster import SharedCluster

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.usefixtures("few_plugins")
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


def test_who_comes_before_the_one_who_failed_has_gone_is_told_why_too(
    shared: Callable[..., Shared], tmp_path: Path
) -> None:
    with pytest.raises(ClusterError, match=r"^no etcd$"), shared("gw0", _fail).used():
        pass
    with (tmp_path / "starter").open("w") as going:
        fcntl.flock(going, fcntl.LOCK_EX)
        with pytest.raises(ClusterError, match="another worker could not start the cluster: no etcd"):
            shared("gw1").used().__enter__()


def test_a_test_that_wants_to_be_alone_is_and_is_not_kept_waiting(
    shared: Callable[[str], Shared], tmp_path: Path
) -> None:
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
        alone = pool.submit(use, "alone")
        _until_locked(tmp_path / "queue")
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
    with leaving.used(first=True):
        if again:
            with leaving.turns.turn(alone=True, again=True):
                pass
    _can_be_taken(shared("gw1"))


def test_who_asked_and_has_no_cluster_gives_it_up(shared: Callable[..., Shared]) -> None:
    with pytest.raises(ClusterError, match=r"^no etcd$"), shared("gw0", _fail).used(first=True):
        pass
    _can_be_taken(shared("gw1"))


def _can_be_taken(worker: Shared) -> None:
    thread = threading.Thread(target=_take_a_turn, args=[worker], daemon=True)
    thread.start()
    thread.join(_SECONDS)
    assert not thread.is_alive()


def test_who_leaves_who_stays_and_who_comes_do_not_wait_for_each_other(shared: Callable[[str], Shared]) -> None:
    """The starter waits for the others, one of them for its turn, and who has that comes late."""
    leaver, user, late = shared("gw0"), shared("gw1"), shared("gw2")
    used, leaving = threading.Event(), threading.Event()

    def leave() -> None:
        with leaver.used():
            assert used.wait(_SECONDS)
            leaving.set()

    def use() -> None:
        with user.used():
            late.turns.ask_early()
            used.set()
            _take_a_turn(user)

    def come() -> None:
        assert leaving.wait(_SECONDS)
        with late.used(first=True):
            _take_a_turn(late)

    threads = [threading.Thread(target=each, daemon=True) for each in (leave, use, come)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_SECONDS)
    assert not any(thread.is_alive() for thread in threads)


def _take_a_turn(worker: Shared) -> None:
    with worker.turns.turn(alone=True):
        pass


def _until_locked(path: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while True:
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _waiting(future: Future[T]) -> Future[T]:
    with pytest.raises(TimeoutError):
        future.result(0.2)
    return future


_SUITE = {
    "conftest.py": """
import os
from pathlib import Path
import pytest
from drakit_kind.testing import session_clusters
from drakit_kind.cluster import ClusterSpec
from drakit_kind.clusters.home import ClusterHome

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


@pytest.mark.slow
@pytest.mark.parametrize(("components", "clusters"), [("real", 1), ("ours", 2)])
def test_workers_share_a_cluster_of_real_components_alone(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, components: str, clusters: int
) -> None:
    monkeypatch.setenv("FAKE", components)
    for name, text in _SUITE.items():
        pytester.path.joinpath(name).write_text(text)
    pytester.runpytest_subprocess("-n", "2", timeout=60).assert_outcomes(passed=2)
    assert len(list(pytester.path.glob("started-*"))) == clusters


_ALONE = """
import os
import time
from pathlib import Path
import pytest

HERE = Path(__file__).parent

def tell(what):
    with (HERE / "told").open("a") as told:
        told.write(what + "\\n")

@pytest.fixture
def seen(_turn, request):
    tell("begin " + request.node.name)
    yield
    tell("end " + request.node.name)

@pytest.mark.alone
@pytest.mark.parametrize("number", [0, 1, pytest.param(2, marks=pytest.mark.skip("it never takes its turn"))])
def test_alone(cluster, request, number):
    time.sleep(0.3)  # others come meanwhile
    request.getfixturevalue("seen")
    time.sleep(0.3)

def test_of_the_same_worker_that_needs_no_cluster():
    wait_until(lambda: "end test_beside[0]" in (HERE / "told").read_text())

@pytest.fixture(scope="session")
def later():
    wait_until(lambda: list(HERE.glob("started-*")))

def wait_until(done):
    until = time.monotonic() + 20
    while not done():
        assert time.monotonic() < until
        time.sleep(0.01)

@pytest.mark.parametrize("number", range(4))
def test_beside(later, cluster, seen, number):
    time.sleep(0.3)
"""


@pytest.mark.slow
def test_tests_that_want_to_be_alone_are_the_first_and_let_nobody_between(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE", "real")
    pytester.path.joinpath("conftest.py").write_text(_SUITE["conftest.py"])
    pytester.path.joinpath("test_it.py").write_text(_ALONE)
    pytester.runpytest_subprocess("-n", "2", "--dist", "worksteal", timeout=60).assert_outcomes(passed=7, skipped=1)
    told = pytester.path.joinpath("told").read_text().splitlines()
    assert told[:4] == ["begin test_alone[0]", "end test_alone[0]", "begin test_alone[1]", "end test_alone[1]"]
    assert len(told) == 12


_WITHOUT_NAMESPACE = """
import time
import pytest
from pathlib import Path

def use(name):
    file = Path(__file__).with_name("told")
    for what in ("begin", "end"):
        with file.open("a") as told:
            told.write(f"{what} {name}\\n")
        time.sleep(0.1)

@pytest.fixture
def used(cluster, request):
    use(request.node.name)

@pytest.mark.alone
@pytest.mark.parametrize("number", range(2))
def test_alone(used, number):
    pass

@pytest.mark.parametrize("number", range(4))
def test_beside(used, number):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("theirs", [False, True], ids=["a cluster of ours", "one that is there"])
def test_a_test_without_a_namespace_takes_its_turn_too(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, theirs: bool
) -> None:
    monkeypatch.setenv("FAKE", "ours" if theirs else "real")
    foreign = "from drakit_kind.clusters import foreign\nforeign.ForeignCluster = Fake\n" if theirs else ""
    pytester.path.joinpath("conftest.py").write_text(_SUITE["conftest.py"] + foreign)
    pytester.path.joinpath("test_it.py").write_text(_WITHOUT_NAMESPACE)
    options = ["--drakit-cluster-kubeconfig", "config"] if theirs else []
    pytester.runpytest_subprocess("-n", "2", "--dist", "load", *options, timeout=60).assert_outcomes(passed=6)
    told = pytester.path.joinpath("told").read_text().splitlines()
    for number in range(2):
        begin = told.index(f"begin test_alone[{number}]")
        assert told[begin + 1] == f"end test_alone[{number}]", told


_PATIENT = {
    "waiting.py": """
import time
from pathlib import Path

HERE = Path(__file__).parent

def wait_until(name):
    until = time.monotonic() + 20
    while not list(HERE.glob(name)):
        assert time.monotonic() < until
        time.sleep(0.01)
""",
    "test_starter.py": """
import pytest
from waiting import HERE, wait_until

def test_that_starts_the_cluster(cluster):
    wait_until("used")

@pytest.mark.timeout(3)
def test_that_is_short(cluster):
    (HERE / "ended").touch()
""",
    "test_user.py": """
import time
import pytest
from waiting import HERE, wait_until

@pytest.fixture(scope="session")
def later():
    wait_until("started-*")

def test_that_takes_long(later, cluster):
    (HERE / "used").touch()
    wait_until("ended")
    time.sleep(4)
""",
}


@pytest.mark.slow
def test_a_short_test_is_not_ended_because_those_of_others_take_long(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The starter's last test is over when it has left the cluster, for which it waits for the others."""
    monkeypatch.setenv("FAKE", "real")
    for name, text in {**_PATIENT, "conftest.py": _SUITE["conftest.py"]}.items():
        pytester.path.joinpath(name).write_text(text)
    pytester.runpytest_subprocess("-n", "2", "--dist", "loadfile", timeout=60).assert_outcomes(passed=3)


_LAST_NAMESPACES = """
import fcntl
import pytest
from drakit_kind.testing.cluster_turns import ClusterTurns

class Api:
    def __init__(self, directory):
        self.directory = directory

    def wait_gone(self, resource, names, *, timeout):
        with pytest.raises(BlockingIOError), (self.directory / "room").open("w") as room:
            fcntl.flock(room, fcntl.LOCK_EX | fcntl.LOCK_NB)  # so that it is alone
        print("waits for", *names, "while nobody is alone")

@pytest.fixture(scope="session")
def _turns(tmp_path_factory):
    return ClusterTurns(tmp_path_factory.getbasetemp())

@pytest.fixture(scope="session")
def _session_api(tmp_path_factory):
    return Api(tmp_path_factory.getbasetemp())

def test_it(_ending_namespaces):
    _ending_namespaces.append("test-1")
"""


@pytest.mark.slow
def test_a_worker_that_has_no_more_tests_waits_for_its_namespaces_while_nobody_is_alone(
    pytester: pytest.Pytester,
) -> None:
    """Whoever is alone may restart the API server, and that refuses even its administrator until it has started."""
    pytester.makepyfile(_LAST_NAMESPACES)
    result = pytester.runpytest_subprocess("-s", timeout=60)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*waits for test-1 while nobody is alone*"])
