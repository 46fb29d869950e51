"""A scheduler around the allocator, on the public API of Kubernetes only.

Data enters through reflectors (``mirror``) into memory (``state``: nodes, pods, claims, devices, the queue). Pods leave
the queue one by one, a decision is made on that memory (``cycle``), and is written back concurrently (``binding``)
while the lease (``leadership``) says that this scheduler may write.

It decides and explains as kube-scheduler 1.37 with its default plugins does, without preemption, volumes, preferred
affinity between pods, soft topology spread and image locality.
"""

from drakit_allocator.scheduler.scheduler import Counters, Scheduler

__all__ = ["Counters", "Scheduler"]
