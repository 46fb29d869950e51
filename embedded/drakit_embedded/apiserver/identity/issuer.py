"""Where others learn by which key service accounts' tokens are signed: OpenID discovery and the key itself.

After k8s.io/kubernetes/pkg/serviceaccount/openidmetadata.go and pkg/routes/openidmetadata.go.
"""

from __future__ import annotations

import msgspec
from aiohttp import web

from drakit_embedded.apiserver.identity.account_tokens import ISSUER
from drakit_embedded.apiserver.identity.jwt import SigningKey

CONFIGURATION, KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"
KEYS_TYPE = "application/jwk-set+json"
_CACHED = {"Cache-Control": "public, max-age=3600"}


def configuration(key: SigningKey, server: str) -> web.Response:
    """Answer with the OpenID metadata of the issuer; ``server`` is the URL of this server."""
    body = {
        "issuer": ISSUER,
        "jwks_uri": server + KEYS,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [key.algorithm],
    }
    return web.Response(body=msgspec.json.encode(body), headers={**_CACHED, "Content-Type": "application/json"})


def keys(key: SigningKey) -> web.Response:
    """Answer with the public key, as a JSON Web Key Set of one."""
    headers = {**_CACHED, "Content-Type": KEYS_TYPE}
    return web.Response(body=msgspec.json.encode({"keys": [key.public()]}), headers=headers)
