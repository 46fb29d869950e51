"""How commands end when something is wrong that the user can mend."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

from drakit_kind.cluster import ClusterError
from drakit_kind.kubeconfig import KubeconfigError


@contextlib.contextmanager
def readable_errors() -> Iterator[None]:
    """What a user can mend is one line on stderr and exit status 1, not a traceback."""
    try:
        yield
    except (ClusterError, KubeconfigError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    except BrokenPipeError:
        raise  # whoever reads has read enough, e.g. `head`: click ends quietly
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise click.ClickException(f"{where}{error.strerror or error}") from error
