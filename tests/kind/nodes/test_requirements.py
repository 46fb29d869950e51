"""What a machine lacks is said at once and completely, before anything is done to it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.flags import PROGRAMS
from drakit_kind.nodes import busybox, cgroups, tools
from drakit_kind.nodes.requirements import check_machine


class Nothing:
    """A directory without any binary."""

    def path(self, name: str) -> Path:
        raise ClusterError(f"there is no {name}; build it")


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_other_users_than_root_are_sent_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match=r"real nodes need root, .* or use simulated ones"):
        check_machine(Nothing(), tmp_path, nodes=1)


def test_other_systems_than_linux_are_sent_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(ClusterError, match="real nodes run on Linux only"):
        check_machine(Nothing(), tmp_path, nodes=1)


def test_there_are_addresses_for_so_many_nodes_only(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="256 real nodes are too many for one machine: at most 255"):
        check_machine(Nothing(), tmp_path, nodes=256)


def test_all_that_is_missing_is_listed(root: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "_SBIN", ())
    monkeypatch.setattr(cgroups, "hierarchies", list)
    with pytest.raises(ClusterError) as error:
        check_machine(Nothing(), tmp_path / "home", nodes=1)
    said = str(error.value)
    assert (
        "\n- there is no `runc`, `ip`, `mount`, `umount`, `unshare`, `nsenter`, `cat` in PATH; "
        "in Debian: `apt-get install runc iproute2 mount util-linux coreutils`\n"
    ) in said
    for name in PROGRAMS["kubelet"]:
        assert f"\n- there is no {name}; build it" in said
    assert "\n- no cgroups are mounted below /sys/fs/cgroup" in said


def test_nothing_is_downloaded_for_a_machine_that_lacks_something_else(
    root: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before, the download came first, and those who had no Kubernetes waited for it."""
    for name in ("apt-get", "dpkg-deb"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(busybox.VARIABLE, raising=False)
    told: list[str] = []
    with pytest.raises(ClusterError) as error:
        check_machine(Nothing(), tmp_path / "home", nodes=1, report=told.append)
    assert "busybox" not in str(error.value)
    assert told == []


def test_tools_are_found_where_administrators_have_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Debian's `su` and cron jobs have no sbin in PATH."""
    (tmp_path / "ip").write_text("#!/bin/sh\n")
    (tmp_path / "ip").chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(tools, "_SBIN", (str(tmp_path),))
    assert tools.tool("ip") == str(tmp_path / "ip")
    assert tools.search_path() == f"/nowhere:{tmp_path}"


@pytest.mark.slow
def test_what_a_tool_complains_about_is_passed_on() -> None:
    with pytest.raises(ClusterError, match=r"`\S*/cat /none` failed with status 1: .*No such file"):
        tools.run("cat", "/none")
