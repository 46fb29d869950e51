"""How long a simulated kubelet waits for what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds. Where a default differs from the kubelet's, it is shorter, so that tests need not wait.

    ``sync``: between two attempts to start a pod whose claims could not be prepared (kubelet: ``syncFrequency``, 60).
    ``backoff``: between two attempts to finish a pod, e.g. while NodeUnprepareResources fails (kubelet: 10).
    ``crash``: before a container is started for the third time, doubled each time up to 30 times that (kubelet: 10).
    ``wiping``: a driver that is away for so long loses its ResourceSlices on the node (kubelet: 30).
    ``health_retry``: before a broken health stream is opened again (kubelet: 5).
    ``reconcile``: how often claims of pods that no longer exist are looked for (kubelet: 60).
    ``poll``: how often plugin directories are looked at (the kubelet uses inotify and acts once a second).
    ``heartbeat``: between two renewals of a node's lease (kubelet: 10); 0 means no leases.
    ``lease``: how long a lease is valid (kubelet: 40).
    """

    sync: float = 2.0
    backoff: float = 2.0
    crash: float = 10.0
    wiping: float = 30.0
    health_retry: float = 5.0
    reconcile: float = 60.0
    poll: float = 0.02
    heartbeat: float = 10.0
    lease: int = 40
