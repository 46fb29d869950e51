"""Kubernetes' own control plane as child processes: etcd, kube-apiserver, kube-controller-manager, kube-scheduler.

A fake part is worth what its comparison with the real part is worth, so each real part takes the slot of ours in an
otherwise unchanged cluster. Binaries come in from ``drakit_kind.kubernetes.assets``; keys, data and logs go below the
cluster's directory; everything listens on 127.0.0.1 or on a unix socket in that directory.
"""
