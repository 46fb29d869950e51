"""Clusters on this machine, supervised by one process each: the backends embedded and binaries."""
