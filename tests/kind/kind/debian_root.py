"""A Debian root as debootstrap makes it, of a few packages of a few files."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

# package: (what it depends on, its paths as dpkg lists them)
_PACKAGES = {
    "iptables": ("libxtables12 (>= 1.8), netbase", ["/.", "/usr", "/usr/sbin", "/usr/sbin/xtables-nft-multi"]),
    "libxtables12": ("libc6 (>= 2.34)", ["/usr/lib/xtables", "/usr/lib/xtables/libxt_statistic.so"]),
    "netbase": ("", ["/etc/protocols"]),
    "libc6": ("libgcc-s1 | libgcc1", ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"]),
    "libgcc-s1": ("", ["/usr/share/doc/libgcc-s1/copyright"]),
    "python3": ("dpkg, libc6", ["/usr/bin/python3", "/usr/lib/python3/os.py"]),
    "nftables": ("", ["/usr/sbin/nft"]),
    "conntrack": ("", ["/usr/sbin/conntrack"]),
    "kmod": ("", ["/usr/bin/kmod"]),
    "dpkg": ("tar", ["/usr/bin/dpkg"]),
    "tar": ("", ["/usr/bin/tar"]),
    "libstdc++6": ("libc6", ["/usr/lib/x86_64-linux-gnu/libstdc++.so.6"]),
}
_DIRECTORIES = ("usr", "usr/bin", "usr/sbin", "usr/lib", "usr/lib/xtables", "usr/lib/python3", "etc")


def write_root(file: Path) -> Path:
    """Write the root to ``file``; documentation is left out of it, as of the real one."""
    with tarfile.open(file, "w") as tar:
        for path in (".", *(f"./{name}" for name in _DIRECTORIES)):
            _add(tar, path, tarfile.DIRTYPE, mode=0o755)
        for name in ("bin", "lib", "sbin"):
            _add(tar, f"./{name}", tarfile.SYMTYPE, link=f"usr/{name}")
        _add_file(tar, "./var/lib/dpkg/status", _status())
        for package, (_, paths) in _PACKAGES.items():
            suffix = ":amd64" if package.startswith("lib") else ""
            _add_file(tar, f"./var/lib/dpkg/info/{package}{suffix}.list", "\n".join(paths) + "\n")
            for path in paths:
                below_usr = path.replace("/lib/", "/usr/lib/", 1) if path.startswith("/lib/") else path
                name = f".{below_usr}"
                if name[2:] not in (*_DIRECTORIES, "") and "/share/doc/" not in name:
                    _add_file(tar, name, f"contents of {path}")
        _add_file(tar, "./usr/lib/python3/__pycache__/os.cpython-311.pyc", "compiled")
        _add_file(tar, "./usr/lib/systemd/system/multi-user.target.wants/getty.target", "")
    return file


def _status() -> str:
    paragraphs = [
        f"Package: {name}\nStatus: install ok installed\n" + (f"Depends: {needs}\n" if needs else "")
        for name, (needs, _) in _PACKAGES.items()
    ]
    return "\n".join(paragraphs)


def _add_file(tar: tarfile.TarFile, path: str, text: str) -> None:
    info = tarfile.TarInfo(path)
    info.size, info.mode, info.mtime = len(text), 0o755, 1_700_000_000
    tar.addfile(info, io.BytesIO(text.encode()))


def _add(tar: tarfile.TarFile, path: str, kind: bytes, *, mode: int = 0o777, link: str = "") -> None:
    info = tarfile.TarInfo(path)
    info.type, info.mode, info.linkname, info.mtime = kind, mode, link, 1_700_000_000
    tar.addfile(info)
