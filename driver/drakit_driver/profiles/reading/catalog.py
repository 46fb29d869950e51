"""All profiles by name: what each publishes, and the device classes that belong to it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from drakit_api.kubernetes_objects import Object
from drakit_api.layouts.fields import driver_name as checked_driver_name
from drakit_api.layouts.fields import pool_name as checked_pool_name
from drakit_api.layouts.fields import subdomain
from drakit_api.layouts.pools import Pool, PoolError
from drakit_driver.profiles.reading import discovery, layout_files
from drakit_driver.profiles.reading.folder import reason
from drakit_driver.profiles.reading.gpu_boards import MOST_GPUS
from drakit_driver.profiles.reading.profile import Profile, Wanted, device_class

__all__ = ["LAYOUT", "Profile", "Wanted", "build", "device_class", "device_classes", "problems", "profile", "profiles"]

LAYOUT = "layout"
_LAYOUT = Profile(
    name=LAYOUT,
    kind="layout",
    summary="Your own devices: a YAML file with or without mixins (docs/layouts.md)",
    driver="",
)


def profiles() -> dict[str, Profile]:
    """Return all profiles by name, in the order in which they are worth listing."""
    return {**discovery.found().profiles, LAYOUT: _LAYOUT}


def problems() -> list[str]:
    """Return what is wrong with profiles that are left out, a line each: broken files, and names given twice."""
    found = discovery.found()
    return [*found.problems, *found.clashes.values()]


def profile(name: str) -> Profile:
    """Return the profile of a name. Raises ``PoolError`` with the names there are."""
    known = profiles()
    if name in known:
        return known[name]
    found = discovery.found()
    if name in found.clashes:
        raise PoolError([found.clashes[name]])
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise PoolError([f'there is no profile "{name}"; {hint}known are {", ".join(known)}', *found.problems])


def build(
    name: str,
    *,
    nodes: Sequence[str] = (),
    driver_name: str | None = None,
    gpus: int | None = None,
    pool_name: str | None = None,
    layout: Path | None = None,
) -> list[Pool]:
    """Return the pools of a profile.

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
    if chosen.nodes > 1 and len(names) != chosen.nodes:
        errors.append(f"{name} has {chosen.nodes} nodes; {len(names)} are named")
    if errors:
        raise PoolError(errors)
    if layout is not None:
        return layout_files.load_layout(layout, driver=driver_name, nodes=names)
    count = (chosen.gpus or 1) if gpus is None else gpus
    wanted = Wanted(driver=driver_name or chosen.driver, nodes=names, gpus=count, pool_name=pool_name or name)
    try:
        return discovery.found().makers[name].pools(chosen, wanted)
    except PoolError:
        raise
    except Exception as error:  # whatever the code of others raises
        raise PoolError([f"{chosen.source}: pools(): {reason(error)}"]) from error


def device_classes(name: str, driver_name: str | None = None) -> list[Object]:
    """Return the DeviceClasses that the real driver installs, for this profile and driver name. Raises ``PoolError``.

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
    maker = discovery.found().makers.get(name)
    if classes := getattr(maker, "device_classes", None):
        return list(classes(driver))
    return [device_class(driver, f"device.driver == '{driver}'")]


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
    """List the options that a profile has no use for, which are mistakes."""
    errors = []
    if gpus is not None and chosen.gpus is None:
        errors.append(f"{chosen.name} has no number of GPUs")
    if gpus is not None and not 1 <= gpus <= MOST_GPUS:
        errors.append(f"a node has 1 to {MOST_GPUS} GPUs, not {gpus}")
    if pool is not None and chosen.nodes == 1:
        errors.append(f"the pools of {chosen.name} are named after their nodes, or in the layout")
    if (layout is None) == (chosen.kind == "layout"):
        errors.append("profile layout needs a file" if layout is None else f"{chosen.name} takes no layout file")
    return errors
