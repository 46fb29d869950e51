"""Stories that kind clusters alone can tell: ``pytest e2e/kind --drakit-cluster kind``."""
