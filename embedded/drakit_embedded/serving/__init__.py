"""How drakit's HTTP servers (the API server, the kubelets' port) take connections.

Whoever connects costs a file descriptor before anything is known of him. What bounds that is here: deadlines
(``http_server``), places (``places``), descriptors (``descriptors``), and how often a log says so (``log_rate``).
Connections that go on in another protocol are taken over in ``upgrades``. Work that would keep others waiting is done
in ``background``.
"""
