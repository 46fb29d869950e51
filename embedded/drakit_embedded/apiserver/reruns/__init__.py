"""How code that must not wait gets answers from other programs: what asks is run again once the answer is there.

From the object that is read to the one that is stored, a write is one piece of code without an await, so that nothing
changes under it (``storage.turns``). Deep in it, admission may come to a webhook. It then looks up the answer
(``answers``). If there is none yet, ``Pending`` ends this run: nothing has been stored, the turn is over, and other
writes go on. ``settled`` asks, remembers the answer and runs all of it anew. If the object in the store is still the
same, the same question comes up and is answered from memory; if it has changed, another question does and is asked.
That is what GuaranteedUpdate of k8s.io/apiserver/pkg/storage/etcd3/store.go does, with one way to do it for every verb.

A run that is repeated must ask the same. So what a request makes up by itself, as the UID of a new object and the time,
is made up once for all of its runs: ``once`` and ``now``.

- ``memory``: what a request remembers from one run to the next;
- ``driver``: the runs.
"""
