"""Credentials that the API server shows to kubelets, and the authority by which it verifies theirs.

Where a kubelet listens is what its node says, and who may write a node may name any port of this machine. A client
certificate can be shown to whoever listens there: it proves something only to the one that is asked now. A token can be
kept and used by him, so it goes only to those whose certificate an authority has signed. After
k8s.io/kubernetes/pkg/kubelet/client/kubelet_client.go.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

from drakit_embedded import certificates


class AccessError(Exception):
    """Credentials that cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class KubeletAccess:
    """How to reach kubelets: PEM files as of ``--kubelet-client-certificate`` and so on, and a bearer token."""

    certificate: Path | None = None
    key: Path | None = None
    # Read for each connection: kubelets may write the file only after the API server has started.
    authority: Path | None = None
    token: str = ""

    def check(self) -> None:
        """Check the settings before there is a kubelet to talk to.

        Raises:
            AccessError: for a token without an authority, or files that cannot be read.
        """
        if self.token and self.authority is None:
            raise AccessError(
                "a token for kubelets is sent only to those whose certificate can be verified: give their authority, "
                "too (--kubelet-certificate-authority; `drakit kubelet run` writes it to ROOT/.kubelet.crt)"
            )
        try:
            self._shown()
        except OSError as error:
            raise AccessError(
                f"certificate or key for kubelets cannot be used: {error}; give others, or none"
            ) from None

    @property
    def headers(self) -> dict[str, str]:
        """Headers for a kubelet, which must have been verified by ``context`` before they are sent."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def context(self) -> ssl.SSLContext:
        """Build the TLS context of one connection.

        Raises:
            OSError: if the authority cannot be read (``ssl.SSLError`` among them).
        """
        context = self._shown()
        if self.authority is not None:
            context.load_verify_locations(self.authority)
            context.verify_mode, context.check_hostname = ssl.CERT_REQUIRED, True
        return context

    def _shown(self) -> ssl.SSLContext:
        return certificates.of_client(self.certificate, self.key)
