"""Paths inside of volumes, and of profiles: none may lead out of where it starts.

After validateLocalDescendingPath and its neighbours in k8s.io/kubernetes/pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from drakit_api.validation.errors import Errors, invalid


def no_backsteps(target: str, path: str) -> Errors:
    """Check that no part of a path is ``..``."""
    if ".." in target and ".." in target.split("/"):
        yield invalid(path, target, "must not contain '..'")


def descending(target: str, path: str) -> Errors:
    """Check that a path is relative and does not lead out of where it starts."""
    if target.startswith("/"):
        yield invalid(path, target, "must be a relative path")
    yield from no_backsteps(target, path)


def not_reserved(target: str, path: str) -> Errors:
    """Check that a path is descending and begins with no ``..name``, as names of the kubelets' own files there do."""
    if not target.startswith(("/", "..")) and "/.." not in target:
        return ()
    found = list(descending(target, path))
    if target.startswith("..") and not target.startswith("../"):
        found.append(invalid(path, target, "must not start with '..'"))
    return found
