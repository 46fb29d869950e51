"""Calls of this server to other programs: webhooks of admission, and of custom resources' versions.

- ``targets``: what a ``clientConfig`` says, a URL or a Service;
- ``addresses``: where a Service is on this machine;
- ``clients``: the connections, and one POST as client-go makes it;
- ``go_errors``: what can go wrong with it, in the words of Go's libraries.

A call waits for another program, which no write and no read may do: ``reruns`` says how they get the answers.
"""
