"""The ``drakit`` command: one front door to all components.

Subcommands are imported when they are used. Importing all of them takes longer than starting a cluster does.
"""

from __future__ import annotations

from typing import Any

import click

from drakit_client.processes.interruption import ended_by_ctrl_c
from drakit_client.processes.lazy_group import Elsewhere, LazyGroup

_COMMANDS = {
    "cluster": Elsewhere("drakit_kind.cli.cluster.commands", "cluster", "Start, inspect and stop test clusters."),
    "kubernetes": Elsewhere(
        "drakit_kind.cli.kubernetes.commands",
        "kubernetes",
        "Build, download and find the real binaries of a Kubernetes version.",
    ),
    "kind": Elsewhere("drakit_kind.kind.commands", "kind", "Make the images of kind clusters on this machine."),
    "conformance": Elsewhere(
        "drakit_kind.conformance.command",
        "conformance",
        "Run the suite, or judge somebody else's driver, and write JUnit XML and an HTML page.",
    ),
    "demo": Elsewhere(
        "drakit_kind.demo.command", "demo", "Run MIG and TPU claims in a cluster and draw who got which device."
    ),
    "driver": Elsewhere(
        "drakit_driver.cli.driver_command", "driver", "The fake DRA driver: print its slices, or run it on nodes."
    ),
    "scheduler": Elsewhere(
        "drakit_allocator.cli.scheduler_command", "scheduler", "Run the bundled scheduler against any API server."
    ),
    "allocate": Elsewhere(
        "drakit_allocator.cli.allocate_command", "allocate", "Allocate the claims of files, without a cluster."
    ),
    "explain": Elsewhere(
        "drakit_allocator.cli.explain_command",
        "explain",
        "Say why a claim or pod of a cluster gets no devices, and what would help.",
    ),
    "get": Elsewhere(
        "drakit_allocator.cli.get_command", "get", "List the devices of a cluster: who holds them, and their patches."
    ),
    "install": Elsewhere(
        "drakit_allocator.cli.install_command", "install", "Install API kinds of drakit's own into a cluster."
    ),
    "webhook": Elsewhere(
        "drakit_allocator.cli.webhook_command", "webhook", "Run the webhook that checks patches of devices."
    ),
    "apiserver": Elsewhere("drakit_embedded.cli", "apiserver", "Run the embedded API server and its controllers."),
    "kubelet": Elsewhere(
        "drakit_embedded.kubelet_command",
        "kubelet",
        "Simulate kubelets for any number of nodes of any cluster.",
    ),
}


class _FrontDoor(LazyGroup):
    """Ends each command on Ctrl-C by the same status, if it does not do so itself; click has 1, which is an answer."""

    def make_context(self, *arguments: Any, **extra: Any) -> click.Context:
        """Read the options."""
        with ended_by_ctrl_c():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that is named."""
        with ended_by_ctrl_c():
            return super().invoke(ctx)


@click.group(
    cls=_FrontDoor,
    elsewhere=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Report bugs at https://github.com/drakit/drakit/issues",
)
@click.version_option(package_name="drakit")
def main() -> None:
    """Use a fake DRA driver and test-cluster kit for Kubernetes Dynamic Resource Allocation.

    \b
    Try:  drakit cluster up            a cluster with MIG GPUs and a TPU pool, in about a second
          drakit driver slices dgx-a100 -o yaml
          drakit demo
    """
