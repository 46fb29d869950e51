"""``drakit driver``: print what would be published, or run the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from drakit_client.processes.counts import counted
from drakit_client.processes.files_option import UnusableFiles, files_option
from drakit_client.processes.lazy_group import Elsewhere, LazyGroup
from drakit_client.processes.output_option import Format, output_option
from drakit_client.processes.text_columns import aligned
from drakit_driver.cli.options import DriverOptions, driver_options, pool_errors
from drakit_driver.cli.profile_completion import complete_profile

if TYPE_CHECKING:
    from drakit_api.features import FeatureGates
    from drakit_api.layouts.pools import Pool
    from drakit_driver.profiles.reading.catalog import Profile

_COMMANDS = {
    "health": Elsewhere("drakit_driver.cli.health_command", "health", "Show or set the health of a driver's devices."),
    "run": Elsewhere("drakit_driver.cli.run_command", "run", "Run the driver on nodes of a cluster."),
}


@click.group(cls=LazyGroup, elsewhere=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def driver() -> None:
    """Publish devices you do not have, as the real DRA drivers publish theirs.

    \b
    drakit driver profiles                      the hardware it can pretend to have
    drakit driver slices a100-40gb              the ResourceSlices of one A100 and its 25 MIG partitions
    drakit driver classes a100-40gb | kubectl apply -f -
    drakit driver run --help                    publish them and prepare claims on nodes
    drakit driver health --help                 let one of them fail, and recover
    """


@driver.command()
@output_option
def profiles(output: Format | None) -> None:
    """List the hardware profiles, and in which file each of them is.

    \b
    drakit driver profiles
    drakit driver profiles -o json | jq -r '.[].name'
    """
    from drakit_driver.cli.manifests import dump
    from drakit_driver.profiles.reading.catalog import problems
    from drakit_driver.profiles.reading.catalog import profiles as known

    for line in problems():
        click.echo(f"warning: {line}", err=True)
    rows = {name: f"{each.summary}  [{each.source}]" if each.source else each.summary for name, each in known().items()}
    if output:
        click.echo(dump([_described(profile) for profile in known().values()], output), nl=False)
        return
    click.echo("\n".join(aligned(list(rows.items()))))


def _described(profile: Profile) -> dict[str, Any]:
    """Describe a profile for scripts; ``gpus`` are those of each node by default, ``source`` is its file."""
    return {
        "name": profile.name,
        "summary": profile.summary,
        "kind": profile.kind,
        "driver": profile.driver or None,
        "nodes": profile.nodes,
        "gpus": profile.gpus,
        "source": profile.source or None,
    }


@dataclass(frozen=True, kw_only=True)
class _SlicesOptions(DriverOptions):
    """The command line of ``drakit driver slices``."""

    combined: bool
    sizes: bool
    files: tuple[str, ...]
    output: str | None


@driver.command()
@driver_options
@click.option("--combined", is_flag=True, help="Counter sets and devices in one slice, as servers of 1.34 want it.")
@click.option(
    "--sizes", is_flag=True, help="Show bytes in etcd, before and after flattening; instead of, or beside, -o."
)
@files_option("File or directory with ResourceSlicePatches, or '-': show devices as these patches make them look.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), help="Format of the List. [default: yaml]")
def slices(**given: Any) -> None:
    """Print the ResourceSlices that would be published, as a List.

    \b
    drakit driver slices a100-40gb --gpus 2 --node gpu-worker
    drakit driver slices tpu-v6e-4x4 -o json
    drakit driver slices layout my-devices.yaml --driver-name gpu.example.com
    drakit driver slices layout my-devices.yaml --sizes
    generate-layout | drakit driver slices layout -
    drakit driver slices layout my-devices.yaml --feature-gates DRAResourceSliceMixins=true
    drakit driver slices dgx-a100 -f patches.yaml

    With -f, it prints the devices as a scheduler with the feature gate
    DRAAdminControlledDeviceAttributes sees them: to look at, not to apply. Which
    patch applies to how many devices is on stderr. DeviceClasses that filters
    name may be in the files, too; those of the profile are known.

    \b
    Exit status: 1 if the devices cannot be published (every reason on stderr),
    2 if the command line is wrong, or files of -f cannot be used.
    """
    from drakit_driver.cli.manifests import dump, listed

    options = _SlicesOptions(**given)
    if options.files and options.sizes:
        raise click.UsageError("-f and --sizes exclude each other: what a scheduler sees, or what a server stores")
    gates = options.gates()
    with pool_errors():
        pools = options.pools()
        objects = _split(pools, gates, options.combined)
        _tell_gate_effects(objects, gates)
        _refuse_too_large(objects)
        report = _size_report(pools, gates, options.combined) if options.sizes else ""
        objects = _patched(objects, options, gates)
    if options.output or not options.sizes:
        click.echo(dump(listed(objects), "json" if options.output == "json" else "yaml"), nl=False)
    if report:
        click.echo(report, err=bool(options.output))


@driver.command()
@click.argument("profile", shell_complete=complete_profile)
@click.option("--driver-name", metavar="NAME", help="The driver's name. [default: the real driver's name]")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def classes(profile: str, driver_name: str | None, output: str) -> None:
    """Print the DeviceClasses that claims for these devices name.

    \b
    drakit driver classes dgx-a100 | kubectl apply -f -
    drakit driver classes layout --driver-name gpu.example.com
    """
    from drakit_driver.cli.manifests import dump, listed
    from drakit_driver.profiles.reading.catalog import device_classes

    with pool_errors():
        objects = device_classes(profile, driver_name)
    click.echo(dump(listed(objects), "json" if output == "json" else "yaml"), nl=False)


def _split(pools: list[Pool], gates: FeatureGates, combined: bool) -> list[dict[str, Any]]:
    from drakit_api.layouts.slices import resource_slices

    return [each for pool in pools for each in resource_slices(pool, generation=1, gates=gates, combined=combined)]


def _patched(slices: list[dict[str, Any]], options: _SlicesOptions, gates: FeatureGates) -> list[dict[str, Any]]:
    """Merge the patches of files into slices, and say on stderr what they do."""
    if not options.files:
        return slices
    from drakit_client.manifests.documents import ManifestError
    from drakit_driver.cli.patched_slices import Patches, effects
    from drakit_driver.profiles.reading.catalog import device_classes

    try:
        patches = Patches.read(options.files, gates)
    except ManifestError as error:
        raise UnusableFiles("\nError: ".join(error.errors)) from None
    found = patches.applied_to(slices, device_classes(options.profile, slices[0]["spec"]["driver"]))
    for line in (*patches.notes, *effects(patches, found)):
        click.echo(line, err=True)
    return found.slices


def _tell_gate_effects(slices: list[dict[str, Any]], gates: FeatureGates) -> None:
    """Say on stderr what such an API server drops; raises ``PoolError`` if it refuses the rest."""
    from drakit_api.layouts.pools import PoolError
    from drakit_driver.cli.gate_effects import gate_effects

    dropped, refused = gate_effects(slices, gates)
    if refused:
        raise PoolError([*dropped, *refused, "switch the features on with --feature-gates, there and here"])
    for line in dropped:
        click.echo(f"note: {line}", err=True)


def _refuse_too_large(slices: list[dict[str, Any]]) -> None:
    """Raise ``PoolError`` for slices that no API server can store."""
    from drakit_api.layouts.pool_sizes import too_large
    from drakit_api.layouts.pools import PoolError

    if errors := too_large(slices):
        raise PoolError(errors)


def _size_report(pools: list[Pool], gates: FeatureGates, combined: bool) -> str:
    from drakit_api.layouts.pool_sizes import pool_sizes

    lines, before, after = [], 0, 0
    for pool in pools:
        sizes = pool_sizes(pool, gates, combined=combined)
        if sizes.with_mixins is not None:
            lines += _size_lines(f"pool {pool.name} with mixins", sizes.with_mixins)
            lines += _size_lines(f"pool {pool.name} flattened", sizes.flattened)
        else:
            lines += _size_lines(f"pool {pool.name}", sizes.flattened)
        before += sum(sizes.with_mixins or sizes.flattened)
        after += sum(sizes.flattened)
    total = f"total: {after:,} bytes in etcd"
    if before != after:
        total += f" flattened, {before:,} with mixins ({before / after:.0%})"
    return "\n".join([*lines, total])


def _size_lines(title: str, sizes: list[int]) -> list[str]:
    each = ", ".join(f"{size:,}" for size in sizes)
    return [f"{title}: {counted(len(sizes), 'slice')}, {sum(sizes):,} bytes ({each})"]
