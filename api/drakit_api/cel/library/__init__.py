"""The functions of CEL and of Kubernetes' libraries, a module for each family, and the formats of their values."""
