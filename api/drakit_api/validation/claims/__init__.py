"""What Kubernetes demands of a ResourceClaim and of its templates."""
