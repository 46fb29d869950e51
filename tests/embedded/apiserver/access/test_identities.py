"""Who comes with which credentials, and whose are not taken."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import time
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.x509.oid import NameOID

from drakit_api.features import FeatureGates
from drakit_api.kubernetes_objects import Object
from drakit_client import resources
from drakit_client.connection import Connection
from drakit_client.errors import ApiError
from drakit_embedded.apiserver import Server, ServerConfig, ServerError
from drakit_embedded.apiserver.identity.jwt import SigningKey
from drakit_embedded.apiserver.identity.users import User
from tests.vectors.exchanges import recorded

ADMIN = "of-the-tests"
SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = "/apis/authentication.k8s.io/v1/tokenreviews"
TOKENS = "/api/v1/namespaces/default/serviceaccounts/driver/token"
SIGNING_REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


async def ask(server: Server, token: str, method: str = "POST", path: str = SELF, body: Any = None) -> tuple[int, Any]:
    async with (
        aiohttp.ClientSession(server.url) as session,
        session.request(
            method, path, json=body if body is not None else {}, headers={"Authorization": f"Bearer {token}"}
        ) as response,
    ):
        return response.status, await response.json()


async def who(server: Server, token: str) -> Object:
    code, answer = await ask(server, token)
    assert code == 201, answer
    found: Object = answer["status"]["userInfo"]
    return found


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with Server(ServerConfig(token=ADMIN)) as running:
        account = {"metadata": {"name": "driver"}}
        await ask(running, ADMIN, "POST", "/api/v1/namespaces/default/serviceaccounts", account)
        yield running


async def token_for(server: Server, **spec: Any) -> str:
    code, answer = await ask(server, ADMIN, "POST", TOKENS, {"spec": spec})
    assert code == 201, answer
    return str(answer["status"]["token"])


def claims(token: str) -> Object:
    part = token.split(".")[1]
    found: Object = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found


def encoded(part: Object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


async def test_users_of_the_configuration_and_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens.csv"
    file.write_text('t1,carl,7,"a,b"\n,nobody,8\n t2, dora , 9\n', encoding="utf-8")
    config = ServerConfig(token=ADMIN, token_auth_file=file, users={"t3": User("eve", groups=("c",))})
    async with Server(config) as server:
        assert await who(server, "t1") == {
            "username": "carl",
            "uid": "7",
            "groups": ["a", "b", "system:authenticated"],
        }
        assert (await who(server, "t3"))["groups"] == ["c", "system:authenticated"]
        assert (await who(server, ADMIN))["groups"] == ["system:masters", "system:authenticated"]
        assert (await ask(server, ""))[0] == 403


# Who says of himself what: the groups that he is in.
GROUPS: dict[str, tuple[User, list[str]]] = {
    "nothing": (User("carl"), ["system:authenticated"]),
    "that he has shown who he is": (User("carl", groups=("system:authenticated", "a")), ["system:authenticated", "a"]),
    "that he has not": (User("carl", groups=("a", "system:unauthenticated")), ["a", "system:unauthenticated"]),
    "that he is nobody": (User("system:anonymous", groups=("a",)), ["a"]),
}


@pytest.mark.parametrize("what", GROUPS)
async def test_who_has_shown_who_he_is_is_in_a_group_of_all_such(tmp_path: Path, what: str) -> None:
    """The same by a token of the configuration, by one of a file and by a certificate."""
    user, groups = GROUPS[what]
    file = tmp_path / "tokens.csv"
    file.write_text(f't2,{user.name},,"{",".join(user.groups)}"\n', encoding="utf-8")
    ca = certificate(tmp_path, "ca", "ca")
    certificate(tmp_path, "user", user.name, groups=user.groups, ca=ca)
    config = ServerConfig(
        token=ADMIN, users={"t1": user}, token_auth_file=file, tls=True, client_ca_file=tmp_path / "ca.crt"
    )
    async with Server(config) as server:
        tls = ssl.create_default_context(cadata=(server.ca_certificate or b"").decode())
        for token in ("t1", "t2"):
            async with Connection(server.url, token=ADMIN, tls=tls) as admin:
                review = await admin.json("POST", REVIEW, {"spec": {"token": token}})
                assert review["status"]["user"]["groups"] == groups
        group = "rbac.authorization.k8s.io"
        async with Connection(server.url, token=ADMIN, tls=tls) as admin:
            binding = {
                "metadata": {"name": "who"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:basic-user"},
                "subjects": [{"apiGroup": group, "kind": "User", "name": user.name}],
            }
            await admin.json("POST", f"/apis/{group}/v1/clusterrolebindings", binding)
        tls.load_cert_chain(tmp_path / "user.crt", tmp_path / "user.key")
        async with Connection(server.url, tls=tls) as client:
            assert (await client.json("POST", SELF, {}))["status"]["userInfo"]["groups"] == groups


FILES = {
    "too few columns": ("t1,carl\n", "must have at least 3 columns (token, user name, user uid), found 2"),
    "a quote too few": ('t1,carl,7,"a\n', "cannot be read: unexpected end of data"),
}


@pytest.mark.parametrize("what", FILES)
async def test_a_token_file_that_is_none_is_named(tmp_path: Path, what: str) -> None:
    text, why = FILES[what]
    file = tmp_path / "tokens.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ServerError) as refused:
        await Server(ServerConfig(token_auth_file=file)).start()
    assert str(refused.value) == f"--token-auth-file cannot be used: token file '{file}' {why}"


async def test_a_token_is_its_account_until_that_is_gone(server: Server) -> None:
    token = await token_for(server)
    found = await who(server, token)
    assert found["username"] == "system:serviceaccount:default:driver"
    assert found["groups"] == ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    assert found["extra"] == {"authentication.kubernetes.io/credential-id": [f"JTI={claims(token)['jti']}"]}
    path = "/api/v1/namespaces/default/serviceaccounts"
    await ask(server, ADMIN, "DELETE", f"{path}/driver")
    assert (await ask(server, token))[0] == 401
    await ask(server, ADMIN, "POST", path, {"metadata": {"name": "driver"}})
    assert (await ask(server, token))[0] == 401, "the account of the same name is another one"


async def test_a_pods_token_says_on_which_node_it_runs_and_ends_with_it(server: Server) -> None:
    pods = "/api/v1/namespaces/default/pods"
    spec = {"serviceAccountName": "driver", "nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}
    await ask(server, ADMIN, "POST", pods, {"metadata": {"name": "p"}, "spec": spec})
    token = await token_for(server, boundObjectRef={"kind": "Pod", "apiVersion": "v1", "name": "p"})
    extra = (await who(server, token))["extra"]
    assert extra["authentication.kubernetes.io/node-name"] == ["n1"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]
    await ask(server, ADMIN, "DELETE", f"{pods}/p", {"gracePeriodSeconds": 0})
    _, answer = await ask(server, ADMIN, "POST", REVIEW, {"spec": {"token": token}})
    assert answer["status"] == {
        "user": {},
        "error": "[invalid bearer token, service account token has been invalidated]",
    }


async def test_claims_of_a_token(server: Server) -> None:
    found = claims(await token_for(server, expirationSeconds=3607, audiences=["vault"]))
    assert (found["iss"], found["aud"]) == ("https://kubernetes.default.svc", ["vault"])
    assert found["sub"] == "system:serviceaccount:default:driver"
    assert found["exp"] - found["iat"] == 3607
    assert found["nbf"] == found["iat"]
    assert found["kubernetes.io"]["serviceaccount"]["name"] == "driver"


def message(*fields: tuple[int, bytes]) -> bytes:
    """Protobuf, of fields that are texts and messages of less than 128 bytes."""
    return b"".join(bytes([number << 3 | 2, len(value)]) + value for number, value in fields)


async def test_a_kubelet_asks_for_a_token_in_protobuf(server: Server) -> None:
    """The pod's UID has another name there (authentication/v1 BoundObjectReference), and must not get lost."""
    pods = "/api/v1/namespaces/default/pods"
    spec = {"serviceAccountName": "driver", "containers": [{"name": "c", "image": "i"}]}
    await ask(server, ADMIN, "POST", pods, {"metadata": {"name": "p"}, "spec": spec})
    reference = message((1, b"Pod"), (2, b"v1"), (3, b"p"), (4, b"of-another-pod"))
    request = message((2, message((3, reference))))
    kind = message((1, b"authentication.k8s.io/v1"), (2, b"TokenRequest"))
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/vnd.kubernetes.protobuf"}
    async with (
        aiohttp.ClientSession(server.url, headers=headers) as session,
        session.post(TOKENS, data=b"k8s\0" + message((1, kind), (2, request))) as response,
    ):
        answer = await response.json()
    assert (response.status, answer["message"].partition(" does not match")[0]) == (
        409,
        'Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (of-another-pod)',
    )


async def test_forged_tokens_open_nothing(server: Server) -> None:
    header, body, signature = (await token_for(server)).split(".")
    other = SigningKey().sign(claims(f"{header}.{body}.{signature}"))
    forever = encoded({**claims(f"{header}.{body}."), "exp": int(time.time()) + 10**9})
    forged = {
        "another key": other,
        "another body": f"{header}.{forever}.{signature}",
        "no algorithm": f"{encoded({'alg': 'none'})}.{body}.",
        "a symmetric algorithm": f"{encoded({'alg': 'HS256'})}.{body}.{signature}",
        "no signature": f"{header}.{body}.",
        "a long signature": f"{header}.{body}.{signature}AAAA",
        "characters that are none": f"{header}.{body}.{signature[:-1]}*",
        "a padded signature": f"{header}.{body}.{signature}==",
    }
    assert {what: (await ask(server, token))[0] for what, token in forged.items()} == dict.fromkeys(forged, 401)


async def test_a_token_is_in_one_alphabet(server: Server) -> None:
    """That of URLs: ``+`` and ``/`` are the same characters in another."""
    token = await token_for(server)
    while not {"-", "_"} <= set(token.rpartition(".")[2]):
        token = await token_for(server)
    head, _, signature = token.rpartition(".")
    assert (await ask(server, token))[0] == 201
    for character, other in (("-", "+"), ("_", "/")):
        assert (await ask(server, f"{head}.{signature.replace(character, other)}"))[0] == 401


@pytest.mark.slow
@pytest.mark.parametrize("rsa_key", [True, False])
async def test_others_can_check_a_token(tmp_path: Path, rsa_key: bool) -> None:
    """With the published key alone, as a secret store does that trusts the cluster's service accounts."""
    file = tmp_path / "sa.key"
    file.write_bytes(pem(rsa.generate_private_key(65537, 2048) if rsa_key else ec.generate_private_key(ec.SECP256R1())))
    async with Server(ServerConfig(token=ADMIN, service_account_key_file=file)) as server:
        account = {"metadata": {"name": "driver"}}
        await ask(server, ADMIN, "POST", "/api/v1/namespaces/default/serviceaccounts", account)
        token = await token_for(server)
        _, metadata = await ask(server, ADMIN, "GET", "/.well-known/openid-configuration")
        assert (await ask(server, ADMIN, "POST", "/openid/v1/jwks"))[0] == 405
        assert (await ask(server, "", "GET", "/openid/v1/jwks"))[0] == 403
        async with (
            aiohttp.ClientSession() as session,
            session.get(metadata["jwks_uri"], headers={"Authorization": f"Bearer {token}"}) as response,
        ):
            (key,) = (await response.json(content_type="application/jwk-set+json"))["keys"]
    assert metadata["issuer"] == claims(token)["iss"]
    header, body, signature = token.split(".")
    assert json.loads(raw(header)) == {"alg": key["alg"], "kid": key["kid"]}
    public = public_key(key)
    signed, text = raw(signature), f"{header}.{body}".encode()
    if isinstance(public, rsa.RSAPublicKey):
        public.verify(signed, text, padding.PKCS1v15(), hashes.SHA256())
    else:
        r, s = (int.from_bytes(part, "big") for part in (signed[:32], signed[32:]))
        public.verify(utils.encode_dss_signature(r, s), text, ec.ECDSA(hashes.SHA256()))


def raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def public_key(key: Object) -> rsa.RSAPublicKey | ec.EllipticCurvePublicKey:
    numbers = {name: int.from_bytes(raw(key[name]), "big") for name in ("n", "e", "x", "y") if name in key}
    if key["kty"] == "RSA":
        return rsa.RSAPublicNumbers(numbers["e"], numbers["n"]).public_key()
    return ec.EllipticCurvePublicNumbers(numbers["x"], numbers["y"], ec.SECP256R1()).public_key()


async def test_a_token_ends_in_time(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    token = await token_for(server, expirationSeconds=600)
    now = time.time()
    for later, code in ((600, 201), (661, 401), (-90, 401)):
        monkeypatch.setattr(
            "drakit_embedded.apiserver.identity.account_tokens.time.time", lambda later=later: now + later
        )
        assert (await ask(server, token))[0] == code, later


async def test_tokens_outlive_a_restart_with_the_data(tmp_path: Path) -> None:
    config = ServerConfig(token=ADMIN, data_file=tmp_path / "data.db")
    async with Server(config) as server:
        account = {"metadata": {"name": "driver"}}
        await ask(server, ADMIN, "POST", "/api/v1/namespaces/default/serviceaccounts", account)
        token = await token_for(server)
    assert (tmp_path / "data.db.accounts.pem").stat().st_mode & 0o777 == 0o600
    async with Server(config) as server:
        assert (await who(server, token))["username"] == "system:serviceaccount:default:driver"


def pem(key: Any) -> bytes:
    return bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


@pytest.mark.slow
async def test_a_given_key_signs(tmp_path: Path) -> None:
    file = tmp_path / "sa.key"
    file.write_bytes(pem(rsa.generate_private_key(65537, 2048)))
    async with Server(ServerConfig(token=ADMIN, service_account_key_file=file)) as server:
        account = {"metadata": {"name": "driver"}}
        await ask(server, ADMIN, "POST", "/api/v1/namespaces/default/serviceaccounts", account)
        token = await token_for(server)
        assert (await who(server, token))["username"] == "system:serviceaccount:default:driver"
    assert json.loads(base64.urlsafe_b64decode(token.split(".")[0] + "=="))["alg"] == "RS256"
    file.write_bytes(pem(ec.generate_private_key(ec.SECP384R1())))
    with pytest.raises(ServerError, match="neither an RSA nor a P-256 key"):
        await Server(ServerConfig(service_account_key_file=file)).start()


def subject_of(users: Sequence[str], groups: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user) for user in users]
    return x509.Name(
        attributes + [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups],
    )


def certificate(directory: Path, name: str, *users: str, groups: tuple[str, ...] = (), ca: Any = None) -> Any:
    """Files ``name.crt`` and ``name.key``, and the pair itself; signed by ``ca``, or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject, now = subject_of(users, groups), datetime.now(UTC)
    issuer, signer = (ca[0].subject, ca[1]) if ca else (subject, key)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=ca is None, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )
    (directory / f"{name}.crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (directory / f"{name}.key").write_bytes(pem(key))
    return made, key


async def test_a_client_certificate_is_its_subject(tmp_path: Path) -> None:
    ca = certificate(tmp_path, "ca", "ca")
    certificate(tmp_path, "node", "system:node:n1", groups=("system:nodes",), ca=ca)
    config = ServerConfig(token=ADMIN, tls=True, client_ca_file=tmp_path / "ca.crt")
    async with Server(config) as server:
        tls = ssl.create_default_context(cadata=(server.ca_certificate or b"").decode())
        async with Connection(server.url, token=ADMIN, tls=tls) as admin:
            review = await admin.json("POST", SELF, {})
            assert review["status"]["userInfo"]["username"] == "drakit-admin"
        tls.load_cert_chain(tmp_path / "node.crt", tmp_path / "node.key")
        async with Connection(server.url, tls=tls) as node:
            found = (await node.json("POST", SELF, {}))["status"]["userInfo"]
            assert (found["username"], found["groups"]) == ("system:node:n1", ["system:nodes", "system:authenticated"])
            pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
            spec = {"driver": "d", "nodeName": "n2", "pool": pool}
            with pytest.raises(ApiError, match="can only create ResourceSlice with the same NodeName"):
                await node.create(resources.RESOURCE_SLICES, {"metadata": {"name": "s"}, "spec": spec})


async def test_the_last_of_several_common_names_counts(tmp_path: Path) -> None:
    """As in Go, whose pkix.Name has room for one."""
    ca = certificate(tmp_path, "ca", "ca")
    certificate(tmp_path, "two", "system:node:n1", "system:node:n2", groups=("system:nodes",), ca=ca)
    async with Server(ServerConfig(token=ADMIN, tls=True, client_ca_file=tmp_path / "ca.crt")) as server:
        tls = ssl.create_default_context(cadata=(server.ca_certificate or b"").decode())
        tls.load_cert_chain(tmp_path / "two.crt", tmp_path / "two.key")
        async with Connection(server.url, tls=tls) as node:
            assert (await node.json("POST", SELF, {}))["status"]["userInfo"]["username"] == "system:node:n2"
            for names, fine in ((("system:node:n2", "root"), False), (("root", "system:node:n2"), True)):
                body = signing_request(*names)
                if fine:
                    await node.json("POST", SIGNING_REQUESTS, body)
                    continue
                with pytest.raises(ApiError, match="can only create a node CSR with CN=system:node:n2"):
                    await node.json("POST", SIGNING_REQUESTS, body)


def signing_request(*users: str) -> Object:
    request = x509.CertificateSigningRequestBuilder().subject_name(subject_of(users, ("system:nodes",)))
    text = request.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(
        serialization.Encoding.PEM
    )
    usages = ["client auth", "digital signature"]
    signer = "kubernetes.io/kube-apiserver-client-kubelet"
    spec = {"request": base64.b64encode(text).decode(), "signerName": signer, "usages": usages}
    return {"metadata": {"generateName": "r-"}, "spec": spec}


async def test_every_cluster_starts_with_the_roles_of_kubernetes(server: Server) -> None:
    """Those that collect others get their rules from a controller."""
    for plural in ("clusterroles", "clusterrolebindings", "roles", "rolebindings"):
        _, listed = await ask(server, ADMIN, "GET", f"/apis/rbac.authorization.k8s.io/v1/{plural}")
        found = {bare(obj)[0]: bare(obj)[1] for obj in listed["items"]}
        wanted = dict(bare(vector["object"]) for vector in recorded("policy") if vector["resource"] == plural)
        assert found.keys() == wanted.keys()
        assert [name for name in wanted if found[name] != wanted[name]] == []


@pytest.mark.parametrize(("gates", "code"), [({}, 404), ({"DRAResourcePoolStatus": True}, 200)])
async def test_a_controller_of_a_feature_has_its_role_where_the_gate_is_on(gates: dict[str, bool], code: int) -> None:
    """kube-controller-manager's answers to ResourcePoolStatusRequests would be forbidden otherwise."""
    name = "system:controller:resourcepoolstatusrequest-controller"
    async with Server(ServerConfig(token=ADMIN, gates=FeatureGates(overrides=gates))) as server:
        for plural in ("clusterroles", "clusterrolebindings"):
            path = f"/apis/rbac.authorization.k8s.io/v1/{plural}/{name}"
            assert (await ask(server, ADMIN, "GET", path))[0] == code
        review = {
            "user": "system:serviceaccount:kube-system:resourcepoolstatusrequest-controller",
            "resourceAttributes": {
                "group": "resource.k8s.io",
                "resource": "resourcepoolstatusrequests",
                "subresource": "status",
                "verb": "update",
            },
        }
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        _, answer = await ask(server, ADMIN, "POST", path, {"spec": review})
        assert answer["status"]["allowed"] == (code == 200)


def bare(obj: Object) -> tuple[tuple[str, str], Object]:
    meta = {key: obj["metadata"][key] for key in ("name", "labels", "annotations")}
    kept = ("roleRef", "subjects", "aggregationRule", *(() if obj.get("aggregationRule") else ("rules",)))
    fields = {key: obj[key] for key in kept if obj.get(key)}
    return (obj["metadata"].get("namespace", ""), meta["name"]), {"metadata": meta, **fields}


@pytest.mark.slow
@pytest.mark.usefixtures("controllers")
async def test_roles_collect_the_rules_of_their_parts(connection: Connection, until: Any) -> None:
    async def rules(name: str) -> list[Object]:
        found: list[Object] = (await connection.json("GET", f"{CLUSTER_ROLES}/{name}")).get("rules") or []
        return found

    wanted = {vector["object"]["metadata"]["name"]: vector["object"] for vector in recorded("policy")}

    async def collected() -> bool:
        return all([await rules(name) == wanted[name]["rules"] for name in ("view", "edit", "admin")])

    await until(collected)
    part = {"name": "devices", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}
    rule = {"verbs": ["get"], "apiGroups": ["resource.k8s.io"], "resources": ["deviceclasses"]}
    await connection.json("POST", CLUSTER_ROLES, {"metadata": part, "rules": [rule]})

    async def has_it() -> bool:
        return all([rule in await rules(name) for name in ("view", "edit", "admin")])

    await until(has_it)
    await connection.request("DELETE", f"{CLUSTER_ROLES}/devices")
    await until(collected)


async def test_rights_end_with_the_binding(server: Server) -> None:
    token = await token_for(server)
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:aggregate-to-view"},
        "subjects": [{"kind": "ServiceAccount", "name": "driver"}],
    }
    claims_path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    codes = []
    for method, where, body in (("GET", path, None), ("POST", path, binding), ("DELETE", f"{path}/b", None)):
        await ask(server, ADMIN, method, where, body)
        codes.append((await ask(server, token, "GET", claims_path))[0])
    assert codes == [403, 200, 403]


@pytest.mark.slow
async def test_requests_of_many_users_at_once(server: Server) -> None:
    """What is remembered of one request says nothing about the next."""
    tokens = [await token_for(server) for _ in range(20)]
    names = await asyncio.gather(*(who(server, token) for token in [*tokens, ADMIN] * 3))
    assert {found["username"] for found in names} == {"system:serviceaccount:default:driver", "drakit-admin"}
