"""How fast drakit is, beside what the real components of Kubernetes took for the same work.

Each module is one benchmark and ends in one table: ``run(step, quick=...)`` measures and returns a ``Report``, while
``step`` says what is going on. ``quick`` is the smallest setting: it shows that the benchmark works, its figures mean
little. ``python -m bench --list`` names them.

Where Kubernetes' programs are on the machine, ``apiserver`` and ``footprint`` start kube-apiserver 1.37.1 with etcd
3.7.3 (without fsync) and measure them in turns with ours, by the same client. All other figures of Kubernetes, and
those of these two where its programs are missing, stand in the modules as data: they were measured once on two cores,
and each says of which components. So on two idle cores a ratio compares implementations, and anywhere else it only
gives an idea.
"""
