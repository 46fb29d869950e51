"""What the API server asks of kubelets: container logs, and how both know that they are who they say."""
