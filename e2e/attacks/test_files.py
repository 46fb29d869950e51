"""Files that somebody puts where components look for their own: none is waited for, followed or believed."""

from __future__ import annotations

import os
import random
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drakit_client.resources import PODS
from drakit_driver.preparing.checkpoint import Checkpoint, PreparedClaim
from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.manifests import claim, pod
from e2e.attacks.victim import Victim

Rounds = Callable[[], Iterator[int]]


def _link(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _deep(path: Path) -> None:
    path.write_text("[" * 200_000)


def _deep_lists(path: Path) -> None:
    path.write_text("- " * 50_000)


def _aliases(path: Path) -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60))]
    path.write_text("\n".join(lines))


def _large(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**34)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def _uid_that_is_a_path(path: Path) -> None:
    """A checkpoint that is whole, but for a UID that no claim has."""
    uid = "../../elsewhere"
    prepared = PreparedClaim(uid=uid, namespace="default", name="mine", state="prepared", devices=[])
    Checkpoint(path.parent).save({uid: prepared})


_TRAPS: tuple[Callable[[Path], None], ...] = (
    os.mkfifo,
    Path.mkdir,
    _link,
    _deep,
    _deep_lists,
    _aliases,
    _large,
    _socket,
)


def _node(victim: Victim) -> Path:
    return victim.cluster.home.nodes / victim.cluster.spec.nodes[0]


def test_nothing_in_the_cdi_directory_keeps_pods_waiting(
    victim: Victim, attack_random: random.Random, rounds: Rounds
) -> None:
    cdi = _node(victim) / "cdi"
    for number in rounds():
        trap = attack_random.choice(_TRAPS)
        trap(cdi / f"{attack_random.choice('az')}{number}.{attack_random.choice(['json', 'yaml'])}")
        noise = attack_random.randbytes(attack_random.randrange(5000))
        (cdi / f"noise-{number}.{attack_random.choice(['json', 'yaml'])}").write_bytes(noise)
        victim.must_be_unharmed()
    # And once more with all that the rounds did not choose.
    for index, trap in enumerate(_TRAPS):
        for suffix in ("json", "yaml"):
            trap(cdi / f"t{index}.{suffix}")
    victim.must_be_unharmed()
    assert len(victim.slow_answers()) <= 2


def test_a_spec_that_containerd_would_refuse_is_told_at_the_pod(victim: Victim) -> None:
    """The container is started again and again, and at some moment its spec is spoilt."""
    restarted = pod("again", "small", restartPolicy="Always")
    restarted["metadata"]["annotations"] = {"drakit.dev/exit-after": "200ms"}
    victim.api.create(claim("small", victim.gpus.partition("1g.5gb")), restarted)
    (spec,) = _wait_for_spec(victim)
    spec.write_text(
        spec.read_text().replace('"cdiVersion": "0.5.0"', '"cdiVersion": "0.5.0", "surprise": ' + "[" * 9 + "]" * 9)
    )
    victim.api.wait_event("again", "Failed", containing="CDI device injection failed: unresolvable CDI devices")
    victim.api.delete(PODS, "again")
    victim.api.wait_gone(PODS, ["again"])


def _wait_for_spec(victim: Victim) -> list[Path]:
    victim.api.wait(PODS, "again", lambda item: bool(item["status"].get("containerStatuses")))
    victim.api.wait_event("again", "Started")
    return list((_node(victim) / "cdi").glob("*.json"))


@pytest.mark.parametrize(
    ("name", "trap"),
    [
        ("checkpoint.json", os.mkfifo),
        ("checkpoint.json", _link),
        ("checkpoint.json", _deep),
        ("checkpoint.json", _uid_that_is_a_path),
        ("instance.lock", Path.mkdir),
        ("instance.lock", _link),
    ],
)
def test_a_driver_that_finds_no_file_of_its_own_says_so(
    victim: Victim, name: str, trap: Callable[[Path], None]
) -> None:
    data = _node(victim) / "plugins" / victim.driver.name
    victim.driver.stop()
    shutil.rmtree(data)
    data.mkdir(mode=0o700)
    trap(data / name)
    with pytest.raises(ClusterError, match=rf"{name}.*(regular file|damaged)"):
        victim.driver.start()
    shutil.rmtree(data)
    victim.driver.start()


def test_a_linked_data_file_is_left_as_it_is(victim: Victim, tmp_path: Path) -> None:
    (target := tmp_path / "diary").write_text("mine")
    target.chmod(0o644)
    (tmp_path / "store.sqlite").symlink_to(target)
    command = [sys.executable, "-P", "-m", "drakit_kind", "apiserver", "run", "--data-file", f"{tmp_path}/store.sqlite"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 1
    assert "store.sqlite is a symbolic link, not a regular file" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("mine", 0o644)
