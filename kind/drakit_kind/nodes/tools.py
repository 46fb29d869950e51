"""Programs of the machine that real nodes use."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from drakit_kind.cluster import ClusterError
from drakit_kind.processes.command_output import output

# Each with the Debian package that has it.
TOOLS = {
    "runc": "runc",
    "ip": "iproute2",
    "mount": "mount",
    "umount": "mount",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "cat": "coreutils",
}
_SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_SECONDS = 30.0


def tool(name: str) -> str:
    """Return the absolute path of a program; raise ``ClusterError`` that names its Debian package if it is missing."""
    found = shutil.which(name, path=search_path())
    if found is None:
        raise ClusterError(f"there is no `{name}` in PATH; install {TOOLS.get(name, name)} (so it is called in Debian)")
    return str(Path(found).absolute())


def missing() -> str:
    """Say which packages to install for programs that are missing; "" if none are."""
    lacking = [name for name in TOOLS if shutil.which(name, path=search_path()) is None]
    if not lacking:
        return ""
    packages = " ".join(dict.fromkeys(TOOLS[name] for name in lacking))
    return f"there is no {', '.join(f'`{name}`' for name in lacking)} in PATH; in Debian: `apt-get install {packages}`"


def search_path() -> str:
    """Return ``$PATH`` with the directories of administrators, which it lacks in cron jobs and after ``su``."""
    given = os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin").split(os.pathsep)
    return os.pathsep.join([*given, *(path for path in _SBIN if path not in given)])


def run(name: str, *arguments: str) -> str:
    """Run a program and return its output; raise ``ClusterError`` with its error message if it fails."""
    return output([tool(name), *arguments], timeout=_SECONDS)
