"""Makes a damaged data file one that a server starts with: what ``drakit apiserver repair`` does."""

from __future__ import annotations

from pathlib import Path

from drakit_embedded.apiserver.storage.journal import Journal, JournalError


def repair(path: Path) -> list[str]:
    """Remove what is damaged, after making a copy; returns what was found and done, one line each.

    Raises ``JournalError`` if SQLite cannot read the file, or the copy cannot be written.
    """
    if not path.exists():
        raise JournalError(f"data file {path} does not exist")
    journal = Journal(path)
    try:
        with journal.reading():
            for _ in journal.changes():
                pass
            found = str(journal.damage)
            if not found:
                return [f"{path}: nothing is damaged"]
            copy = _free(path)
            journal.copy(copy)
            done = journal.mend()
    except OSError as error:
        raise JournalError(f"data file {path}: no copy can be kept: {error}") from None
    finally:
        journal.close()
    return [f"{path}: {found}", f"a copy of it as it was is {copy}", *done, "all else is as it was last written there"]


def _free(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.damaged{number or ''}") for number in range(1000))
    return next(name for name in names if not name.exists())
