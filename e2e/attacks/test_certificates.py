"""Ways to more rights by certificates: nobody asks as somebody else, approves, signs or vouches without the right to.

The cluster has no controller that signs, so what counts is what one would find to sign.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID

from e2e.attacks.users import Users
from e2e.attacks.victim import Victim

MASTERS = "system:masters"
CLIENT = "kubernetes.io/kube-apiserver-client"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
BUNDLES = "/apis/certificates.k8s.io/v1/clustertrustbundles"
PARTS = ("", "/status", "/approval")
PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml")
FORGED: dict[str, Any] = {"username": "system:admin", "uid": "0", "groups": [MASTERS], "extra": {"scopes": ["all"]}}
APPROVED = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}


def signing_request(*organizations: str, kind: _ASN1Type | None = None) -> bytes:
    """A request in PEM; ``kind`` is of the ASN.1 strings of the organizations."""
    names = [x509.NameAttribute(NameOID.COMMON_NAME, "mallory")]
    names += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name, kind) for name in organizations]
    key = ec.generate_private_key(ec.SECP256R1())
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names)).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


def asked(name: str, pem: bytes, signer: str = "example.com/one", **spec: Any) -> dict[str, Any]:
    """A CertificateSigningRequest."""
    request = {"request": base64.b64encode(pem).decode(), "signerName": signer, "usages": ["client auth"]}
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {**request, **spec},
    }


@pytest.fixture
def users(victim: Victim) -> Users:
    """Mallory may write everything of certificates, and has no right on any signer."""
    users = Users(victim)
    resources = ["certificatesigningrequests", "clustertrustbundles"]
    resources += [f"certificatesigningrequests/{part}" for part in ("approval", "status")]
    users.may("mallory", {"apiGroups": ["certificates.k8s.io"], "resources": resources, "verbs": ["*"]})
    return users


def test_a_request_says_who_made_it_whatever_it_says(users: Users) -> None:
    for method, path in (("POST", REQUESTS), ("PATCH", f"{REQUESTS}/applied")):
        name = "posted" if method == "POST" else "applied"
        headers = {} if method == "POST" else {"Content_Type": PATCHES[-1]}
        path += "?fieldManager=m&force=true" if headers else ""
        code, made = users.ask("mallory", method, path, asked(name, signing_request(), **FORGED), **headers)
        assert code == 201, made
        assert {key: made["spec"].get(key) for key in FORGED} == {
            "username": "mallory",
            "uid": None,
            "groups": ["system:authenticated"],
            "extra": None,
        }


def test_no_request_for_the_group_that_may_do_everything(users: Users) -> None:
    plain, masters = signing_request(), signing_request(MASTERS)
    hidden = {
        "plainly": masters,
        "as the second group": signing_request("devs", MASTERS),
        "between texts": b"text\n" + masters + b"text\n",
        "before a harmless one": masters + plain,
        "with headers": masters.replace(b"REQUEST-----\n", b"REQUEST-----\nA: b\n\n", 1),
        "behind a block that is none": b"-----BEGIN CERTIFICATE REQUEST-----\n!\n-----END X-----\n" + masters,
        **{str(kind): signing_request(MASTERS, kind=kind) for kind in (_ASN1Type.BMPString, _ASN1Type.PrintableString)},
    }
    for number, (how, pem) in enumerate(hidden.items()):
        code, answer = users.ask("mallory", "POST", REQUESTS, asked(f"masters-{number}", pem, CLIENT))
        assert (code, answer["reason"]) in ((403, "Forbidden"), (422, "Invalid")), how
    code, answer = users.ask("mallory", "POST", REQUESTS, asked("harmless", plain + masters, CLIENT))
    assert code == 201, "the second block is nobody's request"


def test_nobody_approves_signs_or_vouches_without_a_right_on_the_signer(users: Users) -> None:
    users.ask("mallory", "POST", REQUESTS, asked("wanted", signing_request()))
    certificate = {"status": {"certificate": "LS0t", "conditions": [APPROVED]}}
    for part in PARTS:
        for kind in PATCHES:
            body = {**asked("wanted", signing_request(), **FORGED), **certificate}
            query = "?fieldManager=m&force=true" if "apply" in kind else ""
            users.ask("mallory", "PATCH", f"{REQUESTS}/wanted{part}{query}", body, Content_Type=kind)
        _, found = users.ask("mallory", "GET", f"{REQUESTS}/wanted")
        users.ask("mallory", "PUT", f"{REQUESTS}/wanted{part}", {**found, **certificate})
        _, found = users.ask("mallory", "GET", f"{REQUESTS}/wanted")
        assert found["status"] == {}, part
        assert found["spec"]["username"] == "mallory", part
    code, _ = users.ask("mallory", "POST", REQUESTS, {**asked("born-approved", signing_request()), **certificate})
    _, found = users.ask("mallory", "GET", f"{REQUESTS}/born-approved")
    assert (code, found["status"]) == (201, {})
    bundle = {"metadata": {"name": "example.com:one:a"}, "spec": {"signerName": "example.com/one", "trustBundle": "x"}}
    assert users.ask("mallory", "POST", BUNDLES, bundle)[0] in (403, 422)


def test_a_right_on_one_signer_is_none_on_another(users: Users) -> None:
    rule = {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": ["approve"]}
    users.may("approver", {**rule, "resourceNames": ["example.com/one"]})
    users.ask("mallory", "POST", REQUESTS, asked("other", signing_request(), CLIENT))
    body = {"status": {"conditions": [APPROVED]}, "spec": {"signerName": "example.com/one"}}
    code, _ = users.ask("approver", "PATCH", f"{REQUESTS}/other/approval", body, Content_Type=PATCHES[0])
    assert code == 403


def test_random_bytes_in_a_request(
    users: Users, attack_random: random.Random, rounds: Callable[[], Iterator[int]]
) -> None:
    """Each is taken, or refused as what it is; none is an error of the server."""
    pem = signing_request(MASTERS)
    der = base64.b64decode(b"".join(pem.splitlines()[1:-1]))
    for number in rounds():
        broken = bytearray(der)
        for _ in range(attack_random.randint(1, 4)):
            broken[attack_random.randrange(len(broken))] = attack_random.randrange(256)
        cut = broken[: attack_random.choice((len(broken), attack_random.randrange(len(broken))))]
        lines = base64.encodebytes(bytes(cut))
        whole = b"-----BEGIN CERTIFICATE REQUEST-----\n" + lines + b"-----END CERTIFICATE REQUEST-----\n"
        code, answer = users.ask("mallory", "POST", REQUESTS, asked(f"random-{number}", whole, CLIENT))
        # One whose signature is right has not been changed: it is one for the group.
        assert code in (403, 422), (answer, whole)
