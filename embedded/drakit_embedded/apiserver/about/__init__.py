"""What the server says about itself: kinds, version, whether it is well, what it has counted, and OpenAPI."""
