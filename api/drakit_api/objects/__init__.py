"""What becomes of an object of resource.k8s.io between a request and the store."""
