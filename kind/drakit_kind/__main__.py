"""The ``drakit`` command as a process, also as ``python -m drakit_kind`` where its script is not on the PATH."""

import sys

try:
    from drakit_client.processes.ending_signals import ended_at_once_by_ctrl_c
except KeyboardInterrupt:  # what ends others in order is not there yet
    sys.stderr.write("interrupted\n")
    sys.exit(130)


def main() -> None:
    """Run the command; Ctrl-C ends it by the same status whether or not it is imported already."""
    with ended_at_once_by_ctrl_c():
        from drakit_kind.cli.drakit_command import main as command
    command(prog_name="drakit")


if __name__ == "__main__":
    main()
