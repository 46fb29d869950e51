"""What Kubernetes demands of a ResourceSlice."""
