"""What the server says about itself for machines: OpenAPI 2 and 3, of all paths and types that are served."""
