"""What the user's options of pytest say, where this command has to know it too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from drakit_kind.cluster import ClusterError
from drakit_kind.clusters.backends import Backend

# What a run is about, which page and JUnit XML say too: pytest's option, and that of this command.
_SETTLED = {
    "--drakit-cluster": "--cluster",
    "--drakit-kubernetes-version": "--kubernetes-version",
    "--drakit-feature-gates": "--feature-gates",
    "--drakit-cluster-kubeconfig": "--kubeconfig",
    "--drakit-subject-driver": "--driver",
    "--record": "--output",
    "--junit-xml": "--output",
    "--junitxml": "--output",
}


def with_prefix(options: Sequence[str]) -> tuple[str, ...]:
    """Return pytest's options with those of drakit in long form: the suite is ours, so short names are, too."""
    from drakit_kind.testing.settings.short_names import written_out

    return tuple(written_out(options))


def refuse_settled(options: Sequence[str]) -> None:
    """Raise ``ClusterError`` for options that would silently make a run another one than what is said of it."""
    for option in options:
        if own := _SETTLED.get(option.partition("=")[0]):
            raise ClusterError(f"{option} after --: say it before, with {own} of drakit conformance")


def refuse_ignored(options: Sequence[str], backend: Backend | None) -> None:
    """Raise ``ClusterError`` for options without effect on this backend; None is a cluster that runs already."""
    from drakit_kind.testing.settings.options import OF_KIND, STARTED_WITH

    given = [option.long for option in (*STARTED_WITH, *OF_KIND) if last_of(options, option.long) is not None]
    kinds = {option.long for option in OF_KIND}
    if backend is None and given:
        raise ClusterError(
            f"{given[0]} after --: it is for clusters that are started here; --driver and --kubeconfig judge one that "
            "runs"
        )
    if backend != "kind" and (of_kind := [name for name in given if name in kinds]):
        raise ClusterError(
            f"{of_kind[0]} after --: it is of kind clusters; add --cluster kind before --, or leave it out"
        )


def any_driver_only(options: Sequence[str]) -> list[str]:
    """Make the ``-m`` option that selects the stories about any driver among those that the user has selected.

    It has to be the last one.
    """
    chosen = last_of(options, "-m")
    return ["-m", f"any_driver and ({chosen})" if chosen else "any_driver"]


def last_of(options: Sequence[str], name: str) -> str | None:
    """Return the last value of an option, given as ``--name value``, ``--name=value``, or ``-mvalue``; or None."""
    given = [_value(name, option, following) for option, following in pairwise([*options, ""])]
    return next((value for value in reversed(given) if value is not None), None)


def _value(name: str, option: str, following: str) -> str | None:
    if option == name:
        return following
    if name.startswith("--"):
        return option.removeprefix(f"{name}=") if option.startswith(f"{name}=") else None
    return option.removeprefix(name).removeprefix("=") if option.startswith(name) else None
