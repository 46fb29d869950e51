"""The user's kubeconfig belongs to the user: drakit adds and removes only its own entries."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from drakit_kind.clusters import kubeconfig

SERVER = "http://127.0.0.1:1"


def _entry(name: str = "drakit-a") -> dict[str, object]:
    return kubeconfig.entry(name, SERVER, "secret", None)


def _load(path: Path) -> dict[str, object]:
    loaded: dict[str, object] = yaml.safe_load(path.read_text())
    return loaded


def test_a_new_file_is_private_and_selects_the_cluster(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config"
    kubeconfig.add(path, _entry())
    assert path.stat().st_mode & 0o777 == 0o600
    assert _load(path)["current-context"] == "drakit-a"


def test_entries_of_other_clusters_survive_add_and_remove(tmp_path: Path) -> None:
    path = tmp_path / "config"
    other = kubeconfig.entry("prod", "https://prod.example.com", "t", b"PEM") | {"preferences": {"colors": True}}
    path.write_text(yaml.safe_dump(other))
    kubeconfig.add(path, _entry())
    kubeconfig.remove(path, "drakit-a", SERVER)
    assert _load(path) == other  # with its context selected again


def _start(path: Path, name: str) -> None:
    kubeconfig.add(path, _entry(f"drakit-{name}"), Path(f"/clusters/{name}"))


def _stop(path: Path, name: str, *running: str) -> str:
    return kubeconfig.remove(path, f"drakit-{name}", SERVER, lambda directory: directory.name in running)


def test_without_the_second_cluster_kubectl_uses_the_first_again(tmp_path: Path) -> None:
    path = tmp_path / "config"
    _start(path, "first")
    _start(path, "second")
    assert _stop(path, "second", "first") == "drakit-first"
    assert _load(path)["current-context"] == "drakit-first"


@pytest.mark.parametrize(
    ("started", "stopped", "running", "selected"),
    [
        pytest.param("ab", "ba", "", "prod", id="what was current before all of ours"),
        pytest.param("ab", "ab", "", "prod", id="also if the one between is stopped first"),
        pytest.param("aba", "ab", "b", "prod", id="a cluster that is started again comes after the others"),
        pytest.param("abc", "c", "ab", "drakit-b", id="the one before it"),
        pytest.param("abc", "c", "a", "drakit-a", id="the one before a cluster that was killed"),
        pytest.param("abcc", "c", "ab", "drakit-b", id="one that is continued while it is current"),
    ],
)
def test_the_context_after_down(tmp_path: Path, started: str, stopped: str, running: str, selected: str) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(kubeconfig.entry("prod", "https://prod.example.com", "t", None)))
    for name in started:
        _start(path, name)
    for name in stopped:
        _stop(path, name, *running)
    assert _load(path)["current-context"] == selected


def test_a_context_that_the_user_selected_stays_selected(tmp_path: Path) -> None:
    path = tmp_path / "config"
    _start(path, "a")
    _start(path, "b")
    path.write_text(path.read_text().replace("current-context: drakit-b", "current-context: drakit-a"))
    assert _stop(path, "b", "a") == ""
    assert _load(path)["current-context"] == "drakit-a"


def test_another_running_cluster_of_ours_is_used_where_the_one_before_is_gone(tmp_path: Path) -> None:
    """Never one that is not ours: it may be a production cluster that nobody had selected."""
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(kubeconfig.entry("prod", "https://prod.example.com", "t", None)))
    path.write_text(path.read_text().replace("current-context: prod", "current-context: ''"))
    _start(path, "a")
    path.write_text(path.read_text().replace("current-context: drakit-a", "current-context: ''"))
    _start(path, "b")
    assert _stop(path, "b", "a") == "drakit-a"
    assert _stop(path, "a") == ""
    assert _load(path)["current-context"] == ""


def test_adding_twice_replaces_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "config"
    kubeconfig.add(path, _entry())
    kubeconfig.add(path, kubeconfig.entry("drakit-a", "http://127.0.0.1:2", "secret", None))
    clusters = _load(path)["clusters"]
    assert isinstance(clusters, list)
    assert [item["cluster"]["server"] for item in clusters] == ["http://127.0.0.1:2"]


def test_a_file_that_held_only_this_cluster_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "config"
    kubeconfig.add(path, _entry())
    kubeconfig.remove(path, "drakit-a", SERVER)
    assert not path.exists()


def test_what_another_cluster_of_the_same_name_put_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "config"
    kubeconfig.add(path, _entry())
    another = kubeconfig.entry("drakit-a", "http://127.0.0.1:2", "secret", None)
    kubeconfig.add(path, another)
    kubeconfig.remove(path, "drakit-a", SERVER)
    assert _load(path) == another
    kubeconfig.remove(path, "drakit-a", "http://127.0.0.1:2")
    assert not path.exists()


def test_removing_what_is_not_there_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("# mine\nclusters: []\n")
    kubeconfig.remove(path, "drakit-a", SERVER)
    assert path.read_text() == "# mine\nclusters: []\n"


@pytest.mark.parametrize("text", ["[1, 2]", "a: b: c"], ids=["a list", "not yaml"])
def test_a_file_that_is_no_kubeconfig_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(kubeconfig.KubeconfigError, match="nothing was added"):
        kubeconfig.add(path, _entry())
    assert path.read_text() == text


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    """``KUBECONFIG=/dev/null`` means that there is none; as root the rename would have succeeded."""
    path = tmp_path / "device"
    os.mkfifo(path)
    with pytest.raises(kubeconfig.KubeconfigError, match="not a regular file, so nothing was added"):
        kubeconfig.check(path)
    with pytest.raises(kubeconfig.KubeconfigError, match="not a regular file, so nothing was added"):
        kubeconfig.add(path, _entry())
    assert path.is_fifo()


def test_a_directory_that_cannot_be_written_to_is_found_by_the_check(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "config", tmp_path / "file" / "deeper" / "config"):
        with pytest.raises(kubeconfig.KubeconfigError, match="config"):
            kubeconfig.check(path)
    kubeconfig.check(tmp_path / "new" / "deeper" / "config")
    assert not (tmp_path / "new").exists()


def test_a_symlink_into_a_directory_that_does_not_exist_yet_can_be_added_to(tmp_path: Path) -> None:
    link = tmp_path / "config"
    link.symlink_to(tmp_path / "new" / "config")
    kubeconfig.check(link)
    kubeconfig.add(link, _entry())
    assert link.is_symlink()
    assert _load(tmp_path / "new" / "config")["current-context"] == "drakit-a"


def test_a_symlinked_kubeconfig_stays_a_symlink(tmp_path: Path) -> None:
    target, link = tmp_path / "real", tmp_path / "config"
    link.symlink_to(target)
    kubeconfig.add(link, _entry())
    assert link.is_symlink()
    assert target.exists()


def test_the_last_entry_of_a_symlinked_kubeconfig_takes_the_file_with_it(tmp_path: Path) -> None:
    target, link = tmp_path / "real", tmp_path / "config"
    link.symlink_to(target)
    kubeconfig.add(link, _entry())
    kubeconfig.remove(link, "drakit-a", SERVER)
    assert link.is_symlink()
    assert not target.exists()


_ADD = """
import sys
from pathlib import Path
from drakit_kind.clusters import kubeconfig
input()
for name in sys.argv[2:]:
    kubeconfig.add(Path(sys.argv[1]), kubeconfig.entry(name, "https://127.0.0.1", "token", None))
"""


@pytest.mark.slow
def test_processes_that_add_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config"
    names = [[f"drakit-{process}-{number}" for number in range(10)] for process in range(4)]
    processes = [
        subprocess.Popen([sys.executable, "-c", _ADD, str(path), *mine], stdin=subprocess.PIPE, text=True)
        for mine in names
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.close()
    assert [process.wait(60) for process in processes] == [0, 0, 0, 0]
    assert {context["name"] for context in kubeconfig.load(path)["contexts"]} == {
        name for mine in names for name in mine
    }


def _locked(monkeypatch: pytest.MonkeyPatch, path: Path, then: Callable[[], object] = lambda: None) -> list[bool]:
    """Whether other programs were kept out whenever the file was read; ``then`` is done at that."""
    seen: list[bool] = []
    read = kubeconfig._read

    def reads(file: Path) -> dict[str, Any] | None:
        seen.append(path.with_name(f"{path.name}.lock").exists())
        then()
        return read(file)

    monkeypatch.setattr(kubeconfig, "_read", reads)
    return seen


def test_kubectl_and_kind_are_kept_out_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the file that client-go makes beside the one it was given, which may be a symlink, before it reads it."""
    (tmp_path / "real").mkdir()
    path = tmp_path / "config"
    path.symlink_to(tmp_path / "real" / "config")
    seen = _locked(monkeypatch, path)
    kubeconfig.add(path, _entry())
    kubeconfig.add(path, _entry("drakit-b"))
    kubeconfig.remove(path, "drakit-a", SERVER)
    assert seen == [True, True, True]
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["config", "config", "real"]


def test_who_has_the_lock_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, lock = tmp_path / "config", tmp_path / "config.lock"
    lock.touch()
    other = kubeconfig.entry("prod", "https://prod.example.com", "t", b"PEM")

    def other_ends(_: float) -> None:
        path.write_text(yaml.safe_dump(other))
        lock.unlink()

    monkeypatch.setattr(time, "sleep", other_ends)
    kubeconfig.add(path, _entry())
    assert [each["name"] for each in kubeconfig.load(path)["clusters"]] == ["prod", "drakit-a"]
    assert not lock.exists()


def test_a_lock_that_nobody_takes_away_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """kubectl leaves one when it is killed, and from then on changes nothing either."""
    path, lock = tmp_path / "config", tmp_path / "config.lock"
    kubeconfig.add(path, _entry())
    before = path.read_text()
    lock.touch()
    monkeypatch.setattr(kubeconfig, "_LOCK_SECONDS", 0.0)
    with pytest.raises(kubeconfig.KubeconfigError, match=rf"{lock} .*remove it if no program does"):
        kubeconfig.add(path, _entry("drakit-b"))
    with pytest.raises(kubeconfig.KubeconfigError, match=rf"{lock} .*remove it if no program does"):
        kubeconfig.remove(path, "drakit-a", SERVER)
    assert path.read_text() == before
    assert lock.exists(), "it is another program's"


_KILLED = """
import os, signal, sys
from pathlib import Path
from drakit_kind.clusters import kubeconfig
kubeconfig._read = lambda path: os.kill(os.getpid(), signal.SIGKILL)
kubeconfig.add(Path(sys.argv[1]), {})
"""


@pytest.mark.slow
def test_the_lock_of_a_drakit_that_was_killed_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, lock = tmp_path / "config", tmp_path / "config.lock"
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert lock.exists()
    monkeypatch.setattr(kubeconfig, "_LOCK_SECONDS", 0.0)
    kubeconfig.add(path, _entry())
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_where_directories_have_no_locks_nobody_knows_who_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on some network file systems: the other drakit may live, on another machine."""
    path, lock = tmp_path / "config", tmp_path / "config.lock"
    subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
    monkeypatch.setattr(kubeconfig, "_LOCK_SECONDS", 0.0)
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError))
    with pytest.raises(kubeconfig.KubeconfigError, match=rf"{lock} .*remove it if no program does"):
        kubeconfig.add(path, _entry())
    assert lock.exists()


def test_whoever_is_interrupted_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    path = tmp_path / "config"
    _locked(monkeypatch, path, interrupt)
    with pytest.raises(KeyboardInterrupt):
        kubeconfig.add(path, _entry())
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_half_written_is_taken_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the user's credentials."""
    path = tmp_path / "config"
    with monkeypatch.context() as killed:
        killed.setattr(Path, "replace", lambda *_: None)
        killed.setattr(Path, "unlink", lambda *_, **__: None)
        kubeconfig.write(path, _entry())
    (scratch,) = tmp_path.iterdir()
    assert scratch.stat().st_mode & 0o777 == 0o600
    kubeconfig.add(path, _entry())
    assert list(tmp_path.iterdir()) == [path]


def test_files_of_the_user_beside_it_stay(tmp_path: Path) -> None:
    path, theirs = tmp_path / "config", tmp_path / "config.new"
    theirs.write_text("what I am about to change")
    kubeconfig.add(path, _entry())
    kubeconfig.remove(path, "drakit-a", SERVER)
    assert theirs.read_text() == "what I am about to change"


def test_the_first_file_of_KUBECONFIG_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", ":/a/first:/b/second")
    assert kubeconfig.default_path() == Path("/a/first")
