"""Clusters of kind: a node image where there is no registry, the image with driver and scheduler, the backend itself.

In: binaries (``drakit_kind.kubernetes``), a Debian root, kind's own Go module, a Docker daemon. Out: images in that
daemon, and ``KindCluster``, which tests use like any other cluster.
"""
