"""What the options of ``drakit cluster up`` say; for a cluster that is there already, what they change of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from drakit_kind.cluster import ClusterError, ClusterSpec, DriverSpec
from drakit_kind.clusters.backends import real_components, refuse_unused_programs, started_components
from drakit_kind.clusters.home import ClusterHome

TPU_NODES = 4
DEFAULT_NODES = 1 + TPU_NODES

# The most that was tried; each takes some 10 MB.
_MOST_DRIVEN_NODES = 1000
# Options whose value is in the spec as it is.
_AS_THEY_ARE = ("name", "version", "emulated_version", "port", "token", "tls", "scheduler")


def spec_of(options: Mapping[str, Any], named: Mapping[str, Any], home: ClusterHome) -> ClusterSpec:
    """Make the spec of the cluster to start; ``named`` are those of the options that the user has given.

    A cluster that an earlier run left in ``home`` is continued: its spec is kept except for the named options. If it
    was never ready, nothing is kept, as its options may be the reason.
    """
    earlier = home.read_spec() if home.was_ready else None
    if earlier is None:
        spec = _changed(ClusterSpec(), options)
    else:
        spec = _changed(earlier, named)
        _refuse_another_api_server(earlier, spec, home)
    _refuse_ignored(spec, named)
    if spec.driven_nodes > _MOST_DRIVEN_NODES:
        raise ClusterError(
            f"--nodes {len(spec.nodes)}: drivers would run on {spec.driven_nodes}, and a cluster takes "
            f"{_MOST_DRIVEN_NODES} of them at most; name fewer with --driver PROFILE@NODE,..., or none with --no-driver"
        )
    return spec


def _changed(spec: ClusterSpec, options: Mapping[str, Any]) -> ClusterSpec:
    from drakit_api.features import parse_gates
    from drakit_embedded.runtime_config import parse as runtime_config_of

    fields = {name: options[name] for name in _AS_THEY_ARE if name in options}
    if "nodes" in options:
        fields["nodes"] = [f"node-{number}" for number in range(1, options["nodes"] + 1)]
    if "feature_gates" in options:
        fields["gates"] = parse_gates(options["feature_gates"])
    if "runtime_config" in options:
        fields["runtime_config"] = runtime_config_of(options["runtime_config"])
    if "backend" in options or "real" in options:
        fields["real"] = real_components(options.get("backend", "embedded"), options.get("real"))
    if not fields.get("real", spec.real):
        fields["kubernetes_dir"] = None  # of the programs that there were before
    if options.get("kubernetes_dir") is not None:
        fields["kubernetes_dir"] = str(options["kubernetes_dir"].absolute())
    changed = replace(spec, **fields)
    return replace(changed, drivers=_drivers(spec, list(changed.nodes), options))


def _drivers(spec: ClusterSpec, nodes: list[str], options: Mapping[str, Any]) -> Sequence[DriverSpec]:
    """Return the drivers that the options name, else those of ``spec``, default ones as for the present nodes.

    A driver that was on all nodes is then on all that there are now.
    """
    if options.get("no_driver"):
        return []
    if options.get("drivers"):
        return [_driver_spec(text, nodes) for text in options["drivers"]]
    # A spec that was read has lists where others have tuples.
    were_default = msgspec.json.encode(spec.drivers) == msgspec.json.encode(_default_drivers(list(spec.nodes)))
    if were_default:
        return _default_drivers(nodes)
    return [_following(driver, list(spec.nodes), nodes) for driver in spec.drivers]


def _following(driver: DriverSpec, before: list[str], nodes: list[str]) -> DriverSpec:
    """Put ``driver`` on all of ``nodes`` if it was on all of ``before``, and its profile can be on that many."""
    if list(driver.nodes) != before:
        return driver
    from drakit_kind.processes.drivers import pools_of

    following = replace(driver, nodes=nodes)
    try:
        pools_of(following)
    except ClusterError:
        return driver
    return following


def _default_drivers(nodes: list[str]) -> list[DriverSpec]:
    tpu = nodes[-TPU_NODES:] if len(nodes) > TPU_NODES else []
    gpu = nodes[: len(nodes) - len(tpu)]
    specs = [DriverSpec(profile="dgx-a100", nodes=gpu)] if gpu else []
    return specs + ([DriverSpec(profile="tpu-v6e-4x4", nodes=tpu)] if tpu else [])


def _driver_spec(text: str, nodes: list[str]) -> DriverSpec:
    profile, _, chosen = text.partition("@")
    return DriverSpec(profile=profile, nodes=chosen.split(",") if chosen else nodes)


def _refuse_another_api_server(earlier: ClusterSpec, spec: ClusterSpec, home: ClusterHome) -> None:
    """Refuse to change between the embedded API server and etcd: all objects would be lost."""
    if ("apiserver" in earlier.real) == ("apiserver" in spec.real):
        return
    theirs = "Kubernetes' own" if "apiserver" in earlier.real else "drakit's own"
    down = f"remove it before with `drakit cluster down{home.option}`, or give another --name"
    way_out = "name another --data-dir" if "--data-dir" in home.option else down
    raise ClusterError(
        f"--cluster, --real: the objects of cluster {earlier.name} in {home.directory} are those of {theirs} API "
        f"server, and no other one can continue with them; leave the option out, or {way_out}"
    )


def _refuse_ignored(spec: ClusterSpec, named: Mapping[str, Any]) -> None:
    """Refuse options of the user that would have no effect."""
    real = named.get("real")
    if real is not None and (unused := sorted(spec.real.difference(started_components(spec)))):
        option = {"scheduler": "--no-scheduler", "kubelet": "--nodes 0"}[unused[0]]
        raise ClusterError(f"--real {real}: with {option} there is no {unused[0]}; leave one of them out")
    refuse_unused_programs(spec)
    if named.get("no_driver") and named.get("drivers"):
        raise ClusterError("--no-driver: with --driver there is one; leave one of them out")
