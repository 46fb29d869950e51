"""``drakit kind``: the images of kind clusters that are made on this machine, not taken from a registry."""

from __future__ import annotations

import time
from pathlib import Path

import click
from click.core import ParameterSource

from drakit_kind.cluster import ClusterError, Report
from drakit_kind.clusters.readable_errors import readable_errors
from drakit_kind.interrupts import continued_by_the_same_command

_KEPT = "what is cached"
_BASE = click.option(
    "--base",
    envvar="DRAKIT_DEBIAN_ROOT",
    show_envvar=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="TAR",
    help="A Debian 12 root with systemd and Python as a tar file; tests take that of the variable."
    "  [default: made by debootstrap, which needs root]",
)


@click.group()
def kind() -> None:
    """Make the images of kind clusters on this machine.

    \b
    drakit kind driver-image           the image with driver and scheduler
    drakit kind node-image 1.37.1      a node image from local binaries and Debian packages

    Where a registry can be reached, nodes take its image (kindest/node), and the first command its python:3.11-slim.
    Making images without any registry takes drakit's source tree: `make setup` there, or `pip install --editable .`.
    Node images, and driver images with a registry's base, need a Docker daemon. Tests with `--drakit-cluster kind` make
    what they miss by themselves.
    """


@kind.command()
@click.argument("version")
@click.option("--image", metavar="NAME", help="Name of the image.  [default: localhost/drakit-node:vVERSION]")
@_BASE
def node_image(version: str, image: str | None, base: Path | None) -> None:
    """Make the kind node image of a Kubernetes VERSION from local binaries.

    The binaries are those of `drakit kubernetes`, the rest comes from Debian's package archive and kind's Go module.
    The image works with `kind create cluster --image` and needs no other; it has no CoreDNS. This takes drakit's source
    tree; an installed drakit leaves node images to a registry (kindest/node).
    """
    from drakit_kind.kind.node_images.image_builder import IN_A_SOURCE_TREE, node_image_builder
    from drakit_kind.kubernetes.assets import find_assets

    with readable_errors(), continued_by_the_same_command(_KEPT):
        if (builder := node_image_builder()) is None:
            raise ClusterError(
                f"{IN_A_SOURCE_TREE}; where a registry can be reached, kind and the tests take kindest/node:v{version}"
            )
        builder.build(find_assets(version), _clocked_report(), name=image, base=base)


@kind.command()
@click.option(
    "--local/--registry", default=None, help="From Debian's packages, or from python:3.11-slim of a registry."
)
@_BASE
@click.pass_context
def driver_image(context: click.Context, local: bool | None, base: Path | None) -> None:
    """Make the image with driver and scheduler, which clusters of kind run.

    Without --local or --registry, one that was made of this drakit before is taken, of either kind; else a registry's
    base image is used where Docker has it or can pull it, else Debian's packages (which takes drakit's source tree).
    --base means --local; the variable only says which root that is.
    """
    from drakit_kind.kind.node_images import driver_image

    if context.get_parameter_source("base") is ParameterSource.COMMANDLINE:
        if local is False:
            raise click.UsageError("--base is a Debian root, which an image of a --registry does not need")
        local = True
    with readable_errors(), continued_by_the_same_command(_KEPT):
        name, file = driver_image.archive(_clocked_report(), local=local, base=base)
    click.echo(f"{name} is in {file}; `docker load --input` and `ctr --namespace k8s.io images import` take it")


def _clocked_report() -> Report:
    began = time.monotonic()
    return lambda text: click.echo(f"{time.monotonic() - began:6.1f} s  {text}")
