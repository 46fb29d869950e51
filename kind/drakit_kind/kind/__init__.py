"""Clusters of kind: which images their nodes get, the image with driver and scheduler, the backend itself.

In: a kind program, a Docker daemon, a registry's images or those that ``drakit_images`` makes of local binaries. Out:
``KindCluster``, which tests use like any other cluster.
"""
