"""Programs that are started, watched and ended."""
