"""Which kind makes a cluster."""

from __future__ import annotations

import shutil
from pathlib import Path

from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.kubernetes.assets import assets_of


def kind_program(spec: ClusterSpec, named: str | Path | None) -> Path:
    """The absolute path of the kind that is named (a path, or a name in PATH), else drakit's own build, else PATH's.

    Raises ``ClusterError`` with the way out where there is none: what does not exist pytest-kind would download, as a
    kind that is years old.
    """
    if named is not None:
        if (program := shutil.which(str(named))) is None:
            raise ClusterError(
                f"--drakit-kind-bin {named}: there is no program of this name; name another, or leave the option out: "
                "then it is drakit's build or the kind in PATH"
            )
        return Path(program).absolute()
    assets = assets_of(spec, spec.version)
    if (built := assets.find("kind")) is not None:
        return built
    if (program := shutil.which("kind")) is None:
        raise ClusterError(
            f"there is no kind in PATH; install it, or name one with --drakit-kind-bin; or {assets.remedy('kind')}"
        )
    return Path(program).absolute()
