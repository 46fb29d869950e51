"""What the server says about itself; ``documents`` finds what a path asks for.

- ``health``: ``/healthz``, ``/livez`` and ``/readyz``;
- ``discovery``: the groups, versions and kinds that are served, and the server's own version;
- ``openapi``: the OpenAPI documents of all kinds.

What it has counted of requests is in ``endpoints.metrics``.
"""
