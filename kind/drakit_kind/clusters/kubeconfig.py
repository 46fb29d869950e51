"""Writing kubeconfig files, including ones that hold other clusters too.

``drakit cluster up`` adds its context to the user's kubeconfig, as kind does, so that kubectl works at once; all that
is there already stays, in its order, and the file is replaced in one step or not at all.
"""

from __future__ import annotations

import base64
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from drakit_client.files import private_files, regular_files
from drakit_kind.clusters import previous_context
from drakit_kind.clusters.previous_context import IsRunning
from drakit_kind.interrupts import held_back

_LISTS = ("clusters", "contexts", "users")
# Others hold the lock only while they read and write a file.
_LOCK_SECONDS = 10.0
_LOCK_PAUSE = 0.02
# The content of drakit's lock files; those of kubectl are empty.
_LOCK_MARK = b"drakit\n"


class KubeconfigError(Exception):
    """The existing file cannot be read as a kubeconfig, or cannot be replaced; it is left as it is."""


def default_path() -> Path:
    """Return the first file in ``$KUBECONFIG``, else ``~/.kube/config``."""
    listed = [entry for entry in os.environ.get("KUBECONFIG", "").split(os.pathsep) if entry]
    return Path(listed[0]) if listed else Path.home() / ".kube" / "config"


def entry(name: str, server: str, token: str, certificate: bytes | None) -> dict[str, Any]:
    """Make a whole kubeconfig for one cluster; ``certificate`` is the authority's PEM, None for plain HTTP."""
    cluster: dict[str, Any] = {"server": server}
    if certificate is not None:
        cluster["certificate-authority-data"] = base64.b64encode(certificate).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def load(path: Path) -> dict[str, Any]:
    """Read a kubeconfig; raise ``KubeconfigError`` if it does not exist or is empty."""
    config = _read(path)
    if config is None:
        raise KubeconfigError(f"{path} does not exist or is empty")
    return config


def check(path: Path) -> None:
    """Raise ``KubeconfigError`` now if ``add`` could not add to this file later."""
    _read(path)
    directory = path.resolve().parent
    while not directory.exists():
        directory = directory.parent
    if not directory.is_dir() or not os.access(directory, os.W_OK | os.X_OK):
        raise KubeconfigError(f"{path}: {directory} is no directory to write to; name another --kubeconfig FILE")
    if path.resolve().parent.is_dir():
        with _alone(path):
            pass


def add(path: Path, config: dict[str, Any], directory: Path | None = None) -> None:
    """Merge ``config``, of the cluster in ``directory``, into the file at ``path``, and make it the current one.

    Entries of the same name are replaced.
    """
    path.resolve().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _alone(path):
        merged = _read(path) or {"apiVersion": "v1", "kind": "Config"}
        for context in config["contexts"]:
            previous_context.note(merged, context, directory)
        for key in _LISTS:
            new = config[key]
            names = {item["name"] for item in new}
            merged[key] = [item for item in merged.get(key) or [] if item.get("name") not in names] + new
        merged["current-context"] = config["current-context"]
        write(path, merged)


def remove(path: Path, name: str, server: str, is_running: IsRunning = lambda _: False) -> str:
    """Take one cluster's entries out again; a file that held nothing else is removed.

    Those of the name may be another cluster's by now, which has another ``server``: they stay. If the context was the
    current one, the one before it is again, or another cluster of ours that ``is_running``. Returns which one, or "".
    """
    if not path.exists():
        return ""
    with _alone(path):
        config = _read(path)
        if config is None or not _has(config, name, server):
            return ""
        selected = _take_out(config, name, is_running)
        if any(config[key] for key in _LISTS):
            write(path, config)
        else:
            path.resolve().unlink()  # of a symlink, the file that holds the token
        return selected


def _has(config: dict[str, Any], name: str, server: str) -> bool:
    mine = [item for item in config.get("clusters") or [] if item.get("name") == name]
    return any((item.get("cluster") or {}).get("server") == server for item in mine)


def _take_out(config: dict[str, Any], name: str, is_running: IsRunning) -> str:
    """Remove all of that name; returns the context that was selected in its place, or ""."""
    selected = ""
    if config.get("current-context") == name:
        config["current-context"] = selected = previous_context.after_removal(config, name, is_running)
    previous_context.hand_on(config, name)
    for key in _LISTS:
        config[key] = [item for item in config.get(key) or [] if item.get("name") != name]
    return selected


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other programs from the file between reading and writing it, or one undoes what the other did.

    Other processes of drakit by a lock on the directory, which stays when the file is replaced, and for which they
    queue, by whatever name they call the file; kubectl, kind and others by the file that client-go's clientcmd makes.
    Such a file of drakit's that is there while we have the directory's lock is that of a process that was killed.
    """
    descriptor = os.open(path.resolve().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        alone = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # not every network file system has locks for directories
            alone = False
        with _lock_file(path, alone):
            yield
    finally:
        os.close(descriptor)


@contextmanager
def _lock_file(path: Path, alone: bool) -> Iterator[None]:
    """As lockFile of client-go's clientcmd/loader.go: it is there for as long as somebody has the lock.

    ``alone``: no other drakit that lives has it, so a file of one is ours to take over.
    """
    lock = path.with_name(f"{path.name}.lock")
    deadline = time.monotonic() + _LOCK_SECONDS
    ours = False
    try:
        while not ours:
            with held_back():  # interrupted here, we would not know of it
                ours = _made(lock) or (alone and _is_drakits(lock))
            if not ours:
                _wait_for(lock, path, deadline)
        yield
    finally:
        if ours:
            lock.unlink(missing_ok=True)


def _made(lock: Path) -> bool:
    try:
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise KubeconfigError(f"{lock.parent} cannot be written to: {error}; name another --kubeconfig FILE") from error
    with suppress(OSError):  # on a full disk, a lock like that of others
        os.write(descriptor, _LOCK_MARK)
    os.close(descriptor)
    return True


def _is_drakits(lock: Path) -> bool:
    try:
        return regular_files.read(lock, limit=len(_LOCK_MARK)) == _LOCK_MARK
    except OSError:  # gone since, another user's, or another program's
        return False


def _wait_for(lock: Path, path: Path, deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise KubeconfigError(
            f"{path} was left as it is: {lock} has been there for {_LOCK_SECONDS:.0f} s, so a program like kubectl or "
            "kind is changing the file, or was killed while it did; remove it if no program does"
        )
    time.sleep(_LOCK_PAUSE)


def _read(path: Path) -> dict[str, Any] | None:
    if path.exists() and not path.is_file():
        # Above all /dev/null, which means that nothing shall be kept, and which root could replace.
        raise KubeconfigError(
            f"{path} is not a regular file, so nothing was added to it; name another --kubeconfig FILE"
        )
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise KubeconfigError(f"{path} cannot be read, so nothing was added to it: {error}") from error
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise KubeconfigError(f"{path} is not YAML, so nothing was added to it: {error}") from error
    if config is None:
        return None
    if not isinstance(config, dict):
        raise KubeconfigError(f"{path} is not a kubeconfig, so nothing was added to it; name another --kubeconfig FILE")
    return config


def write(path: Path, config: dict[str, Any]) -> None:
    """Put ``config`` alone into ``path``: all of it or nothing, private to the user."""
    private_files.write(path.resolve(), yaml.safe_dump(config, sort_keys=False))  # a symlink stays one
