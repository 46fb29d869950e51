"""Files that other users may not read, or may have put there: secrets, and a cache for one user."""
