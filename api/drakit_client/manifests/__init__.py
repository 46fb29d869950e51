"""Manifests in files: what ``kubectl`` would send to an API server, read and judged without one."""
