"""A webhook of the test's own process, in place of the pod's where clusters run no containers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from drakit_allocator.webhook.configuration import PATH, of_url
from drakit_allocator.webhook.serving import Address, serving
from drakit_api.features import FeatureGates
from drakit_client.connection import Connection
from drakit_client.resources import VALIDATING_WEBHOOKS


@contextlib.asynccontextmanager
async def called(api: Connection) -> AsyncIterator[None]:
    """Have an API server ask it of every patch, as long as the block runs."""
    async with serving(Address("127.0.0.1", 0), FeatureGates()) as served:
        await api.create(VALIDATING_WEBHOOKS, of_url(served.address.url(PATH), served.certificate, "Ignore"))
        yield
