"""``drakit demo``: claims in a cluster, and pictures of who got which device."""
