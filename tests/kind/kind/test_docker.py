"""docker through its command: what fails is one readable line."""

from __future__ import annotations

from pathlib import Path

import pytest

from drakit_kind.cluster import ClusterError
from drakit_kind.kind.docker import check_daemon, docker, image_labels
from drakit_kind.processes.command_output import output
from tests.kind.kind.fake_docker import FakeDocker

pytestmark = pytest.mark.slow


def test_a_failure_is_what_docker_said_last(fake: FakeDocker) -> None:
    fake.answers("echo first >&2; echo second >&2; echo third >&2; echo no such thing >&2; exit 1")
    with pytest.raises(
        ClusterError, match=r"`docker rm x y \.\.\.` failed with status 1: second / third / no such thing$"
    ):
        docker("rm", "x", "y", "z")


def test_a_call_that_does_not_end_is_bounded(fake: FakeDocker) -> None:
    fake.answers("exec sleep 30")
    with pytest.raises(ClusterError, match=r"`docker pull x` did not end within 0 s"):
        docker("pull", "x", timeout=0.2)


def test_what_is_given_on_stdin_arrives(fake: FakeDocker, tmp_path: Path) -> None:
    fake.answers("cat")
    assert docker("load", stdin=b"archive") == "archive"
    (tmp_path / "file").write_bytes(b"from a file")
    with (tmp_path / "file").open("rb") as stream:
        assert docker("load", stdin=stream) == "from a file"


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ClusterError, match="there is no 'no-such-program' in PATH; install it"):
        output(["no-such-program", "version"], timeout=1)


@pytest.mark.parametrize(
    ("script", "labels"),
    [
        ("""echo '{"a": "b"}'""", {"a": "b"}),
        ("echo null", {}),
        ("echo 'Error response from daemon: No such image: x' >&2; exit 1", None),
    ],
    ids=["labels", "none", "no image"],
)
def test_labels_of_an_image(fake: FakeDocker, script: str, labels: dict[str, str] | None) -> None:
    fake.answers(script)
    assert image_labels("x") == labels


def test_a_daemon_that_does_not_answer_is_no_missing_image(fake: FakeDocker) -> None:
    fake.answers("echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    with pytest.raises(ClusterError, match="Cannot connect"):
        image_labels("x")


@pytest.mark.parametrize(
    ("said", "way_out"),
    [
        ("Cannot connect to the Docker daemon at unix:///s. Is the docker daemon running?", ".ci/docker start"),
        ("failed to connect to the docker API at unix:///s; check if the daemon is running", ".ci/docker start"),
        ("permission denied while trying to connect to the Docker daemon socket at unix:///s", "--groups docker USER"),
        ("tls: failed to verify certificate", "docker context ls"),
    ],
)
def test_without_an_answer_the_error_says_the_way_out(fake: FakeDocker, said: str, way_out: str) -> None:
    fake.answers(f"echo '{said}' >&2; exit 1")
    with pytest.raises(ClusterError) as raised:
        check_daemon()
    text = str(raised.value)
    assert said in text
    ways = {way for way in (".ci/docker start", "--groups docker USER", "docker context ls") if way in text}
    assert ways == {way_out}
