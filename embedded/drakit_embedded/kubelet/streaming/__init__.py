"""How commands in containers reach their clients: five streams over one connection, by WebSocket or by SPDY/3.1.

``streams`` says what both give to a command and take from it, ``websockets`` and ``spdy`` how they travel, ``serving``
which of the two a request asks for. What is executed is not known here (``execution``). After
k8s.io/cri-streaming/pkg/streaming/remotecommand, in which kubelets and container runtimes share this.
"""
