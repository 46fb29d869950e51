"""A real kube-apiserver that answers exchanges: those that are recorded, again, or new ones.

``servers`` starts it, with etcd, from the programs of ``drakit kubernetes build``; ``tests.vectors.replay`` asks it;
``mutations`` makes new requests of those that are accepted.
"""
