"""``drakit driver health``: let a fake device fail and recover, in a driver that runs on this machine."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from drakit_client.processes.output_option import Format, output_option
from drakit_client.processes.text_columns import aligned
from drakit_driver.cli.run_command import KUBELET_DIR

if TYPE_CHECKING:
    from drakit_driver.plugin.health import DeviceKey
    from drakit_driver.plugin.health_control import Change, Report

_STATES = ("healthy", "unhealthy", "unknown")
_SHOWN = 4


@click.command()
@click.argument("device", metavar="[POOL/DEVICE]", required=False)
@click.argument(
    "state", metavar=f"[{'|'.join(_STATES)}]", required=False, type=click.Choice(_STATES, case_sensitive=False)
)
@click.option("--message", metavar="TEXT", help="What the kubelet is told besides, up to 1024 characters.")
@click.option("--driver-name", metavar="NAME", help="Only this driver.  [default: all that run there]")
@click.option(
    "--kubelet-dir",
    default=KUBELET_DIR,
    metavar="DIR",
    show_default=True,
    help="The --kubelet-dir of the driver; {node} stands for the names of all nodes there.",
)
@output_option
def health(
    device: str | None,
    state: str | None,
    message: str | None,
    driver_name: str | None,
    kubelet_dir: str,
    output: Format | None,
) -> None:
    """Show the health of all devices or of one, or set it.

    \b
    drakit driver health --kubelet-dir ~/.drakit/default/n/{node}       drivers of `drakit cluster up`
    drakit driver health node-1/gpu-0 unhealthy --message 'ECC errors'
    drakit driver health node-1/gpu-0 healthy
    kubectl exec -n drakit-system POD -- drakit driver health node-1/gpu-0 unhealthy

    A device is healthy until it is said not to be, and again when its driver is started again. The kubelet hears of a
    change at once and shows it in the status of pods that have the device
    (containerStatuses[].allocatedResourcesStatus, feature gate ResourceHealthStatus); the device is still allocated.
    """
    if message is not None and state is None:
        raise click.UsageError("--message goes with a device and its state")
    found = _running(kubelet_dir, driver_name)
    key = None if device is None else _key_of(device)
    if key is not None:
        found = _having(found, key)
    if key is not None and state is not None:
        found = {socket: _set(socket, key, state, message or "") for socket in found}
    devices = [(report, each) for report in found.values() for each in report.devices]
    _show([(report, each) for report, each in devices if key in (None, (each.pool, each.device))], output)


def _running(kubelet_dir: str, driver_name: str | None) -> dict[Path, Report]:
    """Return what running drivers answer, by their sockets; warn of one that runs and does not answer."""
    from drakit_client.processes.control import ControlError, NobodyListens
    from drakit_driver.plugin import health_control

    pattern = "*".join(map(glob.escape, str(Path(kubelet_dir).absolute()).split("{node}")))
    directories = sorted(Path("/").glob(pattern.removeprefix("/")))
    found, problems = {}, []
    try:
        for socket in (socket for directory in directories for socket in health_control.sockets(directory)):
            if driver_name in (None, socket.parent.name):
                try:
                    found[socket] = health_control.call(socket)
                except NobodyListens:
                    continue  # another plugin, or one that was killed
                except ControlError as error:
                    problems.append(str(error))
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}; run this as the driver's user") from None
    if not found:
        raise click.ClickException("\nError: ".join(problems) or _nobody(kubelet_dir, driver_name, directories))
    for problem in problems:
        click.echo(f"warning: {problem}", err=True)
    return found


def _nobody(kubelet_dir: str, driver_name: str | None, directories: list[Path]) -> str:
    looked = [f"{directory}/plugins" for directory in directories[:_SHOWN]] or [f"{kubelet_dir}, which is not there"]
    more = f" and {len(directories) - _SHOWN} more" if len(directories) > _SHOWN else ""
    return (
        f"no driver{f' {driver_name}' if driver_name else ''} of drakit runs: looked in {', '.join(looked)}{more}; "
        "start one (`drakit driver run`), or name its --kubelet-dir: of clusters by `drakit cluster up` it is "
        "~/.drakit/default/n/{node}"
    )


def _key_of(device: str) -> DeviceKey:
    pool, _, name = device.rpartition("/")
    if not pool or not name:
        raise click.UsageError(f"{device!r}: name a device as POOL/DEVICE; `drakit driver health` lists them")
    return pool, name


def _having(found: Mapping[Path, Report], key: DeviceKey) -> dict[Path, Report]:
    """Choose the drivers that have a device: one driver, on one or several nodes."""
    from drakit_driver.plugin.health import what_there_is

    keys = {socket: [(each.pool, each.device) for each in report.devices] for socket, report in found.items()}
    having = {socket: report for socket, report in found.items() if key in keys[socket]}
    if not having:
        raise click.ClickException(what_there_is(chain.from_iterable(keys.values()), *key))
    if len(drivers := {report.driver for report in having.values()}) > 1:
        raise click.ClickException(f"{'/'.join(key)} is of {', '.join(sorted(drivers))}: choose one with --driver-name")
    return having


def _set(socket: Path, key: DeviceKey, state: str, message: str) -> Report:
    from drakit_client.processes.control import ControlError
    from drakit_driver.plugin import health_control

    try:
        return health_control.call(socket, health_control.Change(*key, state.capitalize(), message))
    except ControlError as error:
        raise click.ClickException(str(error)) from None


def _show(devices: list[tuple[Report, Change]], output: Format | None) -> None:
    if output:
        from drakit_driver.cli.manifests import dump

        fields = ("pool", "device", "health", "message")
        objects = [
            {"driver": report.driver, "node": report.node, **{field: getattr(each, field) for field in fields}}
            for report, each in devices
        ]
        click.echo(dump(objects, output), nl=False)
        return
    rows = [("DRIVER", "NODE", "DEVICE", "HEALTH", "MESSAGE")]
    for report, each in devices:
        shown = " ".join(each.message.split())
        rows.append((report.driver, report.node, f"{each.pool}/{each.device}", each.health, shown))
    click.echo("\n".join(aligned(rows)))
