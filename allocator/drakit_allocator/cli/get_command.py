"""``drakit get devices``: the devices of a cluster or of files, as published or as patches make them look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from drakit_allocator.cli.allocate_command import gates_of
from drakit_allocator.cli.cluster_reading import Options, cluster_errors, cluster_options, connected
from drakit_client.processes.ending_signals import run_until_told
from drakit_client.processes.files_option import UnusableFiles, files_option

if TYPE_CHECKING:
    from drakit_allocator.explanation import Inventory
    from drakit_allocator.listing.listing import Choice, Listing
    from drakit_allocator.nodes import Node
    from drakit_api.features import FeatureGates
    from drakit_client.connection import Connection

_NOTES = 8
_NAMES = 10


@click.group()
def get() -> None:
    """List what a cluster has, as drakit's scheduler sees it.

    \b
    drakit get devices                          every device, who holds it, how many have patches
    drakit get devices --patched                as ResourceSlicePatches make them look
    """


def _repeated(name: str, destination: str, metavar: str, help_text: str) -> Callable[[Any], Any]:
    return click.option(name, destination, multiple=True, metavar=metavar, help=f"{help_text}; repeat for more.")


@get.command()
@files_option("Instead of a cluster: YAML or JSON file, directory of such, or '-'; repeat for more.")
@click.option("--patched", "is_patched", is_flag=True, help="As a scheduler sees them that follows patches.")
@_repeated("--driver", "drivers", "NAME", "Only devices of this driver")
@_repeated("--pool", "pools", "NAME", "Only devices in pools of this name")
@_repeated("--node", "nodes", "NAME", "Only devices that this node can reach")
@_repeated("--patch", "patches", "NAME", "Only devices to which this ResourceSlicePatch applies")
@cluster_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(["wide", "json", "yaml", "name"]),
    help="A wide table; everything, for scripts; or driver/pool/device only. [default: a narrow table]",
)
def devices(**options: Any) -> None:
    """List devices: where they are, what they have, who holds them.

    \b
    drakit get devices --node gpu-worker-1
    drakit get devices --driver gpu.nvidia.com -o wide
    drakit get devices --patched --patch maintenance
    drakit get devices -o json | jq -r '.devices[] | select(.claims == null) | .device'
    drakit driver slices dgx-a100 | drakit get devices -f - -f patches.yaml --patched

    Devices are listed as their drivers have published them. With --patched, attributes, capacities and taints are
    those that a scheduler with the feature gate DRAAdminControlledDeviceAttributes sees, taints of DeviceTaintRules
    included, and PATCHES names the ResourceSlicePatches that apply. The first one wins; after each stands in brackets
    what it changes:

    \b
    tier=gold          it sets an attribute or a capacity
    -model             it removes an attribute
    +key=value:effect  it adds a taint
    tier:overridden    a patch before it decides

    Names are without the domain where that is the driver's name. What does not fit into a column is counted (+3, or
    in brackets 3 more); more fits with -o wide, and everything is in -o json and -o yaml. Nothing is changed.

    Exit status 0: listed, even if there are none; 1: the cluster cannot be read; 2: files or options cannot be used;
    130: Ctrl-C.
    """
    _check(options)
    with cluster_errors():
        if options["files"]:
            inventory, nodes, told = _of_files(options)
        else:
            reading = connected(lambda api, gates: _of_cluster(api, gates, options), options, "get")
            inventory, nodes, told = run_until_told(reading)
        for line in told:
            click.echo(line, err=True)
        found = _listed(inventory, _choice(options, inventory, nodes))
        _print(found, options)
    _tell(found, options)


# What was read: with the nodes by which devices are chosen, and what is to be told about it.
_Read = tuple["Inventory", tuple["Node", ...], Sequence[str]]


def _check(options: Options) -> None:
    for name, option in (("kubeconfig", "--kubeconfig"), ("context", "--context")):
        if options["files"] and options[name]:
            raise click.UsageError(f"-f and {option} exclude each other: files, or a cluster")


def _follows_patches(options: Options) -> bool:
    return bool(options["is_patched"] or options["patches"])


async def _of_cluster(connection: Connection, gates: FeatureGates, options: Options) -> _Read:
    """Read a cluster; patches must be readable only if they are asked for."""
    from drakit_allocator.cli.ignored_patches import NOT_INSTALLED
    from drakit_allocator.explanation import Inventory
    from drakit_allocator.features import Features
    from drakit_allocator.inputs.live_objects import ClusterError, read_cluster
    from drakit_allocator.nodes import Node

    live = await read_cluster(connection, _with_patches(gates) if _follows_patches(options) else gates)
    known = {node["metadata"]["name"]: node for node in live.nodes}
    if unknown := [name for name in options["nodes"] if name not in known]:
        raise ClusterError(f"there is no Node {', '.join(unknown)}; {_those_there(known, 'Node')}")
    inventory = Inventory.of(
        Features.from_gates(gates),
        slices=live.slices,
        classes=live.classes,
        taint_rules=live.taint_rules,
        claims=live.claims,
        patches=live.patches,
    )
    is_missing = _follows_patches(options) and not live.is_patch_kind_installed
    return inventory, tuple(Node.of(known[name]) for name in options["nodes"]), [NOT_INSTALLED] if is_missing else []


def _of_files(options: Options) -> _Read:
    """Read files; a node that they do not have is known by its name alone."""
    from drakit_allocator.cli.waiting import told_if_long
    from drakit_allocator.explanation import Inventory
    from drakit_allocator.features import Features
    from drakit_allocator.nodes import Node
    from drakit_api.core.node_selectors import HOSTNAME_LABEL
    from drakit_client.manifests.documents import ManifestError
    from drakit_client.manifests.files import read_manifests

    gates = gates_of(options["emulated_version"] or _newest(), options["feature_gates"])
    try:
        with told_if_long("reading files ..."):
            manifests = read_manifests(options["files"], _with_patches(gates))
    except ManifestError as error:
        raise UnusableFiles(str(error)) from None
    nodes = (
        manifests.get("Node", "", name) or {"metadata": {"name": name, "labels": {HOSTNAME_LABEL: name}}}
        for name in options["nodes"]
    )
    inventory = Inventory.of(
        Features.from_gates(gates),
        slices=manifests.of("ResourceSlice"),
        classes=manifests.of("DeviceClass"),
        taint_rules=manifests.of("DeviceTaintRule"),
        claims=manifests.of("ResourceClaim"),
        patches=manifests.of("ResourceSlicePatch"),
    )
    return inventory, tuple(map(Node.of, nodes)), [f"{name} replaces the one before it" for name in manifests.replaced]


def _newest() -> str:
    from drakit_api.features import NEWEST_EMULATED

    return NEWEST_EMULATED


def _with_patches(gates: FeatureGates) -> FeatureGates:
    from drakit_api.features import PATCHES_GATE, FeatureGates

    return FeatureGates(gates.emulated_version, {**gates.overrides, PATCHES_GATE: True})


def _those_there(names: Iterable[str], kind: str) -> str:
    from drakit_allocator.explanation.phrases import some_of

    return f"there are {some_of(known, _NAMES)}" if (known := sorted(names)) else f"there is no {kind} at all"


def _choice(options: Options, inventory: Inventory, nodes: tuple[Node, ...]) -> Choice:
    from drakit_allocator.listing.listing import Choice

    known = {str(patch["metadata"]["name"]) for patch in inventory.patches}
    if unknown := [name for name in options["patches"] if name not in known]:
        there = _those_there(known, "ResourceSlicePatch")
        raise click.ClickException(f"there is no ResourceSlicePatch {', '.join(unknown)}; {there}")
    drivers, pools, patches = (frozenset(options[name]) for name in ("drivers", "pools", "patches"))
    return Choice(drivers, pools, nodes, patches, options["is_patched"])


def _listed(inventory: Inventory, choice: Choice) -> Listing:
    from drakit_allocator.cli.waiting import Waiting
    from drakit_allocator.listing.listing import listed

    return listed(inventory, choice, Waiting("slices"))


def _print(found: Listing, options: Options) -> None:
    from drakit_allocator.cli.structured_output import Form, printed
    from drakit_allocator.listing import documents
    from drakit_allocator.listing.table import table

    output = options["output"]
    if output == "name":
        click.echo(documents.names(found), nl=False)
    elif output in ("json", "yaml"):
        form: Form = "json" if output == "json" else "yaml"
        click.echo(printed(documents.documents(found), form), nl=False)
    elif found.devices:
        click.echo(table(found, is_wide=output == "wide"), nl=False)


def _tell(found: Listing, options: Options) -> None:
    """Say on stderr what the list does not: that it is empty, that there are patches, and which do not work."""
    if not found.devices:
        are = "1 is" if found.total == 1 else f"{found.total} are"
        some = f"; {are} there without these options" if found.total else ""
        click.echo(f"no devices found{some}", err=True)
    if _follows_patches(options):
        for line in _notes(found):
            click.echo(line, err=True)
    elif found.patched:
        have = "1 device has" if found.patched == 1 else f"{found.patched} of {len(found.devices)} devices have"
        click.echo(f"{have} patches that apply; --patched shows what they change", err=True)


def _notes(found: Listing) -> Iterable[str]:
    from drakit_allocator.listing.notes import patch_notes

    notes = patch_notes(found)
    more = len(notes) - _NOTES
    return [*notes[:_NOTES], *([f"... and {more} more notes on patches"] if more > 0 else [])]
