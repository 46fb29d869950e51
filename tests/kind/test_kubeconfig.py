"""The user's kubeconfig belongs to the user: drakit adds and removes only its own entries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from drakit_kind import kubeconfig

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
    assert _load(path) == {**other, "current-context": ""}


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
from drakit_kind import kubeconfig
input()
for name in sys.argv[2:]:
    kubeconfig.add(Path(sys.argv[1]), kubeconfig.entry(name, "https://127.0.0.1", "token", None))
"""


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


def test_the_first_file_of_KUBECONFIG_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", ":/a/first:/b/second")
    assert kubeconfig.default_path() == Path("/a/first")
