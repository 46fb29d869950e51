"""Who asks: the users that a server knows, and how a request shows which of them it comes from.

- ``authenticator``: the user of a request, by its certificate or its token;
- ``static_tokens``, ``account_tokens``: the two kinds of tokens; ``jwt`` signs and checks the second;
- ``issuer``: what others need to check them, too;
- ``users``: users and the groups that they are in.

After k8s.io/apiserver/pkg/authentication and pkg/endpoints/filters. Asking as somebody else is a right, and thus in
``authorization.impersonation``.
"""
