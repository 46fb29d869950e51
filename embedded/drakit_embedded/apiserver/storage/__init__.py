"""What the server knows: encoded objects and their history in memory, and the file that outlives the process."""
