"""How the components reach an API server: connections, list and watch, events.

Driver, scheduler, controllers and kubelet simulator all follow the same protocol (list, watch from there, list again
after 410, back off when the server is away). It lives here once, because each copy of it would fail differently.
It reads kubeconfigs, but for those that only the official ``kubernetes`` client understands; objects are plain
``dict``, as that client's models cost more than the requests themselves.
"""
