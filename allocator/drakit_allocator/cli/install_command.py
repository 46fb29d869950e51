"""``drakit install``: API kinds that are drakit's own, on any cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from drakit_client.processes.ending_signals import run_until_told
from drakit_client.processes.interruption import ended_by_ctrl_c

if TYPE_CHECKING:
    from drakit_allocator.installation import Step
    from drakit_api.kubernetes_objects import Object
    from drakit_client.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])
# The values of the options, by name.
Options = dict[str, Any]

_SHOWN = 10


@click.group()
def install() -> None:
    """Install API kinds that are drakit's own into a cluster: embedded, of real binaries, kind, or any other."""


def _options(command: F) -> F:
    options = (
        click.option(
            "--kubeconfig", type=click.Path(dir_okay=False), help="Default: $KUBECONFIG, then ~/.kube/config."
        ),
        click.option("--context", help="Context of the kubeconfig to use."),
        click.option("--dry-run", is_flag=True, help="Ask the server what would become of each object; store nothing."),
        click.option("--force-conflicts", is_flag=True, help="Take over fields that others have changed."),
        click.option(
            "--webhook",
            is_flag=True,
            help="Also a pod that refuses patches whose selectors do not compile; waits until it does.",
        ),
        click.option("--image", metavar="NAME", help="With --webhook: the image of the pod. [default: drakit:latest]"),
        click.option(
            "--failure-policy",
            type=click.Choice(["Ignore", "Fail"]),
            help="With --webhook: what becomes of a patch if the pod does not answer. [default: Ignore]",
        ),
        click.option("--remove", is_flag=True, help="Delete it all again, and every patch with it."),
        click.option("-y", "--yes", is_flag=True, help="With --remove: do not ask."),
        click.option("-o", "--output", type=click.Choice(["yaml"]), help="Print the manifest; no cluster is needed."),
        click.option("--timeout", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds."),
    )
    for decorate in reversed(options):
        command = decorate(command)
    return command


@install.command()
@_options
def patches(**options: Any) -> None:
    """Install the kind ResourceSlicePatch, with which administrators change what devices look like.

    A patch adds, replaces or removes attributes of devices, replaces capacities, and adds taints, for drakit's
    scheduler with the feature gate DRAAdminControlledDeviceAttributes. ResourceSlices stay as they are, and so do
    devices that are in use.

    \b
    drakit install patches
    kubectl apply --server-side -f - <<EOF
    apiVersion: resource.drakit.dev/v1alpha3
    kind: ResourceSlicePatch
    metadata:
      name: maintenance
    spec:
      devices:
        filter:
          driver: gpu.example.com
          pool: worker-1
          selectors:
          - cel:
              expression: device.attributes["gpu.example.com"].index > 3
        priority: 10
        attributes:
          gpu.example.com/tier:
            string: gold
          gpu.example.com/experimental:
            "null": {}            # removes it; the quotes are needed
        capacity:
          gpu.example.com/memory:
            value: 0
        taints:
        - key: example.com/maintenance
          effect: NoSchedule
    EOF
    kubectl get resourceslicepatches

    It applies a definition, roles for administrators and readers of patches (drakit-patch-administrator,
    drakit-patch-reader), and the rights of drakit's scheduler, and may be repeated, also by a later release. All
    Kubernetes versions from 1.34 on take it. An embedded API server without the gate drops attributes and capacity of
    new patches; there it warns. The webhook is for clusters that run pods of drakit's image; for an API server on this
    machine there is drakit webhook patches --register. Exit status 0: it is there; 1: it is not; 130: Ctrl-C.
    """
    if wrong := _misuse(options):
        raise click.UsageError(wrong)
    if options["output"]:
        _print(options)
    else:
        _run(options)


def _misuse(options: Options) -> str:
    """Say which options do not go together; empty if all do."""
    if options["output"] and options["remove"]:
        return "-o prints what is installed, --remove deletes it: give one of them"
    if options["yes"] and not options["remove"]:
        return "--yes is for --remove, as nothing else asks"
    if options["webhook"] and options["remove"]:
        return "--remove deletes the webhook, too: leave --webhook out"
    for name in ("image", "failure_policy"):
        if options[name] and not options["webhook"]:
            return f"--{name.replace('_', '-')} is about the webhook: give --webhook, too"
    return ""


def _print(options: Options) -> None:
    import yaml

    from drakit_api.slice_patches import definition

    click.echo(definition.text(), nl=False)
    if options["webhook"]:
        # With a new key, as no cluster is asked whether it has one.
        click.echo("---")
        click.echo(yaml.safe_dump_all(_webhook(None, options), sort_keys=False), nl=False)


def _webhook(secret: Object | None, options: Options) -> list[Object]:
    from drakit_allocator.webhook import deployment

    return deployment.objects(secret, options["image"] or deployment.IMAGE, options["failure_policy"] or "Ignore")


def _run(options: Options) -> None:
    from drakit_allocator.installation import InstallationError
    from drakit_client.errors import ConfigurationError

    try:
        with ended_by_ctrl_c():
            if options["remove"] and not options["dry_run"] and not options["yes"]:
                _confirm(options)
            run_until_told(_connected(_remove if options["remove"] else _apply, options))
    except ConfigurationError as error:
        raise click.ClickException(f"{error}; name a file with --kubeconfig") from error
    except InstallationError as error:
        raise click.ClickException(str(error)) from error


async def _connected(work: Callable[[Connection, Options], Any], options: Options) -> Any:
    from drakit_client.connection import Connection

    connection = await Connection.from_kubeconfig(
        options["kubeconfig"], context=options["context"], user_agent="drakit-install"
    )
    async with connection:
        return await work(connection, options)


async def _apply(connection: Connection, options: Options) -> None:
    from drakit_allocator.installation import applied, until_served
    from drakit_api.slice_patches import definition

    objects, dry_run = definition.manifest(), options["dry_run"]
    await _tell(applied(connection, objects, dry_run=dry_run, force=options["force_conflicts"]), dry_run=dry_run)
    if not dry_run:
        await until_served(connection, definition.definition(), options["timeout"])
        click.echo("resourceslicepatches are served")
        await _warn_of_dropped_fields(connection)
    if options["webhook"]:
        deployed = _webhook(await _stored_secret(connection), options)
        await _tell(applied(connection, deployed, dry_run=dry_run, force=options["force_conflicts"]), dry_run=dry_run)
        if not dry_run:
            await _await_checks(connection, options)


async def _warn_of_dropped_fields(connection: Connection) -> None:
    """Say so if the server takes patches, but not what they say; nobody else would."""
    from drakit_allocator.patch_trials import drops_attributes
    from drakit_api.features import PATCHES_GATE

    if await drops_attributes(connection):
        way_out = f"drakit cluster restart apiserver --feature-gates {PATCHES_GATE}=true"
        click.echo(
            "Warning: this API server drops attributes and capacity of new patches, as its feature gate "
            f"{PATCHES_GATE} is off; `{way_out}` turns it on (add --name of the cluster, and other gates that it has). "
            "Patches that were written before that have to be applied again",
            err=True,
        )


async def _await_checks(connection: Connection, options: Options) -> None:
    from drakit_allocator.patch_trials import until_selectors_are_checked
    from drakit_allocator.webhook import deployment

    image = options["image"] or deployment.IMAGE
    unknown = await until_selectors_are_checked(connection, options["timeout"], image=image, tell=_tell_of_progress)
    if unknown:
        click.echo(f"whether selectors of patches are checked is not known: {unknown}", err=True)
    else:
        click.echo("selectors of patches are checked")


def _tell_of_progress(text: str) -> None:
    click.echo(text, err=True)


async def _stored_secret(connection: Connection) -> Object | None:
    """Read the certificate that the webhook has, so that a pod that runs stays trusted."""
    from drakit_allocator.installation import stored
    from drakit_allocator.webhook.deployment import NAME, NAMESPACE
    from drakit_client.resources import SECRETS

    return await stored(connection, SECRETS, NAME, NAMESPACE)


def _confirm(options: Options) -> None:
    """Ask whether patches may go; before the loop, which would not hear Ctrl-C meanwhile."""
    lost = run_until_told(_connected(_lost, options))
    click.echo(f"With the definition {_counted(lost)}.")
    click.confirm("Delete them all?" if lost else "Delete it?", abort=True)


async def _lost(connection: Connection, _: Options) -> list[str]:
    from drakit_allocator.installation import objects_of
    from drakit_api.slice_patches import definition

    return await objects_of(connection, definition.definition())


async def _remove(connection: Connection, options: Options) -> None:
    from drakit_allocator.installation import ABSENT, removed
    from drakit_allocator.webhook import deployment
    from drakit_api.slice_patches import definition

    objects, dry_run = definition.manifest(), options["dry_run"]
    if dry_run or options["yes"]:
        click.echo(f"With the definition {_counted(await _lost(connection, options))}.")
    # The webhook first, which could refuse what is written meanwhile; most clusters have none.
    called = removed(connection, deployment.leftovers(), dry_run=dry_run, seconds=options["timeout"])
    await _tell((step async for step in called if step.done != ABSENT), dry_run=dry_run)
    await _tell(removed(connection, objects, dry_run=dry_run, seconds=options["timeout"]), dry_run=dry_run)


async def _tell(steps: AsyncIterator[Step], *, dry_run: bool) -> None:
    async for step in steps:
        click.echo(f"{step.name} {step.done}{' (dry run)' if dry_run else ''}")


def _counted(lost: list[str]) -> str:
    if not lost:
        return "no patch goes"
    more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
    go = "1 patch goes" if len(lost) == 1 else f"{len(lost)} patches go"
    return f"{go}: {', '.join(lost[:_SHOWN])}{more}"
