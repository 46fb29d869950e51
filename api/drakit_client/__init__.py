"""How the components reach an API server: connections, list and watch, events.

Driver, scheduler, controllers and kubelet simulator all follow the same protocol (list, watch from there, list again
after 410, back off when the server is away). It lives here once, because each copy of it would fail differently.
Configuration comes from the official ``kubernetes`` client; objects stay plain ``dict``, as its generated models cost
more than the requests themselves.
"""
