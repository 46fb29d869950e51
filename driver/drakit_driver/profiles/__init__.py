"""What hardware to pretend to have: a name such as ``dgx-a100`` or ``tpu-v6e-4x4`` in, pools and classes out.

Data enters from ``mig.yaml`` and ``boards.yaml`` in this folder, from the rules in ``tpu.py``, or from an author's
file; it leaves as ``drakit_api.layouts.pools.Pool`` for the publisher, and as DeviceClass objects for the cluster.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from drakit_api.layouts.fields import driver_name as checked_driver_name
from drakit_api.layouts.fields import pool_name as checked_pool_name
from drakit_api.layouts.fields import subdomain
from drakit_api.layouts.pools import Object, Pool, PoolError
from drakit_driver.profiles import layout as layout_files
from drakit_driver.profiles import mig, tpu

LAYOUT = "layout"
_LAYOUT_SUMMARY = "Your own devices: a YAML file with or without mixins (docs/layouts.md)"
# Nobody builds larger machines, and a typing error should not publish a thousand slices.
_MOST_GPUS = 64


@dataclass(frozen=True, slots=True)
class Profile:
    """A name that ``build`` knows. ``nodes`` is how many nodes one pool spans; the default driver is the real one's."""

    name: str
    kind: Literal["mig", "tpu", "layout"]
    summary: str
    driver: str
    model: str = ""
    gpus: int = 1
    topology: tpu.Topology = (0, 0)
    nodes: int = 1


def profiles() -> dict[str, Profile]:
    """All profiles by name, in the order in which they are worth listing."""
    found = [
        Profile(model, "mig", f"{mig.product_name(model)} with all its MIG partitions", mig.DRIVER, model)
        for model in mig.models()
    ]
    dgx = "8 x a100-40gb, the GPUs of one DGX A100"
    found.append(Profile("dgx-a100", "mig", dgx, mig.DRIVER, "a100-40gb", gpus=8))
    for generation in tpu.GENERATIONS:
        for topology in tpu.TOPOLOGIES[1:]:
            name, nodes = f"tpu-{generation}-{tpu.text(topology)}", tpu.node_count(topology)
            summary = f"TPU {generation}: {topology[0] * topology[1]} chips on {nodes} nodes, and all its sub-slices"
            found.append(Profile(name, "tpu", summary, tpu.DRIVER, generation, topology=topology, nodes=nodes))
    found.append(Profile(LAYOUT, "layout", _LAYOUT_SUMMARY, ""))
    return {profile.name: profile for profile in found}


def profile(name: str) -> Profile:
    """The profile of a name. Raises ``PoolError`` with the names there are."""
    known = profiles()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise PoolError([f'there is no profile "{name}"; {hint}known are {", ".join(known)}'])
    return known[name]


def build(
    name: str,
    *,
    nodes: Sequence[str] = (),
    driver_name: str | None = None,
    gpus: int | None = None,
    pool_name: str | None = None,
    layout: Path | None = None,
) -> list[Pool]:
    """The pools of a profile.

    ``nodes``: for GPUs and node-local layouts the nodes that get a pool each; for TPUs the nodes of the one pool, row
    by row, exactly as many as it has VMs. Without names they are called node-1, node-2 and so on. ``driver_name``
    replaces the real driver's name. ``gpus`` (MIG profiles): GPUs of each node. ``pool_name`` (TPU profiles): the name
    of the pool if it shall not be that of the profile, for several pools in one cluster. ``layout``: the file, for
    profile ``layout``.
    Raises ``PoolError``.
    """
    chosen = profile(name)
    names = list(nodes) or [f"node-{number}" for number in range(1, chosen.nodes + 1)]
    errors = [*_name_errors(names, driver_name, pool_name), *_option_errors(chosen, gpus, pool_name, layout)]
    if chosen.kind == "tpu" and len(names) != chosen.nodes:
        errors.append(f"{name} has {chosen.nodes} nodes; {len(names)} are named")
    if errors:
        raise PoolError(errors)
    if layout is not None:
        return layout_files.load_layout(layout, driver=driver_name, nodes=names)
    driver = driver_name or chosen.driver
    if chosen.kind == "mig":
        count = chosen.gpus if gpus is None else gpus
        return [mig.pool(chosen.model, driver=driver, node_name=node, gpus=count) for node in names]
    generation = tpu.GENERATIONS[chosen.model]
    return [tpu.pool(generation, chosen.topology, driver=driver, name=pool_name or name, nodes=names)]


def device_classes(name: str, driver_name: str | None = None) -> list[Object]:
    """The DeviceClasses that the real driver installs, for this profile and driver name. Raises ``PoolError``.

    With another driver name the class names follow it: ``gpu.example.com`` brings ``gpu.example.com`` and
    ``mig.example.com``. A layout has one class, which selects all devices of the driver.
    """
    chosen = profile(name)
    driver = driver_name or chosen.driver
    if not driver:
        raise PoolError(["the classes of a layout are named after its driver; give the driver's name"])
    errors = list(_name_errors([], driver, None))
    if errors:
        raise PoolError(errors)
    if chosen.kind != "mig":
        return [_device_class(driver, f"device.driver == '{driver}'")]
    vendor = driver.removeprefix("gpu.")
    of_type = f"device.driver == '{driver}' && device.attributes['{driver}'].type =="
    gpu = _device_class(driver, f"{of_type} 'gpu'")
    # Pods may then ask for nvidia.com/gpu as they did with the device plugin (KEP-5004).
    gpu["spec"]["extendedResourceName"] = f"{vendor}/gpu"
    return [gpu, _device_class(f"mig.{vendor}", f"{of_type} 'mig'")]


def _device_class(name: str, expression: str) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def _name_errors(nodes: Sequence[str], driver: str | None, pool: str | None) -> list[str]:
    checks = [("node", subdomain, node) for node in nodes]
    if driver is not None:
        checks.append(("driver name", checked_driver_name, driver))
    if pool is not None:
        checks.append(("pool name", checked_pool_name, pool))
    errors = []
    for what, check, value in checks:
        try:
            check(value)
        except ValueError as error:
            errors.append(f"{what}: {error}")
    twice = sorted({node for node in nodes if nodes.count(node) > 1})
    return errors + [f"node {node}: named twice" for node in twice]


def _option_errors(chosen: Profile, gpus: int | None, pool: str | None, layout: Path | None) -> list[str]:
    """Options that a profile has no use for are mistakes."""
    errors = []
    if gpus is not None and chosen.kind != "mig":
        errors.append(f"{chosen.name} has no number of GPUs")
    if gpus is not None and not 1 <= gpus <= _MOST_GPUS:
        errors.append(f"a node has 1 to {_MOST_GPUS} GPUs, not {gpus}")
    if pool is not None and chosen.kind != "tpu":
        errors.append(f"the pools of {chosen.name} are named after their nodes, or in the layout")
    if (layout is None) == (chosen.kind == "layout"):
        errors.append("profile layout needs a file" if layout is None else f"{chosen.name} takes no layout file")
    return errors
