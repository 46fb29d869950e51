"""What is known of a cluster, whoever runs it: its files, flags, kubeconfig, API and logs."""
