"""From a checked tree to Python functions that give the value."""
