"""The images of a kind cluster: of its nodes, of Kubernetes' components, and with driver and scheduler."""
