"""What kube-apiserver keeps in etcd of an object: its protobuf message, how many bytes that takes, and how many it may.

Both the API server, which refuses what etcd would, and the linter of layouts, which says so before, count here.
"""
