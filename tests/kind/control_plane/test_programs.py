"""What the programs of a control plane are told, as files of theirs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.control_plane import programs
from drakit_kind.local.real_control_plane import ControlPlane


def _no_binaries(version: str) -> programs.Binaries:
    raise ClusterError(f"no binaries of {version}")


@pytest.mark.parametrize("token", ["plain", "a,b", 'with"quote', 'a,b,"system:nodes"'])
def test_a_token_opens_the_api_server_whatever_is_in_it(tmp_path: Path, token: str) -> None:
    """The file is CSV; a comma in a token must not make it another token, of another user."""
    plane = ControlPlane(ClusterSpec(token=token, port=6443), ClusterHome(tmp_path), _no_binaries)
    with programs.token_file(plane.site("apiserver", plane.access)).open(newline="") as file:
        first, *others = list(csv.reader(file))
    assert first == [token, "drakit-admin", "drakit-admin", "system:masters"]
    assert [line[1:] for line in others] == [[user, user] for user in (programs.CONTROLLER_MANAGER, programs.SCHEDULER)]
