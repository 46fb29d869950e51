"""What components print when they start is read as their version, and nothing else of their logs is."""

from __future__ import annotations

import pytest

from drakit_kind.cluster import COMPONENTS, Component
from e2e.matrix import versions

_LOG = """\
I1122 13:00:00.100000    4242 options.go:263] external host was not specified, using 127.0.0.1
I1122 13:00:00.100001    4242 server.go:151] Version: v1.36.3
I1122 13:00:00.100002    4242 server.go:153] "Golang settings" GOGC="" GOMAXPROCS="" GOTRACEBACK=""
I1122 13:00:00.100003    4242 controllermanager.go:204] "Starting" version="v1.36.3"
I1122 13:00:00.100004    4242 server.go:187] "Starting Kubernetes Scheduler" version="v1.36.3"
I1122 13:00:00.100005    4242 server.go:545] "Kubelet version" kubeletVersion="v1.36.3"
I1122 13:00:00.100006    4242 other.go:1] "Something else" version="v9.9.9"
"""


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_last_start_counts(component: Component) -> None:
    assert versions.last_started(component, _LOG) == "1.36.3"
    assert versions.last_started(component, _LOG + _LOG.replace("v1.36.3", "v1.37.1")) == "1.37.1"
    assert versions.last_started(component, "2026-11-22 13:13:59,627 I drakit: scheduler started\n") is None


@pytest.mark.parametrize("component", COMPONENTS)
def test_each_start_is_a_line_of_its_own_time(component: Component) -> None:
    real = versions.starts(component, _LOG)
    assert len(real) == 1
    assert len(versions.starts(component, _LOG + _LOG.replace("13:00:00", "13:00:09"))) == 2
    ours = f"2026-11-22 13:13:59,627 I drakit: {component} started\n"
    assert versions.starts(component, _LOG + ours) - real == {ours.rstrip()}
    assert versions.starts(component, f"2026-11-22 13:13:59,627 I drakit: {component} restarted\n") == set()


@pytest.mark.parametrize(
    ("version", "minor", "expected"), [("1.37.1", "1.37", True), ("1.36.3", "1.37", False), ("1.100.0", "1.37", True)]
)
def test_minor_versions_are_numbers(version: str, minor: str, expected: bool) -> None:
    assert versions.is_at_least(version, minor) == expected
