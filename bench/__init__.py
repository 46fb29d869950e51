"""How fast drakit is, beside what the real components of Kubernetes took for the same work.

Each module is one benchmark and ends in one table: ``run(step, quick=...)`` measures and returns a ``Report``, while
``step`` says what is going on. ``quick`` is the smallest setting: it shows that the benchmark works, its figures mean
little. ``python -m bench --list`` names them.

Figures of Kubernetes stand in each module as data. They were measured once, with real components of version 1.37.1
built from source (etcd without fsync, client limits raised), on two cores, by load generators that do the same requests
as these; so on two idle cores the ratio compares implementations, and anywhere else it only gives an idea.
"""
