"""``drakit demo``: the shortest way to see what the project is for.

Nothing in it is prepared: it starts a cluster, creates claims and pods as a user would, waits until they run, and draws
what the claims' statuses say.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator

import click
from rich.console import Console

from drakit_api.kubernetes_objects import Object
from drakit_client.resources import DEPLOYMENTS, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES
from drakit_kind.cli.cluster.progress import progress
from drakit_kind.cluster import ClusterError, ClusterSpec, DriverSpec
from drakit_kind.clusters import manifests
from drakit_kind.clusters.api import Api, Condition
from drakit_kind.clusters.backends import LOCAL, Local, real_components
from drakit_kind.clusters.home import ClusterHome
from drakit_kind.clusters.readable_errors import readable_errors
from drakit_kind.demo.gpu_picture import gpus
from drakit_kind.demo.mesh_picture import mesh
from drakit_kind.interrupts import end_in_order_on_signals
from drakit_kind.local.backend import LocalCluster

_SECONDS = 60.0
_NODES = [f"node-{number}" for number in range(1, 6)]

_MIG_PODS = {
    "four-slices": ["1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"],
    "two-halves": ["3g.20gb", "3g.20gb"],
    "small": ["1g.5gb"],
    "media": ["1g.5gb+me"],
    "medium": ["2g.10gb", "2g.10gb"],
}


@click.command()
@click.option("--cluster", "backend", type=click.Choice(LOCAL), default="embedded", show_default=True)
@click.option("--keep", is_flag=True, help="Keep the cluster running as `drakit cluster ... --name demo`.")
def demo(backend: Local, keep: bool) -> None:
    """Run MIG and TPU claims in a cluster and draw who got which device.

    A node with a DGX A100 and four nodes that form a TPU v6e 4x4 pool; the whole takes a few seconds.
    """
    end_in_order_on_signals()
    console = Console()
    with readable_errors(), _started(backend, keep) as cluster:
        console.print(f"[bold]{backend}[/bold] cluster ready after {cluster.ready_seconds:.2f} s: {cluster.url}")
        _run(console, cluster)
    if keep:
        console.print("it keeps running: `drakit cluster status --name demo`, `drakit cluster down --name demo`")


@contextlib.contextmanager
def _started(backend: Local, keep: bool) -> Iterator[LocalCluster]:
    home = ClusterHome.of("demo") if keep else ClusterHome.temporary()
    if home.read_spec() is not None:
        raise ClusterError("there is a cluster demo already; `drakit cluster down --name demo` removes it")
    spec = ClusterSpec(
        name="demo",
        real=real_components(backend),
        nodes=_NODES,
        drivers=[
            DriverSpec(profile="dgx-a100", nodes=_NODES[:1]),
            DriverSpec(profile="tpu-v6e-4x4", nodes=_NODES[1:]),
        ],
    )
    cluster = LocalCluster(spec, home, temporary=not keep, report=progress(spec))
    with contextlib.ExitStack() as undo:
        if not keep:
            undo.callback(shutil.rmtree, home.directory, ignore_errors=True)
        cluster.start()  # ours from here on: what fails to start may be what another demo is just starting
        if keep:
            undo.callback(shutil.rmtree, home.directory, ignore_errors=True)
        undo.callback(cluster.stop)
        yield cluster
        if keep:
            undo.pop_all()


def _run(console: Console, cluster: LocalCluster) -> None:
    with Api(cluster.kubeconfig, patience=cluster.spec.patience) as api:
        began = time.monotonic()
        for name, profiles in _MIG_PODS.items():
            api.create(_mig_claim(name, profiles), manifests.pod(name, name))
        api.create(_tpu_claim("train-2x4", 8), _tpu_claim("serve-2x2", 4))
        api.create(manifests.deployment("train", "train-2x4", replicas=2), manifests.pod("serve", "serve-2x2"))
        console.print(f"{len(_MIG_PODS)} MIG claims and 2 TPU claims are created ...")
        api.wait(DEPLOYMENTS, "train", _available(2), timeout=_SECONDS, what="available")
        api.wait_running(*_MIG_PODS, "serve", timeout=_SECONDS)
        console.print(f"... and all their pods run after {time.monotonic() - began:.2f} s\n")
        _draw(console, api)


def _draw(console: Console, api: Api) -> None:
    slices, claims, pods = api.objects(RESOURCE_SLICES), api.objects(RESOURCE_CLAIMS), api.objects(PODS)
    console.print("[bold]DGX A100[/bold]: the eight memory slices of each GPU, by claim")
    console.print(gpus(slices, claims, "gpu.nvidia.com"))
    console.print("\n[bold]TPU v6e 4x4[/bold]: four hosts of 2x2 chips, by device, claim and pod")
    console.print(mesh(slices, claims, "tpu.google.com", pods))
    worker = next(pod["metadata"]["name"] for pod in pods if pod["metadata"]["name"].startswith("train-"))
    for pod in ("four-slices", worker):
        console.print(f"\n[bold]kubectl logs {pod}[/bold]   (what the container was given)")
        console.print(api.log(pod).rstrip(), highlight=False, soft_wrap=True)


def _mig_claim(name: str, profiles: list[str]) -> Object:
    selector = "device.attributes['gpu.nvidia.com'].profile == '{}'"
    requests = [
        manifests.request(f"mig-{index}", "mig.nvidia.com", selector.format(profile))
        for index, profile in enumerate(profiles)
    ]
    return manifests.claim(name, *requests, match_attribute="gpu.nvidia.com/parentUUID")


def _tpu_claim(name: str, chips: int) -> Object:
    enough = f"device.capacity['tpu.google.com'].tpus.compareTo(quantity('{chips}')) == 0"
    return manifests.claim(name, manifests.request("tpu", "tpu.google.com", enough))


def _available(replicas: int) -> Condition:
    return lambda seen: bool(seen.get("status", {}).get("availableReplicas") == replicas)
