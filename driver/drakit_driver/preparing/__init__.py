"""From an allocated claim to a prepared one: checks, configuration, CDI specs, and the checkpoint."""
