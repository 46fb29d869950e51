"""``drakit explain``: why a claim or a pod of a cluster does not get its devices."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from drakit_allocator.cli.cluster_reading import Options, cluster_errors, cluster_options, connected
from drakit_allocator.cli.compat_option import compat_option
from drakit_client.processes.ending_signals import run_until_told

if TYPE_CHECKING:
    from drakit_allocator.cli.extended_resources import ExtendedRequests
    from drakit_allocator.explanation import Explanation
    from drakit_allocator.inputs.live_objects import LiveObjects
    from drakit_allocator.inputs.placement import Workload
    from drakit_api.features import FeatureGates
    from drakit_client.connection import Connection

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def explain() -> None:
    """Say why a claim or a pod of a cluster does not get its devices, and what would help.

    \b
    drakit explain claim my-claim
    drakit explain pod my-pod -n team-a --node gpu-worker-1
    drakit explain claim my-claim -o json | jq '.nodes[].remedies'

    It reads nodes, ResourceSlices, DeviceClasses, ResourceClaims and DeviceTaintRules and changes nothing. With
    --feature-gates DRAAdminControlledDeviceAttributes=true, devices are explained as ResourceSlicePatches make them
    look. For CPU, memory and the like, look at the events of the pod. Exit status 0: explained, or it fits; 1: there
    is nothing to explain; 130: Ctrl-C. For files instead of a cluster: drakit allocate -f FILE --explain.

    Where a known defect of Kubernetes' allocator is to blame, it is named; --compat safe explains for a scheduler
    that has none of them, such as drakit scheduler run --compat safe.
    """


def _options(command: F) -> F:
    options = (
        click.option("-n", "--namespace", help="Of the claim or pod. [default: that of the context, or default]"),
        click.option("--node", "nodes", multiple=True, metavar="NAME", help="Only for this node; repeat for more."),
        cluster_options,
        compat_option,
        click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True),
        click.option("--timeout", type=click.FloatRange(min=0.1), default=20.0, show_default=True, help="Seconds."),
    )
    for decorate in reversed(options):
        command = decorate(command)
    return command


@explain.command()
@click.argument("name")
@_options
def claim(name: str, **options: Any) -> None:
    """Explain why the ResourceClaim NAME is not allocated.

    \b
    drakit explain claim my-claim -n team-a
    drakit explain claim my-claim --node gpu-worker-1 -o json
    """
    _run(lambda connection, gates: _claim(connection, gates, name, options), options)


@explain.command()
@click.argument("name")
@_options
def pod(name: str, **options: Any) -> None:
    """Explain why the pod NAME does not get the devices of its claims.

    All claims of the pod that are not allocated must fit on one node, also those made from templates.

    \b
    drakit explain pod my-pod -n team-a
    """
    _run(lambda connection, gates: _pod(connection, gates, name, options), options)


class _Question(NamedTuple):
    """Everything that was read from the cluster, and what is to be explained of it."""

    workload: Workload
    live: LiveObjects
    gates: FeatureGates
    extended: ExtendedRequests | None = None  # that there is no claim for yet


_Reading = Callable[["Connection", "FeatureGates"], Coroutine[Any, Any, _Question]]


def _run(reading: _Reading, options: Options) -> None:
    import json

    from drakit_allocator.explanation import explanation_json, explanation_text

    with cluster_errors():
        # Not explained in there: while it computes, an event loop would not hear Ctrl-C.
        question = run_until_told(connected(reading, options, "explain"))
        explanation = _explained(question, options)
    if options["output"] == "json":
        click.echo(json.dumps(explanation_json(explanation), indent=2, ensure_ascii=False))
    else:
        if question.extended is not None:
            head = f"pod {_full_name(question.extended.pod)} requests extended resources"
            click.echo("\n".join([head, *question.extended.lines(), ""]))
        click.echo(explanation_text(explanation, detailed=len(options["nodes"]) or 3), nl=False)
        if explanation.fits:
            click.echo("Its devices are free: if it waits, the events of its pod say for what (kubectl describe pod).")


async def _claim(connection: Connection, gates: FeatureGates, name: str, options: Options) -> _Question:
    from drakit_allocator.inputs.live_objects import read_cluster
    from drakit_allocator.inputs.placement import Workload

    live = await read_cluster(connection, gates)
    found = live.claim(_namespace(options), name)
    _refuse_allocated([found])
    return _Question(Workload(None, [found]), live, gates)


async def _pod(connection: Connection, gates: FeatureGates, name: str, options: Options) -> _Question:
    from drakit_allocator.inputs.live_objects import ClusterError, read_cluster, read_pod
    from drakit_allocator.inputs.placement import Workload

    namespace = _namespace(options)
    found = await read_pod(connection, namespace, name)
    live = await read_cluster(connection, gates)
    claims = _claims_of(found, live)
    extended = _extended(found, live, gates, claims)
    if (node := found["spec"].get("nodeName")) and all(_is_allocated(one) for one in claims):
        raise ClusterError(f"pod {namespace}/{name} is on node {node} already{_holdings(claims)}")
    _refuse_allocated(claims)
    return _Question(Workload(found, claims), live, gates, extended)


def _extended(
    found: dict[str, Any], live: LiveObjects, gates: FeatureGates, claims: list[dict[str, Any]]
) -> ExtendedRequests | None:
    """Append the claim for the pod's extended resources, and return these; None if there are none or it is there."""
    from drakit_allocator.cli.extended_resources import ExtendedRequests
    from drakit_allocator.inputs.live_objects import ClusterError
    from drakit_allocator.scheduler import extended_resources

    extended = ExtendedRequests(found, live.classes, gates.enabled(extended_resources.GATE))
    made = extended_resources.claim_of(found, live.claims)
    if made is not None:
        claims.append(dict(made))
        return None
    if extended.claim is not None and not found["spec"].get("nodeName"):
        claims.append(extended.claim)
    if not claims:
        told = "nor requests extended resources"
        if extended.requested:
            told = "\n".join(["but requests extended resources", *extended.lines()])
        raise ClusterError(f"pod {_full_name(found)} has no claims (spec.resourceClaims is empty), {told}")
    return extended if extended.requested else None


def _full_name(found: Mapping[str, Any]) -> str:
    return f"{found['metadata']['namespace']}/{found['metadata']['name']}"


def _namespace(options: Options) -> str:
    from drakit_allocator.cli.context_namespace import namespace_of

    return options["namespace"] or namespace_of(options["kubeconfig"], options["context"])


def _claims_of(found: dict[str, Any], live: LiveObjects) -> list[dict[str, Any]]:
    from drakit_allocator.inputs.live_objects import ClusterError
    from drakit_allocator.scheduler.nodes.pods import PodInfo
    from drakit_allocator.scheduler.pod_claims import ClaimsNotReady, names

    info = PodInfo(found)
    try:
        claims = [live.claim(info.namespace, name) for name, _ in names(info)]
    except ClaimsNotReady as error:
        raise ClusterError(f"{error}; kube-controller-manager makes it from its template") from None
    return claims


def _refuse_allocated(claims: list[dict[str, Any]]) -> None:
    from drakit_allocator.inputs.live_objects import ClusterError

    if all(map(_is_allocated, claims)):
        metadata = claims[0]["metadata"]
        what = f"claim {metadata['namespace']}/{metadata['name']} is" if len(claims) == 1 else "all claims are"
        raise ClusterError(f"{what} allocated already{_holdings(claims)}")


def _is_allocated(found: dict[str, Any]) -> bool:
    return bool((found.get("status") or {}).get("allocation"))


def _holdings(claims: list[dict[str, Any]]) -> str:
    """List the devices that the claims have, and who uses the claims."""
    from drakit_api.objects.allocations import results_in

    lines = []
    for one in claims:
        status = one.get("status") or {}
        lines += [
            f"  {one['metadata']['name']} {result['request']}: {result['driver']}/{result['pool']}/{result['device']}"
            for result in results_in(status)
        ]
        users = [f"{user['resource']} {user['name']}" for user in status.get("reservedFor") or ()]
        lines += [f"  {one['metadata']['name']} is reserved for {', '.join(users)}"] if users else []
    return "".join(f"\n{line}" for line in lines)


def _explained(question: _Question, options: Options) -> Explanation:
    import msgspec

    from drakit_allocator.cli.waiting import Waiting
    from drakit_allocator.explanation import Inventory
    from drakit_allocator.explanation import explain as explained
    from drakit_allocator.features import Features
    from drakit_allocator.inputs.live_objects import ClusterError
    from drakit_allocator.inputs.placement import split_nodes
    from drakit_api.features import PATCHES_GATE

    workload, live, gates, extended = question
    names, only = [node["metadata"]["name"] for node in live.nodes], options["nodes"]
    if unknown := [name for name in only if name not in names]:
        raise ClusterError(f"there is no Node {', '.join(unknown)}; there are {', '.join(names[:10])}")
    candidates, excluded = split_nodes(
        workload, [node for node in live.nodes if not only or node["metadata"]["name"] in only]
    )
    if extended is not None:
        excluded |= extended.excluded(candidates)
        candidates = [node for node in candidates if node["metadata"]["name"] not in excluded]
    follows_patches = gates.enabled(PATCHES_GATE)
    inventory = Inventory.of(
        Features.from_gates(gates).compatible(options["compat"]),
        slices=live.slices,
        classes=live.classes,
        taint_rules=live.taint_rules,
        claims=live.claims,
        patches=live.patches if follows_patches else (),
    )
    _tell_of_patches(live, follows_patches)
    explanation = explained(
        workload.to_allocate,
        candidates,
        inventory,
        excluded=excluded,
        seconds=options["timeout"],
        progress=Waiting("nodes"),
    )
    described = () if extended is None else extended.described()
    return msgspec.structs.replace(explanation, extended_resources=described)


def _tell_of_patches(live: LiveObjects, follows_patches: bool) -> None:
    """Say on stderr that patches do not count, or cannot be there."""
    from drakit_allocator.cli.ignored_patches import NOT_INSTALLED, tell_ignored

    if not follows_patches:
        tell_ignored(len(live.patches))
    elif not live.is_patch_kind_installed:
        click.echo(NOT_INSTALLED, err=True)
