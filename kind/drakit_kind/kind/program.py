"""Which kind makes a cluster."""

from __future__ import annotations

import shutil
from pathlib import Path

from drakit_kind.cluster import ClusterError, ClusterSpec
from drakit_kind.kubernetes.assets import assets_of


def kind_program(spec: ClusterSpec, named: str | Path | None) -> Path:
    """Return the absolute path of kind: the named one (a path, or a name in PATH), else drakit's build, else PATH's.

    Raises ``ClusterError`` that says what to do if there is none: pytest-kind would download a kind that is years old.
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
