"""Which components a cluster on this machine has, and which are real in which backend."""

from __future__ import annotations

import os
from typing import Literal, cast, get_args

from drakit_kind.cluster import COMPONENTS, ClusterError, ClusterSpec, Component

Local = Literal["embedded", "binaries"]
LOCAL: tuple[Local, ...] = get_args(Local)
Backend = Literal["embedded", "binaries", "kind"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)

_CONTROL_PLANE: frozenset[Component] = frozenset({"apiserver", "controllers", "scheduler"})


def real_components(backend: Backend, chosen: str | None = None, *, option: str = "--real") -> frozenset[Component]:
    """Return the components that are Kubernetes' own programs.

    ``chosen`` is a list as of ``--real apiserver,controllers``; None is the backend's own choice: none for
    ``embedded``; for ``binaries`` the control plane, and for root, which containers need, kubelets; for ``kind`` all.
    Raises ``ClusterError``, with the name of the ``option``, for a component that does not exist.
    """
    if chosen is not None:
        return _parsed(chosen, option)
    if backend == "embedded":
        return frozenset()
    if backend == "kind":
        return frozenset(COMPONENTS)
    return _CONTROL_PLANE | ({"kubelet"} if os.geteuid() == 0 else frozenset())


def _parsed(text: str, option: str) -> frozenset[Component]:
    names = {name.strip() for name in text.split(",") if name.strip()}
    if unknown := sorted(names - set(COMPONENTS)):
        raise ClusterError(f"{option} {text}: there is no component {unknown[0]!r}; use {', '.join(COMPONENTS)}")
    return frozenset(cast("set[Component]", names))


def refuse_unused_programs(spec: ClusterSpec, *, prefix: str = "--") -> None:
    """Raise ``ClusterError`` if a directory of Kubernetes' programs is named and all components are drakit's own.

    ``prefix`` is what the options in the message begin with, e.g. ``--drakit-``.
    """
    if spec.kubernetes_dir and not spec.real:
        raise ClusterError(
            f"{prefix}kubernetes-dir: all components are drakit's own; "
            f"say with {prefix}cluster binaries or {prefix}real which are not"
        )


def started_components(spec: ClusterSpec) -> list[Component]:
    """List what a cluster on this machine starts: no scheduler where none is wanted, no kubelets without nodes."""
    left_out = {"scheduler": not spec.scheduler, "kubelet": not spec.nodes}
    return [component for component in COMPONENTS if not left_out.get(component)]
