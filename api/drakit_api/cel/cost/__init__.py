"""What an expression may cost at most, and what an evaluation did cost: the limits of Kubernetes."""
