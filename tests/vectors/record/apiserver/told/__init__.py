"""Stories of several requests that are told to a server, and what it answers; ``*_stories`` make them."""
