"""What opens an API server: from kubeconfigs, and from a pod's service account."""
