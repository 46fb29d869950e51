"""The ``drakit`` command: one front door to all components.

Subcommands are imported when they are used. Importing all of them takes longer than starting a cluster does.
"""

from __future__ import annotations

import importlib

import click

# name -> (module, click command in it, the line that `drakit --help` shows without importing the module)
_COMMANDS = {
    "cluster": ("drakit_kind.commands", "cluster", "Start, inspect and stop test clusters."),
    "kubernetes": (
        "drakit_kind.kubernetes.commands",
        "kubernetes",
        "Build and find the real binaries of a Kubernetes version.",
    ),
    "kind": ("drakit_kind.kind.commands", "kind", "Make the images of kind clusters without any image registry."),
    "conformance": (
        "drakit_kind.conformance.command",
        "conformance",
        "Run the suite, or judge somebody else's driver, and write JUnit XML and an HTML page.",
    ),
    "demo": ("drakit_kind.demo", "demo", "Run MIG and TPU claims in a cluster and draw who got which device."),
    "driver": ("drakit_driver.cli", "driver", "The fake DRA driver: print its slices, or run it on nodes."),
    "scheduler": ("drakit_allocator.cli", "scheduler", "Run the bundled scheduler against any API server."),
    "allocate": ("drakit_allocator.allocate_command", "allocate", "Allocate the claims of files, without a cluster."),
    "explain": (
        "drakit_allocator.explain_command",
        "explain",
        "Say why a claim or pod of a cluster gets no devices, and what would help.",
    ),
    "apiserver": ("drakit_embedded.cli", "apiserver", "Run the embedded API server and its controllers."),
    "kubelet": (
        "drakit_embedded.kubelet_command",
        "kubelet",
        "Simulate kubelets for any number of nodes of any cluster.",
    ),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, attribute, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, _, help_line) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="drakit")
def main() -> None:
    """A fake DRA driver and test-cluster kit for Kubernetes Dynamic Resource Allocation.

    \b
    Try:  drakit cluster up            a cluster with MIG GPUs and a TPU pool, in about a second
          drakit driver slices dgx-a100 -o yaml
          drakit demo
    """
