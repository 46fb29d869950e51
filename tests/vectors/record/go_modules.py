"""The Go modules of the recorders, with the modules of any Kubernetes version that drakit has pinned.

Their own go.mod names those of one version. For another one a copy is made whose Kubernetes modules, and the CEL below
them, are those that ``kind/kubernetes/<version>/go.mod`` names.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from drakit_kind.cluster import ClusterError
from drakit_kind.kubernetes.releases import checked_version, modules_directory

HERE = Path(__file__).parent
# What decides about an answer; all else is as in the recorder's go.mod, or newer where these need it.
_REQUIREMENT = re.compile(
    r"^(?P<head>(?:require )?\s*(?P<path>(?:sigs\.)?k8s\.io/\S+|github\.com/google/cel-go)) v\S+", re.M
)
_PINNED = re.compile(r"^\s*(?:require )?(?P<path>\S+) (?P<version>v\S+)", re.M)


def release_of(version: str) -> Path:
    """The directory of a pinned version. Raises ``ClusterError`` that says how to pin another one."""
    found = modules_directory() / checked_version(version)
    if not (found / "go.mod").is_file():
        raise ClusterError(
            f"Kubernetes {version} is not pinned here; do that first: `python -m drakit_kind.kubernetes.pin {version}`"
        )
    return found


def at_release(go_mod: str, release: str) -> str:
    """The text of a go.mod with the Kubernetes modules of another, which is that of a release."""
    pinned = {match["path"]: match["version"] for match in _PINNED.finditer(release)}
    return _REQUIREMENT.sub(lambda match: f"{match['head']} {pinned.get(match['path'], match[0].split()[-1])}", go_mod)


@contextmanager
def module_of(recorder: str, version: str) -> Iterator[Path]:
    """Where to run a recorder, e.g. ``cel``, for a Kubernetes version; a copy is removed at the end."""
    source, release = HERE / recorder, release_of(version)
    written = (source / "go.mod").read_text()
    wanted = at_release(written, (release / "go.mod").read_text())
    if wanted == written:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="drakit-record-") as directory:
        copy = Path(directory)
        shutil.copytree(source, copy, dirs_exist_ok=True)
        (copy / "go.mod").write_text(wanted)
        (copy / "go.sum").write_text((source / "go.sum").read_text() + (release / "go.sum").read_text())
        yield copy
