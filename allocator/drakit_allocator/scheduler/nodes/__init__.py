"""Which nodes a pod may run on, and which is best: filters and scores."""
