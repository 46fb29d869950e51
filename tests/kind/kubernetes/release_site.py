"""A host of releases on the loopback interface: small scripts where projects publish their programs, with checksums."""

from __future__ import annotations

import hashlib
import io
import ssl
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from drakit_kind.kubernetes.cache import host_platform
from drakit_kind.kubernetes.mains import OF_KUBERNETES, PLUGINS

ARCH = host_platform()[1]
CONTAINERD = ("containerd", "containerd-shim-runc-v2", "ctr")


@dataclass
class ReleaseSite:
    """What a host has, by path, and what it was asked for.

    ``redirected`` paths lead to other URLs; ``cut`` ones end after half of their bytes, and ``stuck`` ones wait there
    until ``go_on`` is set.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    redirected: dict[str, str] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)
    is_stuck: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def publish(self, path: str, content: bytes, checksum: str = "{path}.sha256", *, named: bool = False) -> None:
        """Put a file and its checksum there; ``named``: with the file's name, as sha256sum prints it."""
        self.files[path] = content
        digest = hashlib.sha256(content).hexdigest()
        line = f"{digest}  {path.rpartition('/')[2]}\n" if named else digest
        at = checksum.format(path=path)
        self.files[at] = self.files.get(at, b"") + line.encode()

    def publish_kubernetes(self, version: str) -> None:
        """What dl.k8s.io has of a version."""
        for name in OF_KUBERNETES:
            self.publish(f"/v{version}/bin/linux/{ARCH}/{name}", program(name, version))

    def publish_others(self) -> None:
        """What GitHub has of the other projects, as the newest pinned version asks for it."""
        etcd = f"/etcd-io/etcd/releases/download/v3.7.3/etcd-v3.7.3-linux-{ARCH}"
        inside = etcd.rpartition("/")[2]
        sums = f"{etcd.rpartition('/')[0]}/SHA256SUMS"
        self.publish(f"{etcd}.zip", b"of another system", sums, named=True)
        self.publish(f"{etcd}.tar.gz", archive({f"{inside}/etcd": program("etcd")}), sums, named=True)
        self.publish(
            f"/containerd/containerd/releases/download/v2.4.2/containerd-static-2.4.2-linux-{ARCH}.tar.gz",
            archive({f"bin/{name}": program(name) for name in (*CONTAINERD, "containerd-stress")}),
            "{path}.sha256sum",
            named=True,
        )
        self.publish(
            f"/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-{ARCH}-v1.9.1.tgz",
            archive({f"./{name}": program(name) for name in (*PLUGINS, "vlan")}),
            named=True,
        )
        self.publish(
            f"/kubernetes-sigs/kind/releases/download/v0.33.0/kind-linux-{ARCH}",
            program("kind"),
            "{path}.sha256sum",
            named=True,
        )

    @contextmanager
    def serving(self, certificate: Path | None = None) -> Iterator[None]:
        """Answer at ``url``; with a certificate and its key in one PEM file, by https."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield
        finally:
            self.go_on.set()
            server.shutdown()
            thread.join()
            server.server_close()


def program(name: str, version: str = "") -> bytes:
    """A script that says which program it is."""
    return f"#!/bin/sh\necho {f'Kubernetes v{version}' if version else name}\n".encode()


def archive(files: Mapping[str, bytes], *others: tarfile.TarInfo) -> bytes:
    """A tar.gz of these files, and of members without content."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for other in others:
            tar.addfile(other)
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode, info.uid = len(text), 0o755, 1001
            tar.addfile(info, io.BytesIO(text))
    return content.getvalue()


def _handler(site: ReleaseSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            path = urlsplit(self.path).path  # who asks a proxy names the host, too
            if (target := site.redirected.get(path)) is not None:
                self.send_response(302)
                self.send_header("Location", target)
                self.end_headers()
            elif (content := site.files.get(path)) is None:
                self.send_error(404)
            else:
                self._send(path, content)

        def _send(self, path: str, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            half = len(content) // 2
            self.wfile.write(content[:half])
            self.wfile.flush()
            if path in site.stuck:
                site.is_stuck.set()
                site.go_on.wait()
            if path not in site.cut:
                try:
                    self.wfile.write(content[half:])
                except OSError:  # whoever asked is gone
                    self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
