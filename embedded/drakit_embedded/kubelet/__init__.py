"""Kubelets without machines: real plugin sockets and real pods, containers only in name.

Pods come in through one watch on the API server (``simulator``), plugins through their sockets (``registration``,
``plugins``). A pod's claims are prepared over gRPC (``resources``), the CDI files that the driver wrote are resolved
(``cdi``), and the outcome leaves as pod status (``pod_run``) and as the container's log (``logs``). Rules and words are
those of k8s.io/kubernetes/pkg/kubelet 1.37.
"""

from __future__ import annotations

from drakit_embedded.kubelet.nodes import NodeSpec
from drakit_embedded.kubelet.release import Release
from drakit_embedded.kubelet.simulator import KubeletSimulator
from drakit_embedded.kubelet.timings import Timings

__all__ = ["KubeletSimulator", "NodeSpec", "Release", "Timings"]
