"""Layers are cut out of one Debian root: whole packages, with all that they need and nothing else."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drakit_images import debian
from drakit_images.debian import PackageFiles
from drakit_kind.cluster import ClusterError, silent
from tests.kind.kind.debian_root import write_root

_SECONDS = 30.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_root(tmp_path / "root.tar")


def _layer(root: Path, *packages: str) -> tuple[list[str], dict[str, tarfile.TarInfo]]:
    stream = io.BytesIO()
    chosen = PackageFiles(root).write_layer(stream, packages)
    stream.seek(0)
    with tarfile.open(fileobj=stream) as layer:
        return chosen, {member.name: member for member in layer}


def test_a_package_comes_with_what_it_depends_on(root: Path) -> None:
    chosen, layer = _layer(root, "iptables")
    assert chosen == ["iptables", "libc6", "libgcc-s1", "libxtables12", "netbase"]
    # libm is loaded by extensions only, and is there because whole packages are.
    assert {name for name, member in layer.items() if member.isreg()} == {
        "etc/protocols",
        "usr/lib/x86_64-linux-gnu/libc.so.6",
        "usr/lib/x86_64-linux-gnu/libm.so.6",
        "usr/lib/xtables/libxt_statistic.so",
        "usr/sbin/xtables-nft-multi",
    }


def test_paths_below_lib_lie_where_the_root_has_them(root: Path) -> None:
    _, layer = _layer(root, "libc6")
    assert layer["lib"].issym()
    assert layer["lib"].linkname == "usr/lib"
    assert not any(name.startswith("lib/") for name in layer)


def test_what_installs_packages_is_left_out_and_compiled_python_is_not(root: Path) -> None:
    chosen, layer = _layer(root, "python3")
    assert chosen == ["libc6", "libgcc-s1", "python3"]
    assert "usr/lib/python3/__pycache__/os.cpython-311.pyc" in layer
    # A compiled module is valid for a source of one time only.
    assert layer["usr/lib/python3/os.py"].mtime == 1_700_000_000


def test_layers_depend_on_the_packages_alone(root: Path, tmp_path: Path) -> None:
    one, two = io.BytesIO(), io.BytesIO()
    PackageFiles(root).write_layer(one, ["iptables", "nftables"])
    PackageFiles(write_root(tmp_path / "other.tar")).write_layer(two, ["nftables", "iptables"])
    assert one.getvalue() == two.getvalue()


def test_a_package_that_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(ClusterError, match="the Debian root has no package systemd"):
        _layer(root, "systemd")


def test_a_tar_that_is_no_debian_root_is_named(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "other.tar", "w") as tar:
        tar.add(__file__, "./etc/other")
    with pytest.raises(ClusterError, match=r"other.tar has no var/lib/dpkg/status; it is no Debian root"):
        _layer(tmp_path / "other.tar", "iptables")


def test_without_root_or_debootstrap_the_error_says_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ClusterError, match=r"only root can make a Debian root.*\$DRAKIT_DEBIAN_ROOT"):
        debian.root_tar(tmp_path, print)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=r"no debootstrap.*apt-get install debootstrap.*\$DRAKIT_DEBIAN_ROOT"):
        debian.root_tar(tmp_path, print)


def test_a_root_of_the_user_is_taken_as_it_is(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("DRAKIT_DEBIAN_ROOT", str(root))
    assert debian.root_tar(tmp_path / "cache", print) == root
    monkeypatch.setenv("DRAKIT_DEBIAN_ROOT", str(tmp_path / "none"))
    with pytest.raises(ClusterError, match=r"\$DRAKIT_DEBIAN_ROOT is .*/none, and there is no such file"):
        debian.root_tar(tmp_path / "cache", print)


def _debootstrap(directory: Path, script: str) -> None:
    directory.mkdir()
    program = directory / "debootstrap"
    # OPTION... SUITE ROOT MIRROR
    program.write_text(f'#!/bin/sh\noptions="$*"\nwhile [ $# -gt 2 ]; do shift; done\nroot=$1\n{script}\n')
    program.chmod(0o755)


@pytest.mark.slow
def test_the_root_is_made_once_and_without_what_a_container_does_not_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    _debootstrap(
        tmp_path / "bin",
        'mkdir "$root"; cd "$root"; mkdir -p etc usr/share/doc/x proc; echo >etc/passwd; echo >usr/share/doc/x/y',
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    file = debian.root_tar(tmp_path / "cache", silent)
    with tarfile.open(file) as tar:
        names = set(tar.getnames())
    assert {"./etc/passwd", "./proc"} <= names
    assert "./usr/share/doc/x/y" not in names
    (tmp_path / "bin" / "debootstrap").unlink()
    assert debian.root_tar(tmp_path / "cache", silent) == file


@pytest.mark.slow
def test_another_recipe_takes_the_place_of_what_nobody_uses_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    _debootstrap(tmp_path / "bin", 'mkdir -p "$root"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    cache = tmp_path / "cache"
    killed = cache / "debian" / "bookworm-of-a-killed-one.root"
    killed.mkdir(parents=True)
    (killed.parent / "bookworm-of-a-killed-one.part").touch()
    made = []
    for packages in (("old",), ("lately",), ("new",)):
        monkeypatch.setattr(debian, "PACKAGES", packages)
        made.append(debian.root_tar(cache, silent))
        if packages == ("old",):
            os.utime(made[0], (0, 0))
    assert {path.name for path in killed.parent.iterdir()} == {"lock", made[1].name, made[2].name}


@pytest.mark.slow
def test_a_root_that_fails_leaves_nothing_but_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    _debootstrap(tmp_path / "bin", 'mkdir -p "$root"; echo "E: no such suite"; exit 1')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(ClusterError, match="debootstrap failed with status 1: E: no such suite; all of it is in"):
        debian.root_tar(tmp_path / "cache", silent)
    assert sorted(path.suffix for path in (tmp_path / "cache" / "debian").iterdir()) == ["", ".log"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "said",
    [
        "W: Cannot check Release signature; keyring file not available /usr/share/keyrings/debian-archive-keyring.gpg\n"
        "E: Keyring-based check was requested; aborting accordingly",
        "E: Release signed by unknown key (key id F8D2585B8783D481)\n"
        "   The specified keyring /usr/share/keyrings/debian-archive-keyring.gpg may be incorrect or out of date.\n"
        "   You can find the latest Debian release key at https://ftp-master.debian.org/keys.html",
    ],
    ids=["no keyring", "an old keyring"],
)
def test_packages_that_cannot_be_checked_are_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """Their scripts run as root, and come over HTTP; by itself debootstrap would only warn of a missing keyring."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    check = 'case " $options " in *" --force-check-gpg "*) echo "$said"; exit 1 ;; esac; mkdir "$root"'
    _debootstrap(tmp_path / "bin", f"said='{said}'\n{check}")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with pytest.raises(ClusterError, match=r"debootstrap failed .*`apt-get install debian-archive-keyring`; all of it"):
        debian.root_tar(tmp_path / "cache", silent)


@pytest.fixture
def _mounts(tmp_path: Path) -> Iterator[None]:
    """For who may mount: nothing stays mounted below the test's directory, whatever it does."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs root that may mount")
    yield
    for mounted in _mounted_below(tmp_path):
        subprocess.run(["umount", "--lazy", mounted], check=True)


def _mounted_below(directory: Path) -> list[Path]:
    lines = Path("/proc/self/mounts").read_text().splitlines()
    return [path for line in lines if (path := Path(line.split()[1])).is_relative_to(directory.resolve())]


_KILLED = """
import sys
from pathlib import Path
from drakit_kind.cluster import silent
from drakit_images import debian
debian.root_tar(Path(sys.argv[1]), silent)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("_mounts")
def test_what_debootstrap_has_mounted_goes_with_it_also_when_it_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounting = 'mkdir -p "$root/proc"; mount -t tmpfs drakit-test "$root/proc"'
    _debootstrap(tmp_path / "bin", f"{mounting}; touch {tmp_path}/mounted; exec cat {tmp_path}/fifo")
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with subprocess.Popen([sys.executable, "-c", _KILLED, str(tmp_path / "cache")]) as build:
        deadline = time.monotonic() + _SECONDS
        while not (tmp_path / "mounted").exists():
            assert time.monotonic() < deadline
            assert build.poll() is None
            time.sleep(0.02)
        build.kill()
    assert _mounted_below(tmp_path) == []


@pytest.mark.slow
@pytest.mark.usefixtures("_mounts")
def test_what_is_mounted_in_an_unfinished_root_is_not_emptied_although_the_cache_is_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As debootstrap of an earlier drakit left it, and its bind mounts are directories of the machine."""
    _debootstrap(tmp_path / "bin", 'mkdir "$root"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    machine, mounted = tmp_path / "machine", tmp_path / "disk" / "debian" / "killed.root" / "proc"
    for directory in (machine, mounted):
        directory.mkdir(parents=True)
    (machine / "file").touch()
    subprocess.run(["mount", "--bind", machine, mounted], check=True)
    (tmp_path / "cache").symlink_to("disk")
    debian.root_tar(tmp_path / "cache", silent)
    assert (machine / "file").exists()
    assert not mounted.parent.exists()
