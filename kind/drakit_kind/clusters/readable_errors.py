"""How commands end when something is wrong that the user can mend."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

from drakit_kind.cluster import ClusterError, with_notes
from drakit_kind.clusters.kubeconfig import KubeconfigError


@contextlib.contextmanager
def readable_errors() -> Iterator[None]:
    """Print errors that a user can fix on stderr, and exit with status 1 and no traceback.

    Errors of drakit itself, of the system, of what an API server refuses, and of waits in vain.
    """
    try:
        yield
    except (ClusterError, KubeconfigError, ValueError) as error:
        raise click.ClickException(with_notes(error)) from error
    except BrokenPipeError:
        raise  # whoever reads has read enough, e.g. `head`: click ends quietly
    except Exception as error:
        if (text := _text(error)) is None:
            raise
        raise click.ClickException(with_notes(error, text)) from error


def _text(error: Exception) -> str | None:
    # Imported here: commands that succeed need not pay for it.
    from aiohttp import ClientError

    from drakit_client.errors import ApiError, ConfigurationError
    from drakit_kind.clusters.api import WaitTimeout

    if isinstance(error, (ApiError, ClientError, ConfigurationError, WaitTimeout)):
        return str(error) or type(error).__name__
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}" or "no answer in time"
    return None
