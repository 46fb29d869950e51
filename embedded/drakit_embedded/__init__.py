"""A Kubernetes cluster in one Python process: API server, controllers and simulated kubelets.

Each of these folders is one slot that a real component can take instead, so they meet only over HTTP and gRPC:

- ``apiserver``: kube-apiserver and its store; ``runtime_config`` says which API versions it serves;
- ``controllers``: what kube-controller-manager does for Dynamic Resource Allocation;
- ``kubelet``: any number of kubelets without machines.

``cli`` and ``kubelet_command`` are the commands that run them. ``quota`` counts for API server and controllers alike;
``api_groups``, ``certificates``, ``private_keys``, ``serving`` and ``workqueue`` are below all three.
"""
