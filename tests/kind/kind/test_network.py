"""kind's Docker network goes with the last of our clusters if one of them brought it, and else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from drakit_kind.kind import network
from tests.kind.kind.fake_docker import FakeDocker

pytestmark = pytest.mark.slow


class Daemon:
    """What a fake docker says of the network ``kind``: its id, or that there is none, and who is in it."""

    def __init__(self, fake: FakeDocker) -> None:
        self._fake = fake
        self.has(None)

    def has(self, network: str | None, *, containers: str = "") -> None:
        self._fake.answers(f"""case "$*" in
"network ls "*) echo {network or ""};;
"ps --all --quiet --filter network="*) echo {containers};;
esac""")

    @property
    def removed(self) -> list[str]:
        return [call for call in self._fake.calls if call.startswith("network rm")]


@pytest.fixture
def daemon(fake: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    monkeypatch.setenv("DRAKIT_CACHE", str(tmp_path / "cache"))
    for name in "ab":
        (tmp_path / name).mkdir()
    return Daemon(fake)


def test_it_goes_with_the_only_cluster(daemon: Daemon, tmp_path: Path) -> None:
    network.note_if_new(tmp_path / "a")
    daemon.has("id1")
    network.release(tmp_path / "a")
    assert daemon.removed == ["network rm id1"]


@pytest.mark.parametrize("order", ["ab", "ba"], ids=["the first one ends first", "the second one ends first"])
def test_of_clusters_that_overlap_it_goes_with_the_last(daemon: Daemon, tmp_path: Path, order: str) -> None:
    network.note_if_new(tmp_path / "a")
    daemon.has("id1")
    network.note_if_new(tmp_path / "b")
    daemon.has("id1", containers="of-the-other")
    network.release(tmp_path / order[0])
    assert daemon.removed == []
    daemon.has("id1")
    network.release(tmp_path / order[1])
    assert daemon.removed == ["network rm id1"]


def test_a_users_own_stays(daemon: Daemon, tmp_path: Path) -> None:
    """Also if drakit's kind once made one, and another is there since."""
    network.note_if_new(tmp_path / "a")
    daemon.has("id1", containers="of-the-user")
    network.release(tmp_path / "a")
    daemon.has("id2")
    network.release(tmp_path / "a")  # who stops a cluster twice owns nothing the second time
    network.note_if_new(tmp_path / "b")
    network.release(tmp_path / "b")
    assert daemon.removed == []
