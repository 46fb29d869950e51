"""A test that failed says what was going on in its cluster, and a cluster that is broken does not keep it from that."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import aiohttp
import pytest

from drakit_client.errors import ApiError
from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.evidence import file_name, gather

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.usefixtures("few_plugins")


@pytest.mark.slow
def test_the_report_of_a_failed_test_has_its_objects_events_and_logs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from drakit_kind.clusters.manifests import claim, pod, request

        def test_it(cluster, api, driver):
            gpus = driver("a30", nodes=["node-1"], gpus=1)
            api.create(claim("too-much", request("gpu", gpus.name, count=9)), pod("waits", "too-much"))
            api.wait_event("waits", "FailedScheduling")
            about = {"kind": "Pod", "name": "waits", "namespace": api.namespace}
            silent = {"metadata": {"name": "silent"}, "involvedObject": about, "reason": "SaysNothing"}
            api.create({"apiVersion": "v1", "kind": "Event", **silent})
            assert False, "on purpose"
        """
    )
    result = pytester.runpytest_subprocess("--drakit-cluster-nodes", "1", "--drakit-keep-logs", "kept", timeout=100)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*on purpose*",
            "*pods, claims and events*",
            "Pod waits: *phase: Pending*",
            "ResourceClaim too-much: *",
            "event of waits: FailedScheduling: *cannot allocate all claims*",
            "event of waits: SaysNothing",
            "*log of driver test-*.gpu.nvidia.com*",
            "*ready*",
            "*log of apiserver*",
            "*log of scheduler*",
            "*all of the logs*",
            "are in */kept/*/call/1",
        ]
    )
    (kept,) = pytester.path.glob("kept/*.py-test_it-*/call/1")
    files = {file.name: file.read_text() for file in kept.iterdir()}
    assert sorted(re.sub(r"test-[0-9a-f]+", "TEST", name) for name in files) == [
        "log-of-apiserver.txt",
        "log-of-controllers.txt",
        "log-of-driver-TEST.gpu.nvidia.com.txt",
        "log-of-kubelet.txt",
        "log-of-scheduler.txt",
        "pods,-claims-and-events.txt",
    ]
    assert "event of waits: SaysNothing" in files["pods,-claims-and-events.txt"]


class Broken:
    """An API, a cluster and a driver of which nothing can be had."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    @property
    def name(self) -> str:
        raise self._error

    def objects(self, *arguments: Any, **options: Any) -> list[Any]:
        raise self._error

    def logs(self, component: str | None = None) -> NoReturn:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        aiohttp.ServerDisconnectedError(),
        ApiError(503, {"message": "starting"}),
        TimeoutError(),
        ClusterError("it does not run"),
        FileNotFoundError(2, "No such file"),
        RuntimeError("a bug"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_cannot_be_had_says_why(error: Exception) -> None:
    broken: Any = Broken(error)
    sections = gather(broken, broken, [broken])
    assert len(sections) == 1 + 1 + 4
    assert all(text == f"this cannot be told: {type(error).__name__}: {error}" for _, text in sections)


class Talkative(Broken):
    """A cluster of which each program has said much."""

    def __init__(self, *programs: str) -> None:
        self._programs = programs

    def objects(self, *arguments: Any, **options: Any) -> list[Any]:
        return []

    def all_events(self) -> list[Any]:
        return []

    def logs(self, component: str | None = None) -> Any:
        return "".join(f"{head}" + "".join(f"{n}\n" for n in range(100)) for head in self._programs)


@pytest.mark.parametrize(
    ("programs", "heads", "lines"),
    [([""], 0, 60), (["== a\n"], 1, 60), (["== a\n", "== b\n"], 2, 60), ([f"== {n}\n" for n in range(9)], 9, 9 * 15)],
)
def test_a_report_has_the_end_of_what_each_program_said(
    tmp_path: Path, programs: list[str], heads: int, lines: int
) -> None:
    cluster: Any = Talkative(*programs)
    seen = dict(gather(cluster, cluster, [], keep=tmp_path / "kept"))
    shown = seen["log of kubelet"].splitlines()
    assert [line for line in shown if line.startswith("== ")] == [head.strip() for head in programs if head]
    assert (len(shown) - heads, shown[-1]) == (lines, "99")
    assert (tmp_path / "kept" / "log-of-kubelet.txt").read_text() + "\n" == cluster.logs()


def test_logs_of_drivers_with_one_name_are_kept_beside_each_other(tmp_path: Path) -> None:
    def driver(text: str) -> Any:
        return SimpleNamespace(name="gpu.example.com", logs=lambda: text)

    cluster: Any = Talkative("")
    gather(cluster, cluster, [driver("one"), driver("two")], keep=tmp_path)
    kept = {file.name: file.read_text() for file in tmp_path.glob("log-of-driver-*")}
    assert kept == {"log-of-driver-gpu.example.com.txt": "one", "log-of-driver-gpu.example.com-2.txt": "two"}


@pytest.mark.parametrize(
    "names",
    [("a[x/y]", "a[x-y]"), ("a[x]", "a[x-]"), ("é" * 200, "é" * 201), ("../../etc/passwd", "etc/passwd")],
)
def test_no_two_things_have_one_file(names: tuple[str, str]) -> None:
    files = [file_name(name) for name in names]
    assert len(set(files)) == 2
    assert all(len(file.encode()) < 200 and "/" not in file and file.strip(".") for file in files)


def test_logs_that_cannot_be_kept_are_no_other_failure(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    cluster: Any = Talkative("")
    seen = dict(gather(cluster, cluster, [], keep=tmp_path / "kept"))
    assert seen["all of the logs"].startswith("this cannot be told: FileExistsError")
    assert seen["log of kubelet"].endswith("\n99")


def test_what_was_had_before_the_api_server_went_away_is_kept() -> None:
    class Leaving(Broken):
        def objects(self, resource: Any, *arguments: Any, **options: Any) -> list[Any]:
            if resource.kind != "Pod":
                raise self._error
            return [{"metadata": {"name": "mine"}, "status": {"phase": "Running"}}]

    leaving: Any = Leaving(ClusterError("gone"))
    (_, objects), *_ = gather(leaving, leaving, [])
    assert objects.splitlines() == ["Pod mine: {phase: Running}", "this cannot be told: ClusterError: gone"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["alone", "workers"])
def test_logs_of_a_cluster_that_does_not_start_are_kept(pytester: pytest.Pytester, options: list[str]) -> None:
    """Its own files go at the end of the run, which is when somebody's CI looks."""
    programs = pytester.mkdir("programs") / "1.37.1"
    programs.mkdir()
    for name in ("etcd", "kube-apiserver", "kube-controller-manager"):
        (programs / name).write_text("#!/bin/sh\nseq 40; exit 3\n")
        (programs / name).chmod(0o700)
    pytester.makepyfile("def test_one(cluster): pass\ndef test_two(cluster): pass\n")
    real = ["--drakit-real", "apiserver,controllers", "--drakit-kubernetes-dir", "programs"]
    result = pytester.runpytest_subprocess(*real, "--drakit-keep-logs", "kept", *options, timeout=100)
    result.assert_outcomes(errors=2)
    (kept,) = pytester.path.glob("kept/*")
    assert result.stdout.str().count(f"its logs are kept in {kept}") >= 2  # with each test
    assert (kept / "logs" / "etcd.log").read_text().endswith("39\n40\n")
    assert "etcd ended with status 3" in (kept / "drakit.log").read_text()
