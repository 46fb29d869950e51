"""A Kubernetes cluster in one Python process: API server, controllers and simulated kubelets.

Each of the three folders is one slot that a real component can take instead, so they meet only over HTTP and gRPC.
"""
