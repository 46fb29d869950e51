"""What is known of commands without running them: what they print, when they end, and where that knowledge ends."""

from __future__ import annotations

import subprocess

import pytest

from drakit_embedded.kubelet.commands import Exit, course

VARIABLES = {"A": "1", "SPACES": "  a  b ", "EMPTY": "", "HOSTNAME": "p"}
ENV = "A=1\nEMPTY=\nHOSTNAME=p\nSPACES=  a  b \n"


@pytest.mark.parametrize(
    ("command", "output", "end"),
    [
        ([], None, None),
        (["/bin/server", "--port=80"], None, None),
        (["sleep", "infinity"], None, None),
        (["sleep", "2"], None, Exit(2, 0)),
        (["/bin/sleep", "1m"], None, Exit(60, 0)),
        (["true"], None, Exit(0, 0)),
        (["false"], None, Exit(0, 1)),
        (["exit", "1"], None, None),
        (["echo", "hello"], "hello\n", Exit(0, 0)),
        (["/bin/echo", "a  b", "$A"], "a  b $A\n", Exit(0, 0)),
        (["echo"], "\n", Exit(0, 0)),
        (["echo", "-n", "a"], "a", Exit(0, 0)),
        (["echo", "-ne", "a\\tb\\n"], "a\tb\n", Exit(0, 0)),
        (["echo", "-x"], "-x\n", Exit(0, 0)),
        (["env"], ENV, Exit(0, 0)),
        (["printenv"], ENV, Exit(0, 0)),
        (["printenv", "A", "EMPTY"], "1\n\n", Exit(0, 0)),
        (["printenv", "A", "NONE"], "1\n", Exit(0, 1)),
        (["env", "A=2", "server"], None, None),
        (["sh", "-c", ""], None, Exit(0, 0)),
        (["sh", "-c", "echo hello"], "hello\n", Exit(0, 0)),
        (["/bin/bash", "-euxc", "false; echo never"], None, Exit(0, 1)),
        (["sh", "-c", "env; sleep 3600"], ENV, Exit(3600, 0)),
        (["sh", "-c", "sleep 1 && exit 3; sleep 9"], None, Exit(1, 3)),
        (["sh", "-c", "echo a; run-training --steps 5; echo b"], "a\n", None),
        (["sh", "-c", "echo a | wc"], None, None),
        (["sh", "-c", "sleep 9 & echo a"], None, None),
        (["sh", "-c", "while true; do echo a; sleep 1; done"], None, None),
        (["sh", "-c", "echo $(date)"], None, None),
        (["sh", "-c", "echo 'unbalanced"], None, None),
        (["sh", "-c", "echo a >/tmp/f; exit 2"], None, Exit(0, 2)),
        (["sh", "-c", "echo a; exit 3>/dev/null"], "a\n", None),
        (["python3", "-c", "echo a"], None, None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_commands(command: list[str], output: str | None, end: Exit | None) -> None:
    found = course(command, VARIABLES)
    printed = None if found.output is None else "".join(each.text for each in found.output)
    assert (printed, found.exit) == (output, end)


def test_what_is_printed_later_has_its_time() -> None:
    found = course(["sh", "-c", "echo a; sleep 2; echo b; sleep 1.5; echo c"], {})
    assert found.output == [(0, "a\n"), (2, "b\n"), (3.5, "c\n")]
    assert found.exit == Exit(3.5, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "echo a   b",
        "echo 'a  b' \"c  d\" e\\ f",
        "echo $A ${A} '$A' \"$A\" \\$A $A$A x${A}y",
        'echo $SPACES. "$SPACES".',
        "echo x$SPACES$SPACES",
        'echo $NONE a $EMPTY b ""',
        "echo a$",
        "echo a # no more\necho b",
        "echo a#b",
        "echo a;echo b\n\n echo c",
        "true && echo yes || echo no",
        "false && echo yes || echo no",
        "false || false; echo after",
        "echo a &&\n echo b",
        "echo err >&2; echo a 2>&1; echo b 2>/dev/null >> /dev/stdout",
        "echo 2 >/dev/null; echo shown",
        "exit 3; echo never",
        "false",
        ": ignored",
        "printenv A NONE",
        'echo "a\\$b\\\\"',
        "false; exit",
        "false && exit 3 || exit",
        "false && true; echo goes on",
        "true && false; echo ends with -e",
        "false || false; echo ends with -e",
        "false && true",
        "echo a \\\n  b \\\n  && echo c\\\nd \\\n# e",
        "echo '1'>/dev/null; echo ''2>/dev/null",
    ],
)
@pytest.mark.parametrize("option", ["-c", "-ec"])
def test_scripts_do_what_a_shell_does(script: str, option: str) -> None:
    """The same script, run by this machine's shell."""
    found = course(["sh", option, script], VARIABLES)
    ran = subprocess.run(
        ["/bin/sh", option, script], env=VARIABLES, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    assert found.exit is not None
    assert "".join(each.text for each in found.output or ()) == ran.stdout.decode()
    assert found.exit.code == ran.returncode


def test_output_has_an_end() -> None:
    variables = {"A": "x" * 100_000}
    found = course(["sh", "-c", "env;" * 1000], variables)
    assert sum(len(each.text) for each in found.output or ()) < 2_000_000
    assert found.exit is None
    assert len(course(["sh", "-c", "echo;" * 3000], {}).output or ()) == 3000
    assert course(["sh", "-c", "echo;" * 30_000], {}).output is None, "nobody waits for a long script to be read"
    found = course(["sh", "-c", "echo " + "$A" * 8000], variables)
    assert (found.output, found.exit) == (None, None)
