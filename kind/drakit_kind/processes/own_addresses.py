"""Addresses of clusters on this machine, which no proxy may be asked for."""

# Private networks (RFC 1918) where they are rarely used, then the one for benchmarks (RFC 2544).
NODE_NETWORKS = ("10.213.0.0/16", "172.29.0.0/16", "192.168.208.0/20", "198.18.0.0/15")
