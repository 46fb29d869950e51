"""``drakit allocate``: who would get which devices, from files and without a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import click

from drakit_allocator.cli.compat_option import compat_option
from drakit_client.processes.files_option import UnusableFiles, files_option
from drakit_client.processes.interruption import ended_by_ctrl_c

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drakit_allocator.cli.structured_output import Form
    from drakit_allocator.defects import Compat
    from drakit_allocator.explanation import Explanation, Inventory
    from drakit_allocator.features import Features
    from drakit_allocator.inputs.placement import Placed, Placement, Workload
    from drakit_api.features import FeatureGates
    from drakit_client.manifests.files import Manifests

    Object = dict[str, Any]


@click.command()
@files_option("YAML or JSON file, directory of such, or '-' for standard input; repeat for more.")
@click.option("--explain", is_flag=True, help="Say why, where something does not fit, and what would help.")
@click.option("--node", "nodes", multiple=True, metavar="NAME", help="Only on this node; repeat for more.")
@click.option("--pod", "pods", multiple=True, metavar="[NAMESPACE/]NAME", help="Only for this pod; repeat for more.")
@click.option("--claim", "claims", multiple=True, metavar="[NAMESPACE/]NAME", help="Only this claim; repeat for more.")
@click.option("--feature-gates", default="", metavar="A=true,B=false", help="Gates that differ from their defaults.")
@click.option(
    "--emulated-version", default="1.37", metavar="V", show_default=True, help="Kubernetes version to behave like."
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "yaml"]),
    default="text",
    show_default=True,
    help="A table, or a List of the claims with their status, which can be given to -f again.",
)
@click.option(
    "--problems",
    type=click.File("rb"),
    help="Instead of -f, JSON lines, one problem each: features, node, classes, slices, claims, allocated.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=0), default=10.0, show_default=True, help="Seconds for claims on a node."
)
@compat_option
def allocate(problems: BinaryIO | None, files: tuple[str, ...], timeout: float, compat: Compat, **options: Any) -> None:
    """Allocate devices to the pods and claims of files, as a scheduler would, without a cluster.

    \b
    Files may hold Nodes, ResourceSlices, DeviceClasses, ResourceClaims,
    ResourceClaimTemplates, Pods and DeviceTaintRules, of any version of
    resource.k8s.io, and ResourceSlicePatches, which count with
    --feature-gates DRAAdminControlledDeviceAttributes=true. Claims that are allocated already keep their devices; the
    others are allocated in the order of the files, each result counting for the
    next, on the first node that has devices. Exit status 0: all fit; 1: something
    does not; 2: files or options cannot be used; 130: Ctrl-C.

    \b
    drakit driver slices dgx-a100 > slices.yaml
    drakit driver classes dgx-a100 > classes.yaml
    drakit allocate -f slices.yaml -f classes.yaml -f my-claims.yaml --explain
    kubectl get nodes,resourceslices,deviceclasses,resourceclaims,pods -A -o yaml |
        drakit allocate -f - -f one-more-pod.yaml -o json

    \b
    With --problems, answers allocation problems: a JSON line for each, with the
    allocation, null if it does not fit, or the error, in the form in which
    answers of Kubernetes' own allocator were recorded. Exit status 0: all are
    answered; 2: some line is no problem, as is said of it; the others are answered.

    \b
    With --compat safe, known defects of Kubernetes' allocator are not repeated.
    Where one of them would have changed what a pod or claim gets, that is said,
    with the devices and who holds them; answers to problems have "defects" then.
    """
    if problems is not None and files:
        raise click.UsageError("-f and --problems exclude each other: objects of files, or recorded problems")
    if problems is not None:
        _only_with_files(options)
        with ended_by_ctrl_c():
            _answer(problems, timeout, compat)
    elif files:
        with ended_by_ctrl_c():
            _allocate(files, timeout=timeout, compat=compat, **options)
    else:
        raise click.UsageError("name files with -f, e.g. drakit allocate -f slices.yaml -f claims.yaml; or --problems")


def _only_with_files(options: dict[str, Any]) -> None:
    context = click.get_current_context()
    given = [
        option.opts[-1]
        for option in context.command.params
        if option.name in options
        and context.get_parameter_source(option.name) is click.core.ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{', '.join(given)}: only with -f; a problem says for itself what it is about")


def _answer(problems: BinaryIO, timeout: float, compat: Compat) -> None:
    """Answer line by line; a line that cannot be answered is told, and those behind it are answered all the same."""
    import functools
    import gc
    import sys
    import time

    import msgspec

    from drakit_allocator.inputs.problem_lines import NoProblem, answered
    from drakit_allocator.inputs.problems import answer
    from drakit_allocator.search import Limits

    output, is_unusable = sys.stdout.buffer, False
    source = "standard input" if problems is sys.stdin.buffer else getattr(problems, "name", "standard input")
    gc.freeze()  # what is loaded stays, and is not looked through for garbage between problems
    for number, line in enumerate(problems, 1):
        if not line.strip():
            continue
        limits = Limits(deadline=time.monotonic() + timeout)
        try:
            found = answered(line, functools.partial(answer, limits=limits, compat=compat))
        except NoProblem as error:
            click.echo(f"Error: {source}, line {number}: not an allocation problem: {error}", err=True)
            is_unusable = True
            continue
        output.write(msgspec.json.encode(found) + b"\n")
        output.flush()
    if is_unusable:
        raise SystemExit(2)


def _allocate(
    files: Sequence[str],
    *,
    timeout: float,
    compat: Compat,
    explain: bool,
    nodes: Sequence[str],
    pods: Sequence[str],
    claims: Sequence[str],
    feature_gates: str,
    emulated_version: str,
    output: str,
) -> None:
    from drakit_allocator.explanation.phrases import faulty_patch_text, silenced_patch_text
    from drakit_allocator.features import Features
    from drakit_allocator.inputs import file_nodes, placement
    from drakit_client.manifests.documents import ManifestError
    from drakit_client.manifests.files import read_manifests

    gates = gates_of(emulated_version, feature_gates)
    features = Features.from_gates(gates).compatible(compat)
    try:
        manifests = read_manifests(files, gates)
        workloads = placement.chosen(placement.workloads(manifests), pods, claims)
        objects, is_assumed = file_nodes.nodes_of(manifests, nodes)
    except ManifestError as error:
        raise UnusableFiles(str(error)) from None
    _tell(manifests, objects if is_assumed else [])
    placing = placement.Placement(_inventory(manifests, features), objects, timeout=timeout)
    placed: list[Placed] = []
    try:
        _place(workloads, placing, placed)
        lacking = [one for one in placed if not one.node] if explain else []
        explained = [_explained(one, manifests, features, objects) for one in lacking] if explain else None
    except KeyboardInterrupt:  # nothing of what was found until then is lost
        _print(manifests, placed, None, output, compat)
        click.echo(f"{len(workloads) - len(placed)} of {len(workloads)} were not asked for", err=True)
        raise
    if not explained:
        for silenced in placing.silenced_patches:
            click.echo(silenced_patch_text(silenced), err=True)
        for faulty in placing.faulty_patches:
            click.echo(faulty_patch_text(faulty), err=True)
    _print(manifests, placed, explained, output, compat)
    if any(not one.node for one in placed):
        raise SystemExit(1)


def _print(
    manifests: Manifests,
    placed: Sequence[Placed],
    explained: Sequence[Explanation] | None,
    output: str,
    compat: Compat,
) -> None:
    from drakit_allocator.cli import placement_report
    from drakit_allocator.explanation import explanation_text

    if output == "text":
        table = placement_report.table(placed, tells_why=explained is None)
        click.echo("\n".join(filter(None, [table, *map(explanation_text, explained or ())])), nl=False)
    else:
        form: Form = "json" if output == "json" else "yaml"
        avoided = placed if compat == "safe" else None
        click.echo(placement_report.listed(manifests, explained, avoided, form), nl=False)


def gates_of(emulated_version: str, feature_gates: str) -> FeatureGates:
    """Parse the options for feature gates. Raises ``click.UsageError``."""
    from drakit_api.features import FeatureGateError, FeatureGates, parse_gates

    try:
        return FeatureGates(emulated_version, parse_gates(feature_gates))
    except FeatureGateError as error:
        raise click.UsageError(str(error)) from error


def _tell(manifests: Manifests, assumed: Sequence[Object]) -> None:
    """Print to stderr what was replaced, ignored or assumed."""
    from drakit_allocator.cli.ignored_patches import tell_ignored
    from drakit_allocator.inputs.file_nodes import label_text

    for name in manifests.replaced:
        click.echo(f"{name} replaces the one before it", err=True)
    if manifests.ignored:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(manifests.ignored.items()))
        click.echo(f"ignored: {kinds}", err=True)
    tell_ignored(manifests.patches_off)
    if assumed:
        names = ", ".join(map(label_text, assumed[:5])) + (" ..." if len(assumed) > 5 else "")
        click.echo(f"there is no Node in the files; assumed from ResourceSlices: {names}", err=True)


def _inventory(manifests: Manifests, features: Features) -> Inventory:
    from drakit_allocator.explanation import Inventory

    return Inventory.of(
        features,
        slices=manifests.of("ResourceSlice"),
        classes=manifests.of("DeviceClass"),
        taint_rules=manifests.of("DeviceTaintRule"),
        claims=manifests.of("ResourceClaim"),
        patches=manifests.of("ResourceSlicePatch"),
    )


def _place(workloads: Sequence[Workload], placing: Placement, placed: list[Placed]) -> None:
    from drakit_allocator.cli.waiting import Waiting

    waiting = Waiting("allocated")
    for workload in workloads:
        placed.append(placing.place(workload))
        waiting(len(placed), len(workloads))


def _explained(one: Placed, manifests: Manifests, features: Features, nodes: Sequence[Object]) -> Explanation:
    """Explain a workload beside what is allocated in the end, which may be more than when it was its turn."""
    from drakit_allocator.cli.waiting import Waiting
    from drakit_allocator.explanation import explain
    from drakit_allocator.inputs.placement import split_nodes

    candidates, excluded = split_nodes(one.workload, nodes)
    progress = Waiting(f"nodes for {one.workload.name}")
    inventory = _inventory(manifests, features)
    return explain(one.workload.to_allocate, candidates, inventory, excluded=excluded, progress=progress)
