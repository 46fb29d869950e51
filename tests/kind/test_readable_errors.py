"""What is wrong outside of drakit is said in the words of a user, not of a program."""

from __future__ import annotations

import subprocess
import sys

import aiohttp
import click
import pytest

from drakit_client.errors import ApiError, ConfigurationError
from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.api import WaitTimeout
from drakit_kind.clusters.readable_errors import readable_errors
from tests.kind.drakit_command import Drakit


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ClusterError("cluster red does not run"), "cluster red does not run"),
        (FileNotFoundError(2, "No such file or directory", "/data"), "/data: No such file or directory"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (TimeoutError(), "no answer in time"),
        (ConfigurationError("config: no current-context"), "config: no current-context"),
        (ApiError(403, {"message": "resourceslices is forbidden"}), "resourceslices is forbidden"),
        (aiohttp.ServerDisconnectedError(), "Server disconnected"),
        (aiohttp.ClientPayloadError(), "ClientPayloadError"),
        (WaitTimeout("Pod a was not Running after 30 s"), "Pod a was not Running after 30 s"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_a_user_can_mend_is_told_without_a_traceback(error: Exception, says: str) -> None:
    with pytest.raises(click.ClickException) as told, readable_errors():
        raise error
    assert told.value.message == says


def test_what_went_wrong_after_it_is_told_after_it() -> None:
    error = ClusterError("etcd ended")
    error.add_note("the bridge is busy")
    with pytest.raises(click.ClickException) as told, readable_errors():
        raise error
    assert told.value.message == "etcd ended\nthe bridge is busy"


@pytest.mark.parametrize("error", [KeyError("x"), AssertionError("never"), BrokenPipeError()], ids=repr)
def test_what_is_wrong_in_drakit_itself_keeps_its_traceback(error: Exception) -> None:
    with pytest.raises(type(error)), readable_errors():
        raise error


@pytest.mark.slow
def test_judging_a_driver_of_a_cluster_that_no_kubeconfig_names_is_one_line(drakit: Drakit) -> None:
    refused = drakit("conformance", "--driver", "gpu.example.com", code=2)
    assert len(refused.stderr.splitlines()) == 1
    assert "/config: there is no such file" in refused.stderr


@pytest.mark.slow
def test_a_command_that_succeeds_does_not_pay_for_the_errors_of_others() -> None:
    code = "import sys, drakit_kind.cli.cluster.commands; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
