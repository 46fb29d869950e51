"""``python -m drakit_kind``: the ``drakit`` command where its script is not on the PATH."""

from drakit_kind.cli.drakit_command import main

if __name__ == "__main__":
    main(prog_name="drakit")
