"""A script of its own: join control groups, then become another program.

``python enter.py FILE... -- PROGRAM ARGUMENT...``, each FILE the ``cgroup.procs`` of a group. It runs between fork and
exec of a node's process, so it imports next to nothing.
"""

import os
import sys

if __name__ == "__main__":
    split = sys.argv.index("--")
    for procs in sys.argv[1:split]:
        with open(procs, "w") as file:  # noqa: PTH123  # pathlib would take as long to import as all the rest
            file.write("0\n")  # the process that writes
    program = sys.argv[split + 1 :]
    os.execvp(program[0], program)  # noqa: S606  # no shell is the point of it
