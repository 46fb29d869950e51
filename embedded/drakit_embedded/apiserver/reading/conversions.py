"""Conversion of many objects by a program outside, before they are shown: lists and watches wait for it.

Afterwards each record has what became of it (``Record.converted``), and whoever shows it next need not ask.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from itertools import islice

from drakit_embedded.apiserver.registry.catalog import Served
from drakit_embedded.apiserver.registry.custom import unreadable
from drakit_embedded.apiserver.registry.custom.unreadable import UnreadableError
from drakit_embedded.apiserver.reruns import driver
from drakit_embedded.apiserver.storage.store import Record

# Questions to a program at the same time.
_AT_ONCE = 16


async def prepared(served: Served, records: Iterable[Record]) -> None:
    """Have all records converted to the version that is served.

    Raises:
        StatusError: 500 if some cannot be, with a cause for each.
    """
    if not served.is_converting:
        return
    faults: list[UnreadableError] = []
    missing = _missing(served, records)
    while some := list(islice(missing, _AT_ONCE)):
        found = await asyncio.gather(*(_converted(served, record) for record in some))
        faults += [fault for fault in found if fault is not None]
        if len(faults) >= unreadable.MOST:
            break
    if faults:
        raise unreadable.of_list(faults)


def _missing(served: Served, records: Iterable[Record]) -> Iterator[Record]:
    own, key = served.kind.api_version, served.form_key
    return (record for record in records if record.api_version != own and key not in record.converted)


async def _converted(served: Served, record: Record) -> UnreadableError | None:
    async def body() -> None:
        served.body(record)

    try:
        await driver.settled(body)
    except UnreadableError as error:
        return error
    return None
