"""The supervisor of a cluster: it can be told to stop at any moment, and a restart leaves one instance, or none."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from drakit_api.features import FeatureGates
from drakit_client.connection import Connection
from drakit_client.processes import control
from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.local import components, host
from drakit_kind.local.backend import LocalCluster
from drakit_kind.local.components import Components
from drakit_kind.local.ours import OurComponents
from drakit_kind.processes.slots import Loop
from drakit_kind.processes.supervision import Patience, endings

_BOUND = 20.0


@pytest.fixture
def home() -> Iterator[ClusterHome]:
    made = ClusterHome.temporary()
    yield made
    shutil.rmtree(made.directory)


class Instances:
    """Makes schedulers that do nothing but count; ``faults`` are what the next ones meet at their start."""

    def __init__(self) -> None:
        self.made = 0
        self.live: set[int] = set()
        self.faults: list[Exception] = []
        self.changed = asyncio.Condition()

    def __call__(self) -> _Instance:
        self.made += 1
        return _Instance(self, self.made)

    async def until_live(self, numbers: set[int]) -> None:
        """Wait until these instances run, and no other."""
        async with self.changed:
            await self.changed.wait_for(lambda: self.live == numbers)


class _Instance:
    def __init__(self, all_of_them: Instances, number: int) -> None:
        self._all = all_of_them
        self._number = number

    async def start(self) -> None:
        await asyncio.sleep(0)
        if self._all.faults:
            raise self._all.faults.pop(0)
        async with self._all.changed:
            self._all.live.add(self._number)
            self._all.changed.notify_all()

    async def stop(self) -> None:
        await asyncio.sleep(0)
        self._all.live.discard(self._number)


@pytest.fixture
async def cluster(home: ClusterHome) -> tuple[Components, Instances]:
    """A cluster of which only the scheduler was started, and its instances."""
    made = Components(ClusterSpec(token="t", port=1), home)
    schedulers = Instances()
    made._make["scheduler"] = schedulers
    await made._start_component("scheduler")
    return made, schedulers


def _restart(**changes: Any) -> dict[str, Any]:
    return {"component": "scheduler", "version": None, "gates": None, "emulated_version": None, **changes}


@pytest.mark.slow
async def test_two_restarts_at_once_leave_one_instance(cluster: tuple[Components, Instances]) -> None:
    running, schedulers = cluster
    await asyncio.gather(running.restart(_restart()), running.restart(_restart()))
    assert schedulers.live == {3}
    await running.stop()
    assert schedulers.live == set()


@pytest.mark.slow
@pytest.mark.parametrize("fault", [ClusterError("no such gate"), OSError("no port"), RuntimeError("a bug")])
async def test_a_component_that_does_not_come_back_as_asked_comes_back_as_it_was(
    cluster: tuple[Components, Instances], fault: Exception
) -> None:
    running, schedulers = cluster
    schedulers.faults = [fault]
    with pytest.raises(type(fault), match=str(fault)):
        await running.restart(_restart())
    assert schedulers.live == {3}


@pytest.mark.slow
async def test_programs_of_a_restarted_component_are_where_the_clusters_process_looks_for_them(
    home: ClusterHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks may have another $DRAKIT_KUBERNETES_DIR, or none."""
    asked: list[dict[str, Any]] = []
    spec = ClusterSpec(token="t", port=1, real=frozenset({"scheduler"}))
    monkeypatch.setattr(control, "call", lambda path, request, **_: asked.append(request))
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path))
    monkeypatch.setenv("DRAKIT_KUBERNETES_DIR", str(tmp_path / "unmounted"))
    LocalCluster(spec, home).restart("scheduler")
    monkeypatch.setenv("DRAKIT_KUBERNETES_DIR", str(tmp_path))
    running, schedulers = Components(spec, home), Instances()
    running._make["scheduler"] = schedulers
    await running._start_component("scheduler")
    with pytest.raises(ClusterError, match=f"there is no kube-scheduler of Kubernetes 1.37.1; .* in\n  {tmp_path}"):
        await running.restart(asked[0])
    assert schedulers.live == {1}
    (tmp_path / "1.37.1").mkdir()
    (tmp_path / "1.37.1" / "kube-scheduler").touch(0o700)
    await running.restart(asked[0])
    assert schedulers.live == {2}


@pytest.mark.slow
async def test_a_component_that_does_not_come_back_at_all_ends_the_cluster(
    cluster: tuple[Components, Instances], monkeypatch: pytest.MonkeyPatch
) -> None:
    running, schedulers = cluster
    ended: list[str] = []
    monkeypatch.setattr(components, "end_cluster", ended.append)
    schedulers.faults = [ClusterError("no such gate"), ClusterError("no port")]
    with pytest.raises(ClusterError, match="no such gate"):
        await running.restart(_restart())
    assert ended == ["scheduler does not start again as it was: no port"]


@pytest.mark.slow
async def test_a_restart_under_way_ends_with_the_cluster(cluster: tuple[Components, Instances]) -> None:
    running, schedulers = cluster
    restarts = [asyncio.create_task(running.restart(_restart())) for _ in range(2)]
    await asyncio.sleep(0)
    await running.stop()
    await asyncio.wait(restarts)
    assert schedulers.live == set()


@pytest.mark.parametrize("fault", [None, OSError("no port")], ids=["it returns", "it raises"])
async def test_a_loop_that_ends_before_it_is_ready_does_not_start(fault: Exception | None) -> None:
    async def ends() -> None:
        if fault is not None:
            raise fault

    loop = Loop("controllers", Connection("http://localhost"), ends, asyncio.Event(), lambda reason: None)
    async with asyncio.timeout(_BOUND):
        with pytest.raises(
            ClusterError, match=f"controllers ended before it was ready: {fault or 'nobody told it to'}"
        ):
            await loop.start()
        await loop.stop()


async def test_a_loop_that_fails_later_tells_why() -> None:
    ready, fails = asyncio.Event(), asyncio.Event()
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def serves() -> None:
        async with asyncio.TaskGroup():
            ready.set()
            await fails.wait()
            raise OSError("disk full")

    loop = Loop("controllers", Connection("http://localhost"), serves, ready, ended.set_result)
    async with asyncio.timeout(_BOUND):
        await loop.start()
        fails.set()
        assert await ended == "controllers ended by itself: OSError: disk full"
        await loop.stop()


@pytest.mark.slow
async def test_a_component_that_ends_by_itself_is_started_again(cluster: tuple[Components, Instances]) -> None:
    running, schedulers = cluster
    running._told("scheduler", "panic: nil map")
    async with asyncio.timeout(_BOUND):
        await schedulers.until_live({2})
    await running.stop()
    assert schedulers.live == set()


@pytest.mark.slow
async def test_a_component_that_somebody_restarts_meanwhile_is_not_started_again(
    cluster: tuple[Components, Instances],
) -> None:
    running, schedulers = cluster
    running._told("scheduler", "panic: nil map")
    await running.restart(_restart())
    async with asyncio.timeout(_BOUND):
        await running._supervisor.idle()
    assert (schedulers.made, schedulers.live) == (2, {2})


@pytest.mark.slow
async def test_a_component_that_ends_again_and_again_ends_the_cluster(
    cluster: tuple[Components, Instances], home: ClusterHome
) -> None:
    running, schedulers = cluster
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running._supervisor.give_up = ended.set_result
    running._supervisor.patience = Patience(ends=3, first_pause=0)
    schedulers.faults = [ClusterError("no port")]
    running._told("scheduler", "panic: nil map")
    async with asyncio.timeout(_BOUND):
        await schedulers.until_live({3})
        await running._supervisor.idle()
        running._told("scheduler", "panic: the same")
        assert await ended == "scheduler has ended 3 times in a row, the last time: panic: the same"
        await running.stop()
    assert [ending.reason for ending in endings(home.endings)] == ["panic: nil map", "no port", "panic: the same"]
    assert schedulers.made == 3


@pytest.mark.slow
async def test_a_cluster_that_is_told_to_stop_does_not_wait_for_a_pause(
    cluster: tuple[Components, Instances],
) -> None:
    running, schedulers = cluster
    running._supervisor.patience = Patience(first_pause=2 * _BOUND)
    running._told("scheduler", "panic: nil map")
    async with asyncio.timeout(_BOUND):
        await running.stop()
    assert (schedulers.made, schedulers.live) == (1, set())


class _Slow:
    """Components of which one waits for ever, after another one failed or somebody sent a signal."""

    handle: Callable[[dict[str, Any]], Any] = None  # type: ignore[assignment]

    def __init__(self, spec: ClusterSpec, home: ClusterHome) -> None:
        self._marks = home.directory

    async def start(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        try:
            await asyncio.Event().wait()
        finally:
            (self._marks / "cancelled").touch()

    async def stop(self) -> None:
        (self._marks / "stopped").touch()


@pytest.mark.slow
async def test_a_cluster_that_is_told_to_stop_while_it_starts_does(
    home: ClusterHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write_spec(ClusterSpec(token="t", port=1))
    monkeypatch.setattr(components, "Components", _Slow)
    async with asyncio.timeout(_BOUND):
        with pytest.raises(SystemExit, match="told to stop before it was ready"):
            await host._serve(home)
    assert {"cancelled", "stopped"} <= {path.name for path in home.directory.iterdir()}
    assert not home.control.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "beside"),
    [
        (ClusterSpec(nodes=("n",)), {"controllers", "scheduler", "kubelet"}),
        (ClusterSpec(nodes=("n",), real=frozenset({"controllers"})), {"scheduler", "kubelet"}),
        (ClusterSpec(scheduler=False, nodes=()), {"controllers"}),
    ],
    ids=["all ours", "real controllers", "controllers only"],
)
def test_the_api_server_knows_which_components_are_not_ours(
    spec: ClusterSpec, beside: set[str], home: ClusterHome
) -> None:
    server = OurComponents(spec, home).apiserver(FeatureGates(), kubelet_client=None, clients=None)
    assert server.config.beside == beside
